"""The axes of our plots: their style, and those on which accuracy is drawn over steps."""

from __future__ import annotations

from typing import Any

_SERIES = (1, 2, 5)


def accuracy_axes(ax: Any = None, *, last: int, log: bool = True) -> Any:
    """Axes with steps from left to right and accuracy upwards; several curves can share them.

    Parameters
    ----------
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; new ones by default.
    last : int
        The largest number of steps to be drawn.
    log : bool, default=True
        Whether steps stand on a logarithmic scale, which is linear from 0 to 1 so that 0 has a place.
    """
    ax = new_axes(ax)
    from matplotlib import ticker

    drawn = max([last, *(line.get_xdata()[-1] for line in ax.lines if len(line.get_xdata()))])
    if log:
        ax.set_xscale("symlog", linthresh=1.0, linscale=0.5)
        ax.xaxis.set_major_locator(ticker.FixedLocator(step_ticks(int(drawn))))
        ax.xaxis.set_minor_locator(ticker.NullLocator())
        ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    ax.set_xlim(0, max(drawn, 1) * (1.06 if log else 1.02))
    ax.yaxis.set_major_formatter(percent)
    ax.set_xlabel("steps per record")
    ax.set_ylabel("accuracy")
    return ax


def new_axes(ax: Any = None) -> Any:
    """The given matplotlib axes or new ones, in the style of all our plots."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib; install anystream[report]") from error
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6.4, 4.0), layout="constrained")
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def percent(share: float, _place: int = 0) -> str:
    """A share as a label.

    Examples
    --------
    >>> percent(0.975), percent(0.9)
    ('97.5%', '90%')
    """
    return f"{share * 100:.6g}%"


def step_ticks(last: int) -> list[int]:
    """0, 1, 2, 5, 10, 20, 50, … up to `last`; whole decades alone when there are many.

    Examples
    --------
    >>> step_ticks(60)
    [0, 1, 2, 5, 10, 20, 50]
    >>> step_ticks(10_000)
    [0, 1, 10, 100, 1000, 10000]
    """
    series = _SERIES if last <= 1000 else _SERIES[:1]
    return [0, *(tick for decade in range(len(str(last))) for s in series if (tick := s * 10**decade) <= last)]
