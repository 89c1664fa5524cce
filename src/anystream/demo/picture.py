"""The demonstration in one picture."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from anystream.anytime.curve import AnytimeCurve
from anystream.demo.loads import Load
from anystream.demo.tables import mean_steps
from anystream.plotting import percent

ANYTIME, FIXED = "#0b7a8f", "#c2477f"


def draw(curve: AnytimeCurve, loads: list[Load], path: Path, *, deadline_s: float, steps: int) -> None:
    """The anytime curve, and beside it what became of the stream at each load, as a PNG."""
    figure = Figure(figsize=(11.0, 4.4), layout="constrained", dpi=144)
    left, right = figure.subplots(1, 2)

    left.set_prop_cycle(color=[ANYTIME])
    curve.plot(left)
    left.set_title("An answer at once, a better one with every step", loc="left", fontweight="bold", fontsize=11)

    factors = [load.factor for load in loads]
    ours, theirs = (
        [load.share(load.anytime.right_on_time) for load in loads],
        [load.share(load.fixed.right_on_time) for load in loads],
    )
    right.axvspan(1.0, factors[-1] * 1.25, color="#777777", alpha=0.07, linewidth=0)
    right.text(1.06, 0.02, f"more than the machine can do at {steps} steps", color="#666666", fontsize=8)
    for shares, colour, label in ((ours, ANYTIME, "anytime"), (theirs, FIXED, f"fixed, {steps} steps")):
        right.plot(factors, shares, "o-", color=colour, linewidth=2.2, markersize=5.5, label=label)
    for load, share in zip(loads, ours, strict=True):
        right.annotate(
            f"{mean_steps(load.anytime):.0f} steps",
            (load.factor, share),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=ANYTIME,
        )
    right.set_xscale("log")
    right.set_xlim(factors[0] / 1.25, factors[-1] * 1.25)
    right.set_ylim(0.0, 1.1)
    right.xaxis.set_major_locator(FixedLocator(factors))
    right.xaxis.set_minor_locator(NullLocator())
    right.xaxis.set_major_formatter(StrMethodFormatter("{x:g} x"))
    right.yaxis.set_major_formatter(percent)
    right.set_xlabel("arrivals, in units of the capacity")
    right.set_ylabel(f"right, and within {deadline_s * 1e3:.0f} ms")
    right.grid(alpha=0.25, linewidth=0.6)
    right.spines[["top", "right"]].set_visible(False)
    right.set_title("A bursty stream that outgrows the machine", loc="left", fontweight="bold", fontsize=11)
    right.legend(frameon=False, loc="center left")
    figure.savefig(path)
