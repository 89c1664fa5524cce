"""Plot of error curves over time, with the drifts marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.plotting import new_axes


def plot_errors(
    curves: Mapping[str, NDArray[np.float64]],
    window: int,
    drifts: Sequence[int] = (),
    detections: Sequence[int] = (),
    *,
    spread: Mapping[str, NDArray[np.float64]] | None = None,
    ax: Any = None,
    title: str | None = None,
) -> Any:
    """Plot error curves over the number of tested records.

    Parameters
    ----------
    curves : mapping of str to array of shape (n_points,)
        The error curve of each method.
    window : int
        Number of records per point.
    drifts : sequence of int
        Records at which a new concept begins: dashed lines.
    detections : sequence of int
        Records at which a detector reported a change: marks on the axis.
    spread : mapping of str to array of shape (n_points,), optional
        Standard error of each point, drawn as a band.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; new ones by default.
    title : str, optional
        Title of the axes.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = new_axes(ax, width=8.0)
    for name, curve in curves.items():
        at = window * np.arange(1, len(curve) + 1)
        (line,) = ax.plot(at, 100 * curve, label=name, linewidth=1.2)
        if spread is not None and name in spread:
            low, high = 100 * (curve - spread[name]), 100 * (curve + spread[name])
            ax.fill_between(at, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    for number, drift in enumerate(drifts):
        ax.axvline(drift, color="0.4", linestyle="--", linewidth=0.8, label=None if number else "drift")
    if detections:
        ax.plot(detections, np.zeros(len(detections)), "k^", clip_on=False, markersize=5, label="detected")
    ax.set_xlabel("tested records")
    ax.set_ylabel("error (%)")
    ax.set_ylim(bottom=0)
    if title is not None:
        ax.set_title(title)
    if len(curves) > 1 or drifts or detections:
        ax.legend(frameon=False)
    return ax
