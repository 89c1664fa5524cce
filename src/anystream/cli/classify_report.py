"""Report of ``anystream classify`` on standard error: a progress line during the run, a summary at its end."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from anystream.cli.classify_options import ClassifyOptions
from anystream.cli.durations import format_duration
from anystream.cli.unknown_categories import describe_unknown
from anystream.cli.visible_text import visible
from anystream.runtime.contracts import is_broker
from anystream.runtime.engine import Engine, Turn
from anystream.runtime.summary import Summary

_SHOW_EVERY_S = 0.1  # seconds between two updates of the progress bar
_DEADLINES_FROM = {
    "taken": "deadlines count from when a record could be taken: without --rate or --speed it has no arrival time",
    "arrival": "deadlines count from the arrival times of the records",
}
_MESSAGES = {
    "messages_lost": "lost by the broker",
    "times_skewed": "with a time in the future",
    "lag": "not read yet",
}
_MANY_UNLEARNED = "too many waited to be learned (--learn-queue)"


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a run ended.

    Parameters
    ----------
    seconds : float
        Duration of the run.
    learned : int or None
        Number of labels learned; None if the model does not learn.
    signal : int or None
        Signal that interrupted the run before the end of its input.
    last_line : int
        Number of the last line that was read; 0 if records have no lines.
    absent : dict of str to int
        Inputs of the model that no record had, with the number of records.
    broker : dict of str to int
        Messages of a broker that were lost or had a time in the future, and how many were not read; empty for a file.
    workers_lost : int
        Number of workers that died, and whose partitions others continued.
    """

    seconds: float
    learned: int | None = None
    signal: int | None = None
    last_line: int = 0
    absent: Mapping[str, int] = field(default_factory=dict)
    broker: Mapping[str, int] = field(default_factory=dict)
    workers_lost: int = 0


def describe_broker(source: object) -> dict[str, int]:
    """Return what a broker tells beside its records: ``messages_lost``, ``times_skewed`` and ``lag``, if known."""
    if not is_broker(source):
        return {}
    found = {"messages_lost": getattr(source, "lost", 0), "times_skewed": getattr(source, "skewed", 0)}
    try:
        lag = getattr(source, "lag", None)
    except Exception:  # whatever its client raises: the broker may be away by now
        lag = None
    return found if lag is None else found | {"lag": lag}


def progress_line(engine: Engine, options: ClassifyOptions) -> AbstractContextManager[Any]:
    """Return a context that shows a bar and counts on standard error while the engine runs, if that is a terminal."""
    if options.quiet or not sys.stderr.isatty() or (options.output_path == "-" and sys.stdout.isatty()):
        return nullcontext()
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from anystream.cli.output import console

    columns = (BarColumn(20), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    progress = Progress(*columns, console=console(stderr=True), transient=True)
    has_end = getattr(engine.source, "share_read", None) is not None
    task = progress.add_task("waiting for records", total=1.0 if has_end else None)
    shown_at = -_SHOW_EVERY_S
    last: Turn | None = None

    def show(turn: Turn) -> None:
        summary = turn.summary
        bad = f", {summary.dead_letters} bad" if summary.dead_letters else ""
        counts = f"{summary.answered} answered, {turn.queue_length} waiting, {summary.late} late{bad}"
        progress.update(task, description=counts, completed=getattr(engine.source, "share_read", None) or 0.0)

    def show_now_and_then(turn: Turn) -> None:
        nonlocal shown_at, last
        last = turn
        if turn.now - shown_at >= _SHOW_EVERY_S:
            shown_at = turn.now
            show(turn)

    @contextmanager
    def shown() -> Iterator[None]:
        with progress:
            yield
            if last is not None:
                show(last)

    engine.watch(show_now_and_then)
    return shown()


def print_report(summary: Summary, ending: Ending, options: ClassifyOptions) -> None:
    """Print the summary of a run: as text, as JSON, or with ``--quiet`` only what is lost.

    Parameters
    ----------
    summary : Summary
        Counts of the run.
    ending : Ending
        How it ended.
    options : ClassifyOptions
        Options of the command.
    """
    if options.quiet:
        _print_losses(summary, ending, options.dead_letters_path)
        return
    figures = summary.to_json() | ({} if ending.learned is None else {"learned": ending.learned})
    seconds = ending.seconds
    figures |= {"seconds": round(seconds, 3), "records_per_s": round(summary.taken / max(seconds, 1e-9), 1)}
    figures |= ending.broker
    if ending.workers_lost:
        figures["workers_lost"] = ending.workers_lost
    if ending.absent:
        figures["absent_columns"] = dict(ending.absent)
    if ending.signal is not None:
        figures["interrupted_at_line"] = ending.last_line
    if options.as_json:
        print(json.dumps(figures), file=sys.stderr)
        return
    if ending.signal is not None:
        _print(_describe_interrupt(ending, summary))
    _print(_describe_records(figures, options.dead_letters_path))
    if "labels_received" in figures:
        _print(_describe_labels(figures, options.dead_letters_path))
    if figures.get("deadlines_from"):
        _print(_DEADLINES_FROM[figures["deadlines_from"]])
    if ending.absent:
        _print(_describe_absent(ending.absent))
    if summary.unknown:
        print(describe_unknown(summary.unknown, summary.first_unknown[0]), file=sys.stderr)
    if options.dead_letters_path is None:
        _print_examples(summary)


def _describe_interrupt(ending: Ending, summary: Summary) -> str:
    if ending.broker:
        return f"interrupted after {summary.taken} records; the next start continues with the others"
    place = f"line {ending.last_line}" if ending.last_line else f"record {summary.taken}"
    return f"interrupted at {place}; the input after it was not read"


def _describe_absent(absent: Mapping[str, int]) -> str:
    names = ", ".join(map(repr, absent))
    return f"warning: no record had the column{'s' if len(absent) > 1 else ''} {names}, which the model was fitted on"


def _print(line: str) -> None:
    """Print a line on standard error; texts from records cannot control the terminal."""
    print(visible(line), file=sys.stderr)


def _print_losses(summary: Summary, ending: Ending, dead_letters_path: str | None) -> None:
    """Print an interrupt, and bad records and labels that are stored nowhere, in one line each."""
    if ending.signal is not None:
        _print(f"anystream: {_describe_interrupt(ending, summary)}")
    if ending.absent:
        _print(f"anystream: {_describe_absent(ending.absent)}")
    if dead_letters_path is not None:
        return
    for losses, count, first in (
        (_count_bad(summary.dead_letters, "record"), summary.dead_letters, summary.first_bad),
        (_count_bad(summary.labels_rejected, "label"), summary.labels_rejected, summary.first_bad_labels),
        (_count_unlearned(summary.learning_rejected), summary.learning_rejected, summary.first_bad_learning),
    ):
        if count:
            _print(f"anystream: {losses}, the first is {first[0]}")


def _describe_records(figures: dict[str, Any], dead_letters_path: str | None) -> str:
    parts = [
        f"{figures['answered']} of {figures['taken']} records answered in {format_duration(figures['seconds'])}",
        f"{figures['steps_per_record']:g} steps each",
    ]
    if figures["answered"]:
        parts.append(f"waiting {format_duration(figures['wait_p50_s'])} (p99 {format_duration(figures['wait_p99_s'])})")
    for name, text in (("late", "late"), ("shed", "shed"), ("learned", "labels learned")):
        if figures.get(name):
            parts.append(f"{figures[name]} {text}")
    if figures.get("workers_lost"):
        parts.append(f"{figures['workers_lost']} workers died, and others continued")
    for name, text in _MESSAGES.items():
        if figures.get(name):
            parts.append(f"{figures[name]} messages {text}")
    if figures["dead_letters"]:
        parts.append(f"{_count_bad(figures['dead_letters'], 'record')} ({_destination(dead_letters_path)})")
    if "checkpoints_failed" in figures:
        parts.append(f"{figures['checkpoints_failed']} checkpoints failed")
    if figures.get("learning_dropped"):
        parts.append(f"{figures['learning_dropped']} labels dropped, because {_MANY_UNLEARNED}")
    if figures.get("learning_oversized"):
        parts.append(
            f"{figures['learning_oversized']} labels not learned, because the model has its maximum size "
            "(--max-model-mb, or fit it with a window)"
        )
    if figures.get("learning_blocked_s"):
        parts.append(f"{format_duration(figures['learning_blocked_s'])} without new records, because {_MANY_UNLEARNED}")
    if figures.get("learning_rejected"):
        parts.append(f"{_count_unlearned(figures['learning_rejected'])} ({_destination(dead_letters_path)})")
    if "accuracy" in figures:
        parts.append(f"accuracy {figures['accuracy']:.4f}")
    return "; ".join(parts)


def _describe_labels(figures: dict[str, Any], dead_letters_path: str | None) -> str:
    parts = [f"labels: {figures['labels_received']} received, {figures['labels_matched']} matched"]
    for name, text in (
        ("labels_evicted", "evicted before their record came"),
        ("labels_pending", "never matched a record"),
        ("labels_duplicated", "of these had the key of another label"),
        ("unlabelled_evicted", "records evicted before their label came"),
        ("unlabelled_pending", "records never matched a label"),
    ):
        if figures[name]:
            parts.append(f"{figures[name]} {text}")
    if figures["labels_rejected"]:
        parts.append(f"{_count_bad(figures['labels_rejected'], 'label')} ({_destination(dead_letters_path)})")
    if figures["labels_unread"]:
        parts.append("the label source was not read to its end")
    if figures["labels_evicted"] or figures["unlabelled_evicted"]:
        parts.append("to evict fewer, raise --label-capacity")
    return "; ".join(parts)


def _print_examples(summary: Summary) -> None:
    """Print the first bad records and labels, and the options that deal with them."""
    for count, examples in (
        (summary.dead_letters, summary.first_bad),
        (summary.labels_rejected, summary.first_bad_labels),
        (summary.learning_rejected, summary.first_bad_learning),
    ):
        _print_first(count, examples)
    if summary.dead_letters or summary.labels_rejected or summary.learning_rejected:
        print("keep bad records with --dead-letters FILE, or stop at the first with --strict", file=sys.stderr)


def _print_first(count: int, examples: Sequence[str]) -> None:
    for example in examples:
        _print(f"  {example}")
    if count > len(examples):
        print("  ...", file=sys.stderr)


def _count_bad(count: int, noun: str) -> str:
    return f"{count} bad {noun}{'' if count == 1 else 's'}"


def _count_unlearned(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'} could not be learned"


def _destination(dead_letters_path: str | None) -> str:
    return "skipped" if dead_letters_path is None else f"in {dead_letters_path}"
