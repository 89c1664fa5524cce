"""The accuracy to expect, from the training data themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.profile import PerformanceProfile
from anystream.anytime.stages import check_stages


def doubling_stages(n: int) -> NDArray[np.int64]:
    """0 and the powers of two up to the first that is n at least."""
    return check_stages([0, *(2**i for i in range(n.bit_length() + 1))])


def pooled(profiles: Sequence[PerformanceProfile], stages: NDArray[np.int64]) -> PerformanceProfile:
    """One profile at `stages` of the records of all."""
    n = sum(profile.n_records for profile in profiles)
    right = sum(profile.expected(stages) * profile.n_records for profile in profiles)
    return PerformanceProfile(stages, np.minimum(right / n, 1.0), n)
