"""Report of ``anystream classify`` on standard error: a progress line during the run, a summary at its end."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from anystream.cli.classify_options import ClassifyOptions
from anystream.cli.durations import format_duration
from anystream.cli.visible_text import visible
from anystream.runtime.engine import Engine, Turn
from anystream.runtime.summary import Summary

_MANY_UNLEARNED = "too many waited to be learned (--learn-queue)"


def progress_line(engine: Engine, *, quiet: bool) -> AbstractContextManager[Any]:
    """Return a context that shows counts on standard error while the engine runs, if that is a terminal."""
    if quiet or not sys.stderr.isatty() or sys.stdout.isatty():
        return nullcontext()
    from rich.progress import Progress, SpinnerColumn, TextColumn

    from anystream.cli.output import console

    progress = Progress(SpinnerColumn(), TextColumn("{task.description}"), console=console(stderr=True), transient=True)
    task = progress.add_task("waiting for records")

    def show(turn: Turn) -> None:
        summary = turn.summary
        bad = f", {summary.dead_letters} bad" if summary.dead_letters else ""
        counts = f"{summary.answered} answered, {turn.queue_length} waiting, {summary.late} late{bad}"
        progress.update(task, description=counts)

    engine.watch(show)
    return progress


def print_report(summary: Summary, seconds: float, learned: int | None, options: ClassifyOptions) -> None:
    """Print the summary of a run: as text, as JSON, or with ``--quiet`` only what is lost.

    Parameters
    ----------
    summary : Summary
        Counts of the run.
    seconds : float
        Duration of the run.
    learned : int or None
        Number of labels learned; None if the model does not learn.
    options : ClassifyOptions
        Options of the command.
    """
    if options.quiet:
        _print_losses(summary, options.dead_letters_path)
        return
    figures = summary.to_json() | ({} if learned is None else {"learned": learned})
    figures |= {"seconds": round(seconds, 3), "records_per_s": round(summary.taken / max(seconds, 1e-9), 1)}
    if options.as_json:
        print(json.dumps(figures), file=sys.stderr)
        return
    _print(_describe_records(figures, options.dead_letters_path))
    if "labels_received" in figures:
        _print(_describe_labels(figures, options.dead_letters_path))
    if options.dead_letters_path is None:
        _print_examples(summary)


def _print(line: str) -> None:
    """Print a line on standard error; texts from records cannot control the terminal."""
    print(visible(line), file=sys.stderr)


def _print_losses(summary: Summary, dead_letters_path: str | None) -> None:
    """Print bad records and labels that are stored nowhere, in one line each."""
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
