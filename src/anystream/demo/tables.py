"""Tables and texts of the demonstration."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from anystream.anytime.curve import AnytimeCurve
from anystream.demo.loads import Load
from anystream.runtime.summary import Summary

COLOURS = {"anytime": "cyan", "fixed": "magenta"}
_BAR_WIDTH = 44


def curve_table(curve: AnytimeCurve, *, ascii_only: bool = False) -> Table:
    """Return the anytime curve as a table, with a bar for the share of wrong answers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("steps", justify="right")
    table.add_column("accuracy", justify="right")
    table.add_column("still wrong", no_wrap=True)
    worst = max(1.0 - curve.accuracy.min(), 1e-9)
    for stage in curve.milestones():
        accuracy = curve.at(stage)
        width = (1.0 - accuracy) / worst * _BAR_WIDTH
        table.add_row(f"{stage}", format_percent(accuracy), Text(_bar(width, ascii_only), style="cyan"))
    return table


def load_table(loads: Sequence[Load]) -> Table:
    """Return a table with two rows for each load, one per policy."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("load", "arrivals"):
        table.add_column(name, justify="right")
    table.add_column("budget")
    for name in ("steps", "wait\np50", "wait\np99", "answered\nin time", "answers\nright", "right\nin time"):
        table.add_column(name, justify="right", no_wrap=True)
    for load in loads:
        for policy, summary in (("anytime", load.anytime), ("fixed", load.fixed)):
            first = policy == "anytime"
            table.add_row(
                f"{load.factor:g}" if first else "",
                f"{load.n_records:,}" if first else "",
                Text(policy, style=COLOURS[policy]),
                format_number(mean_steps(summary)),
                format_milliseconds(summary.wait_quantile(0.5)),
                format_milliseconds(summary.wait_quantile(0.99)),
                _coloured_percent(load.share(summary.on_time)),
                format_percent(summary.right / summary.judged if summary.judged else float("nan")),
                _coloured_percent(load.share(summary.right_on_time)),
                end_section=not first,
            )
    return table


def describe_load(load: Load, steps: int) -> Text:
    """Return a load in one sentence; `steps` is the fixed budget."""
    anytime, fixed = load.anytime, load.fixed
    return Text.assemble(
        f"At {load.factor:g} times the load, ",
        ("anytime", "bold cyan"),
        f" answers {load.share(anytime.on_time):.0%} in time, with {format_number(mean_steps(anytime))} steps each, "
        "and ",
        (f"{load.share(anytime.right_on_time):.0%} of all records get the right answer in time", "bold"),
        "; ",
        ("fixed", "bold magenta"),
        f" spends {steps} steps on each, and {load.share(fixed.right_on_time):.0%} do.",
    )


def mean_steps(summary: Summary) -> float:
    """Return the mean number of steps per answer; NaN without answers."""
    return summary.steps / summary.answered if summary.answered else float("nan")


def format_percent(share: float) -> str:
    """Return a share as text; NaN is a dash."""
    return "-" if share != share else f"{share:.1%}"


def format_number(value: float) -> str:
    """Return a number as text, with one decimal below 10; NaN is a dash."""
    return "-" if value != value else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def format_milliseconds(seconds: float) -> str:
    """Return a time as text in milliseconds, with one decimal below 10; NaN is a dash."""
    return "-" if seconds != seconds else f"{seconds * 1e3:.{0 if seconds >= 0.01 else 1}f} ms"


def _bar(width: float, ascii_only: bool) -> str:
    if ascii_only:
        return "#" * round(width)
    eighths = round(width * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _coloured_percent(share: float) -> Text:
    style = "bold green" if share >= 0.9 else "yellow" if share >= 0.5 else "bold red"
    return Text(format_percent(share), style=style)
