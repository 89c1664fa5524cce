"""How deep a learner falls at a drift, and how long it takes to come back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a drift did to an error curve.

    Parameters
    ----------
    at : int
        The point of the curve at which the drift took effect.
    level : float
        The mean error just before it.
    depth : float
        How far the error rose above that level until it had come back; 0 if it never rose.
    time : int
        Points from the drift on, the worst included, until the error was back; all there were if it never was.
    recovered : bool
        Whether it came back before the next drift or the end.
    """

    at: int
    level: float
    depth: float
    time: int
    recovered: bool


def recovery(
    errors: ArrayLike, at: int, *, until: int | None = None, before: int = 5, within: float = 0.02
) -> Recovery:
    """Judge one drift on an error curve.

    Parameters
    ----------
    errors : array-like of shape (n_points,)
        Error rates over time, say one for each test batch.
    at : int
        The first point that the drift touched.
    until : int, optional
        Where to stop looking: the point of the next drift. Default: the end.
    before : int, default=5
        Points before the drift whose mean is the level to come back to.
    within : float, default=0.02
        How much above that level counts as back.

    Examples
    --------
    A level of 0.1, one bad point of 0.9, one of 0.3, then back.

    >>> recovery([0.1, 0.1, 0.9, 0.3, 0.11, 0.1], at=2)
    Recovery(at=2, level=0.1, depth=0.8, time=2, recovered=True)
    """
    curve = np.asarray(errors, dtype=np.float64)
    end = len(curve) if until is None else until
    if not 0 < at < end <= len(curve):
        raise ValueError(f"the drift is at point {at} and the end at {end} of {len(curve)}; 0 < at < end must hold")
    level = float(curve[max(0, at - before) : at].mean())
    after = curve[at:end]
    back = np.flatnonzero(after <= level + within)
    time = int(back[0]) if len(back) else len(after)
    depth = float(after[:time].max(initial=level)) - level
    return Recovery(at, level, depth, time, len(back) > 0)
