"""Plot helpers shared by all packages: figures and axes in one style, tick labels, and accuracy over steps."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

_TICK_SERIES = (1, 2, 5)


def require_matplotlib() -> None:
    """Raise an ImportError that names the extra to install if matplotlib is missing."""
    try:
        import_module("matplotlib")
    except ImportError as error:
        raise ImportError("plots need matplotlib; install anystream[report]") from error


def new_figure(width: float, height: float, **options: Any) -> Any:
    """Return a new figure of `width` x `height` inches that is not registered with pyplot: save it with ``savefig``.

    Parameters
    ----------
    width, height : float
        Size in inches.
    **options
        Passed on to ``matplotlib.figure.Figure``, such as ``dpi``.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", **options)


def new_axes(ax: Any = None, *, width: float = 6.4, height: float = 4.0) -> Any:
    """Return the given matplotlib axes, or those of a new pyplot figure, in the style of all our plots.

    Parameters
    ----------
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; new ones by default.
    width, height : float, default=6.4 and 4.0
        Size of the new figure in inches.
    """
    if ax is None:
        require_matplotlib()
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    style_axes(ax)
    return ax


def style_axes(ax: Any) -> None:
    """Apply the style of all our plots: a light grid, no frame at the top and the right."""
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def accuracy_axes(ax: Any = None, *, max_steps: int, log: bool = True) -> Any:
    """Return axes with steps on the x axis and accuracy on the y axis; several curves can share them.

    Parameters
    ----------
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; new ones by default.
    max_steps : int
        The largest number of steps to be drawn.
    log : bool, default=True
        Whether steps are on a logarithmic scale. It is linear from 0 to 1, so that step 0 can be shown.
    """
    ax = new_axes(ax)
    drawn = max([max_steps, *(line.get_xdata()[-1] for line in ax.lines if len(line.get_xdata()))])
    if log:
        ax.set_xscale("symlog", linthresh=1.0, linscale=0.5)
        set_ticks(ax.xaxis, step_ticks(int(drawn)), "{x:,.0f}")
    ax.set_xlim(0, max(drawn, 1) * (1.06 if log else 1.02))
    ax.yaxis.set_major_formatter(percent)
    ax.set_xlabel("steps per record")
    ax.set_ylabel("accuracy")
    return ax


def set_ticks(axis: Any, ticks: Sequence[float], label: str) -> None:
    """Put major ticks, and no minor ones, at fixed positions of an axis; `label` formats the position ``x``."""
    from matplotlib import ticker

    axis.set_major_locator(ticker.FixedLocator(ticks))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.StrMethodFormatter(label))


def percent(share: float, _tick: int = 0) -> str:
    """Return a share as a percentage; can be passed to matplotlib as a tick formatter.

    Examples
    --------
    >>> percent(0.975), percent(0.9)
    ('97.5%', '90%')
    """
    return f"{share * 100:.6g}%"


def step_ticks(max_steps: int) -> list[int]:
    """Return 0, 1, 2, 5, 10, 20, 50, … up to `max_steps`; only the powers of ten above 1000 steps.

    Examples
    --------
    >>> step_ticks(60)
    [0, 1, 2, 5, 10, 20, 50]
    >>> step_ticks(10_000)
    [0, 1, 10, 100, 1000, 10000]
    """
    series = _TICK_SERIES if max_steps <= 1000 else _TICK_SERIES[:1]
    decades = (10**exponent for exponent in range(len(str(max_steps))))
    return [0, *(tick for decade in decades for factor in series if (tick := factor * decade) <= max_steps)]
