"""What the demonstration prints."""

from __future__ import annotations

from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from anystream.anytime.curve import AnytimeCurve
from anystream.demo.replay import Outcome

_BAR = 44


@dataclass(frozen=True, slots=True)
class Load:
    """The same stream, answered both ways.

    Parameters
    ----------
    factor : float
        Arrivals over what the machine can do at the full number of steps.
    anytime, fixed : Outcome
        What became of them.
    """

    factor: float
    anytime: Outcome
    fixed: Outcome


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
        table.add_row(f"{stage}", _percent(accuracy), Text(_bar(width, ascii_only), style="cyan"))
    return table


def load_table(loads: list[Load], *, note: str | None = None) -> Table:
    """One block of two lines for each load."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), caption=note, caption_justify="left")
    for name in ("load", "arrivals"):
        table.add_column(name, justify="right")
    table.add_column("budget")
    for name in ("steps", "wait\np50", "wait\np99", "answered\nin time", "answers\nright", "right\nin time"):
        table.add_column(name, justify="right", no_wrap=True)
    for load in loads:
        for name, outcome in (("anytime", load.anytime), ("fixed", load.fixed)):
            first = name == "anytime"
            table.add_row(
                f"{load.factor:g}" if first else "",
                f"{outcome.arrivals:,}" if first else "",
                Text(name, style="cyan" if first else "magenta"),
                _number(outcome.mean_steps),
                _milliseconds(outcome.wait_quantile(0.5)),
                _milliseconds(outcome.wait_quantile(0.99)),
                _judged(outcome.in_time / max(1, outcome.arrivals)),
                _percent(outcome.accuracy),
                _judged(outcome.right_in_time / max(1, outcome.arrivals)),
                end_section=not first,
            )
    return table


def verdict(load: Load, steps: int) -> Text:
    """The last load in a sentence."""

    def share(outcome: Outcome, count: int) -> str:
        return f"{count / max(1, outcome.arrivals):.0%}"

    ours, fixed = load.anytime, load.fixed
    return Text.assemble(
        f"At {load.factor:g} times the load, ",
        ("anytime", "bold cyan"),
        f" answers {share(ours, ours.in_time)} in time, with {_number(ours.mean_steps)} steps each, and ",
        (f"{share(ours, ours.right_in_time)} of all records get the right answer in time", "bold"),
        "; ",
        ("fixed", "bold magenta"),
        f" spends {steps} steps on each, and {share(fixed, fixed.right_in_time)} do.",
    )


def _bar(width: float, ascii_only: bool) -> str:
    if ascii_only:
        return "#" * round(width)
    eighths = round(width * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _percent(share: float) -> str:
    return "-" if share != share else f"{share:.1%}"


def _judged(share: float) -> Text:
    return Text(_percent(share), style="bold green" if share >= 0.9 else "yellow" if share >= 0.5 else "bold red")


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _milliseconds(seconds: float) -> str:
    return "-" if seconds != seconds else f"{seconds * 1e3:.{0 if seconds >= 0.01 else 1}f} ms"
