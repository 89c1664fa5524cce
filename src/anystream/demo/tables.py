"""What the demonstration prints."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from anystream.anytime.curve import AnytimeCurve
from anystream.demo.loads import Load
from anystream.runtime.summary import Summary

COLOURS = {"anytime": "cyan", "fixed": "magenta"}
_BAR = 44


def curve_table(curve: AnytimeCurve, *, ascii_only: bool = False) -> Table:
    """The anytime curve with a bar for the share of wrong answers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("steps", justify="right")
    table.add_column("accuracy", justify="right")
    table.add_column("still wrong", no_wrap=True)
    worst = max(1.0 - curve.accuracy.min(), 1e-9)
    for stage in curve.milestones():
        accuracy = curve.at(stage)
        width = (1.0 - accuracy) / worst * _BAR
        table.add_row(f"{stage}", percent(accuracy), Text(_bar(width, ascii_only), style="cyan"))
    return table


def load_table(loads: Sequence[Load]) -> Table:
    """One block of two lines for each load."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("load", "arrivals"):
        table.add_column(name, justify="right")
    table.add_column("budget")
    for name in ("steps", "wait\np50", "wait\np99", "answered\nin time", "answers\nright", "right\nin time"):
        table.add_column(name, justify="right", no_wrap=True)
    for load in loads:
        for name, found in (("anytime", load.anytime), ("fixed", load.fixed)):
            first = name == "anytime"
            table.add_row(
                f"{load.factor:g}" if first else "",
                f"{load.arrivals:,}" if first else "",
                Text(name, style=COLOURS[name]),
                number(mean_steps(found)),
                milliseconds(found.wait_quantile(0.5)),
                milliseconds(found.wait_quantile(0.99)),
                _judged(load.share(found.on_time)),
                percent(found.right / found.judged if found.judged else float("nan")),
                _judged(load.share(found.right_on_time)),
                end_section=not first,
            )
    return table


def verdict(load: Load, steps: int) -> Text:
    """The last load in a sentence."""
    ours, fixed = load.anytime, load.fixed
    return Text.assemble(
        f"At {load.factor:g} times the load, ",
        ("anytime", "bold cyan"),
        f" answers {load.share(ours.on_time):.0%} in time, with {number(mean_steps(ours))} steps each, and ",
        (f"{load.share(ours.right_on_time):.0%} of all records get the right answer in time", "bold"),
        "; ",
        ("fixed", "bold magenta"),
        f" spends {steps} steps on each, and {load.share(fixed.right_on_time):.0%} do.",
    )


def mean_steps(found: Summary) -> float:
    """Steps of an answer, on average."""
    return found.steps / found.answered if found.answered else float("nan")


def percent(share: float) -> str:
    """A share as text."""
    return "-" if share != share else f"{share:.1%}"


def number(value: float) -> str:
    """A count as text, with a digit behind the point if it is small."""
    return "-" if value != value else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def milliseconds(seconds: float) -> str:
    """A short time as text."""
    return "-" if seconds != seconds else f"{seconds * 1e3:.{0 if seconds >= 0.01 else 1}f} ms"


def _bar(width: float, ascii_only: bool) -> str:
    if ascii_only:
        return "#" * round(width)
    eighths = round(width * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _judged(share: float) -> Text:
    return Text(percent(share), style="bold green" if share >= 0.9 else "yellow" if share >= 0.5 else "bold red")
