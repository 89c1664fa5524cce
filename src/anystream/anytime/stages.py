"""Stages: the numbers of steps after which a classifier is evaluated."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def check_stages(stages: Iterable[int]) -> NDArray[np.int64]:
    """Check that stages are ascending whole numbers of steps from 0 on; return them as an array.

    Examples
    --------
    >>> check_stages([0, 1, 10])
    array([ 0,  1, 10])
    >>> check_stages([10, 1])
    Traceback (most recent call last):
    ...
    ValueError: stages are [10, 1]; use ascending numbers of steps from 0 on
    """
    given = list(stages)
    steps = np.asarray(given)
    if steps.ndim != 1 or steps.size == 0 or steps.dtype.kind not in "iu":
        raise ValueError(f"stages are {given!r}; use at least one whole number of steps")
    if steps[0] < 0 or np.any(np.diff(steps) <= 0):
        raise ValueError(f"stages are {given!r}; use ascending numbers of steps from 0 on")
    return steps.astype(np.int64)


def doubling_stages(n: int) -> NDArray[np.int64]:
    """Return 0 and the powers of two up to the first that is at least n."""
    return check_stages([0, *(2**i for i in range(n.bit_length() + 1))])
