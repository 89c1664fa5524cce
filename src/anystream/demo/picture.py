"""Picture of the demonstration: the anytime curve, and the stream at rising load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anystream.anytime.curve import AnytimeCurve
from anystream.demo.loads import Load
from anystream.demo.tables import mean_steps
from anystream.plotting import new_figure, percent, set_ticks, style_axes

ANYTIME_COLOUR, FIXED_COLOUR = "#0b7a8f", "#c2477f"


def draw_picture(curve: AnytimeCurve, loads: list[Load], path: Path, *, deadline_s: float, steps: int) -> None:
    """Write a PNG file with the anytime curve on the left and the loads on the right."""
    figure = new_figure(11.0, 4.4, dpi=144)
    left, right = figure.subplots(1, 2)
    left.set_prop_cycle(color=[ANYTIME_COLOUR])
    curve.plot(left)
    _set_title(left, "An answer at once, a better one with every step")
    _plot_loads(right, loads, deadline_s, steps)
    _set_title(right, "A bursty stream that outgrows the machine")
    figure.savefig(path)


def _plot_loads(ax: Any, loads: list[Load], deadline_s: float, steps: int) -> None:
    factors = [load.factor for load in loads]
    anytime = [load.share(load.anytime.right_on_time) for load in loads]
    fixed = [load.share(load.fixed.right_on_time) for load in loads]
    ax.axvspan(1.0, factors[-1] * 1.25, color="#777777", alpha=0.07, linewidth=0)
    ax.text(1.06, 0.02, f"more than the machine can do at {steps} steps", color="#666666", fontsize=8)
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
    ax.set_xlim(factors[0] / 1.25, factors[-1] * 1.25)
    ax.set_ylim(0.0, 1.1)
    set_ticks(ax.xaxis, factors, "{x:g} x")
    ax.yaxis.set_major_formatter(percent)
    ax.set_xlabel("arrivals, in units of the capacity")
    ax.set_ylabel(f"right, and within {deadline_s * 1e3:.0f} ms")
    style_axes(ax)
    ax.legend(frameon=False, loc="center left")


def _set_title(ax: Any, title: str) -> None:
    ax.set_title(title, loc="left", fontweight="bold", fontsize=11)
