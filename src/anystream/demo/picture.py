"""Picture of the demonstration: the anytime curve, and the stream at rising load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anystream.anytime.curve import AnytimeCurve
from anystream.demo.loads import Load
from anystream.demo.tables import mean_steps
from anystream.plotting import new_figure, percent, set_ticks, style_axes

ANYTIME_COLOUR, FIXED_COLOUR = "#0b7a8f", "#c2477f"


def draw_picture(
    curve: AnytimeCurve, loads: list[Load], path: Path, *, deadline_s: float, steps: int, limit: float
) -> None:
    """Write a PNG file with the anytime curve on the left and the loads on the right; `limit` is that of budget 0."""
    figure = new_figure(11.0, 4.4, dpi=144)
    left, right = figure.subplots(1, 2)
    left.set_prop_cycle(color=[ANYTIME_COLOUR])
    curve.plot(left)
    _set_title(left, "An answer at once, a better one with every step")
    _plot_loads(right, loads, deadline_s, steps)
    _plot_limits(right, loads, steps, limit)
    _set_title(right, "A bursty stream that outgrows the machine")
    figure.savefig(path)


def _plot_loads(ax: Any, loads: list[Load], deadline_s: float, steps: int) -> None:
    factors = [load.factor for load in loads]
    anytime = [load.share(load.anytime.right_on_time) for load in loads]
    fixed = [load.share(load.fixed.right_on_time) for load in loads]
    for shares, colour, label in (
        (anytime, ANYTIME_COLOUR, "anytime"),
        (fixed, FIXED_COLOUR, f"fixed, {steps} steps"),
    ):
        ax.plot(factors, shares, "o-", color=colour, linewidth=2.2, markersize=5.5, label=label)
    for load, share in zip(loads, anytime, strict=True):
        ax.annotate(
            f"{mean_steps(load.anytime):.0f} steps",
            (load.factor, share),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=ANYTIME_COLOUR,
        )
    ax.set_xscale("log")
    ax.set_ylim(0.0, 1.18)
    set_ticks(ax.xaxis, factors, "{x:g} x")
    ax.yaxis.set_major_formatter(percent)
    ax.set_xlabel("arrivals, in units of the capacity")
    ax.set_ylabel(f"right, and within {deadline_s * 1e3:.0f} ms")
    style_axes(ax)
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)  # below: no curve is there


def _plot_limits(ax: Any, loads: list[Load], steps: int, limit: float) -> None:
    """Shade the loads above what the machine can do: at all steps, and at none."""
    first, end = loads[0].factor / 1.6, max(loads[-1].factor, limit) * 1.6
    ax.set_xlim(first, end)
    ax.axvspan(1.0, end, color="#777777", alpha=0.07, linewidth=0)
    ax.axvspan(limit, end, color="#777777", alpha=0.14, linewidth=0)
    ax.axvline(limit, color="#666666", linewidth=1.0, linestyle=":")
    options = {"color": "#666666", "fontsize": 8, "va": "top"}
    ax.text(1.06, 1.165, f"more than the machine\ncan do at {steps} steps", **options)
    ax.text(limit * 1.05, 0.6, f"limit: {limit:.0f} x at 0 steps", rotation=90, **(options | {"va": "center"}))


def _set_title(ax: Any, title: str) -> None:
    ax.set_title(title, loc="left", fontweight="bold", fontsize=11)
