"""Recovery from drifts: how far the error rises at a drift, and how long it takes to come down again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Recovery:
    """Effect of a drift on an error curve.

    Parameters
    ----------
    drift_point : int
        The first point of the curve that the drift affects.
    level : float
        The mean error just before the drift.
    depth : float
        The maximum rise of the error above `level` before it recovered; 0 if it did not rise.
    n_points : int
        Number of points from the drift until the error had recovered; all points up to the end if it did not.
    recovered : bool
        Whether the error recovered before the next drift or the end.
    """

    drift_point: int
    level: float
    depth: float
    n_points: int
    recovered: bool


def measure_recovery(
    errors: ArrayLike, drift_point: int, *, end: int | None = None, n_before: int = 5, tolerance: float = 0.02
) -> Recovery:
    """Measure the effect of one drift on an error curve.

    Parameters
    ----------
    errors : array-like of shape (n_points,)
        Error rates over time, for example one for each test batch.
    drift_point : int
        The first point that the drift affects.
    end : int, optional
        The point at which to stop: that of the next drift. Default: the end of the curve.
    n_before : int, default=5
        Number of points before the drift whose mean error is the level to return to.
    tolerance : float, default=0.02
        The error has recovered when it is at most this much above the level.

    Examples
    --------
    A level of 0.1, one bad point of 0.9, one of 0.3, then recovery.

    >>> measure_recovery([0.1, 0.1, 0.9, 0.3, 0.11, 0.1], drift_point=2)
    Recovery(drift_point=2, level=0.1, depth=0.8, n_points=2, recovered=True)
    """
    curve = np.asarray(errors, dtype=np.float64)
    stop = len(curve) if end is None else end
    if not 0 < drift_point < stop <= len(curve):
        raise ValueError(
            f"drift_point is {drift_point} and end is {stop} on a curve of {len(curve)} points; "
            "give 0 < drift_point < end, and an end on the curve"
        )
    level = float(curve[max(0, drift_point - n_before) : drift_point].mean())
    after = curve[drift_point:stop]
    recovered_at = np.flatnonzero(after <= level + tolerance)
    n_points = int(recovered_at[0]) if len(recovered_at) else len(after)
    depth = float(after[:n_points].max(initial=level)) - level
    return Recovery(drift_point, level, depth, n_points, len(recovered_at) > 0)


def measure_recoveries(
    errors: NDArray[np.float64], drifts: Sequence[int], window: int, **options: Any
) -> dict[int, Recovery]:
    """Measure the recovery from every drift that the curve can show, each until the next one.

    Parameters
    ----------
    errors : array of shape (n_points,)
        The error of each `window` records.
    drifts : sequence of int
        Ascending positions of the drifts, in records.
    window : int
        Number of records per point.
    **options
        As in `measure_recovery`.

    Returns
    -------
    dict of int to Recovery
        By position of the drift. Drifts at the first point are left out, and of several drifts at one point all but
        the last.
    """
    points = {drift: drift // window for drift in drifts if 0 < drift // window < len(errors)}
    ends = [*list(points.values())[1:], len(errors)]
    return {
        drift: measure_recovery(errors, point, end=end, **options)
        for (drift, point), end in zip(points.items(), ends, strict=False)
        if point < end
    }
