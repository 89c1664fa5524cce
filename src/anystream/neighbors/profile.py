"""Performance profiles of training records: their stages, and pooling of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.profile import PerformanceProfile
from anystream.anytime.stages import check_stages


def doubling_stages(n: int) -> NDArray[np.int64]:
    """Return 0 and the powers of two up to the first that is at least n."""
    return check_stages([0, *(2**i for i in range(n.bit_length() + 1))])


def pool_profiles(profiles: Sequence[PerformanceProfile], stages: NDArray[np.int64]) -> PerformanceProfile:
    """Return the profile at `stages` of the records of all profiles together."""
    n_records = sum(profile.n_records for profile in profiles)
    n_correct = sum(profile.expected(stages) * profile.n_records for profile in profiles)
    return PerformanceProfile(stages, np.minimum(n_correct / n_records, 1.0), n_records)
