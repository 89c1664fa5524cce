"""Array types of K-associated graphs."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]
"""Class numbers, component numbers and values of K."""
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]
