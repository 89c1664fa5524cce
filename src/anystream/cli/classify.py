"""``anystream classify``: answers for a stream of records."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Any

import typer

_BATCH_S, _DUE_BATCH_S = 0.1, 0.004  # of a batch when nothing is due, and when something is
SCHEDULERS = ("deadline-share", "marginal-gain", "waiting-time", "fixed-budget")


def classify(
    model: Annotated[str, typer.Argument(help="A model file.")],
    input_: Annotated[str, typer.Argument(metavar="[INPUT]", help="Records; - is standard input.")] = "-",
    output: Annotated[str, typer.Option("--output", "-o", help="Where answers go; - is standard output.")] = "-",
    within: Annotated[str | None, typer.Option(help="Answer each record within this time, such as 5ms.")] = None,
    target_wait: Annotated[
        str | None, typer.Option(help="Work off the queue in this time, such as 2s (the rule of LOCUST).")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Most steps per record; by default the model's own.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(SCHEDULERS)}; by default by the above.")
    ] = None,
    learn: Annotated[bool, typer.Option(help="Learn from labels, while answering.")] = False,
    labels: Annotated[str | None, typer.Option(help="File or pipe of later labels: records of key and label.")] = None,
    save: Annotated[str | None, typer.Option(help="With --learn: where to write the model at the end.")] = None,
    label: Annotated[str | None, typer.Option(help="Column that holds the class, if it is there.")] = None,
    key: Annotated[str | None, typer.Option(help="Column that names a record; by default its line number.")] = None,
    time_: Annotated[str | None, typer.Option("--time", help="Column with the time of a record, in seconds.")] = None,
    rate: Annotated[float | None, typer.Option(help="Replay the input at so many records per second.")] = None,
    speed: Annotated[
        float | None, typer.Option(help="Replay the input at its recorded times, so many times as fast.")
    ] = None,
    queue: Annotated[int, typer.Option(help="Most records that wait.")] = 10_000,
    overflow: Annotated[
        str, typer.Option(help="When the queue is full: block, answer_now, shed_oldest or shed_newest.")
    ] = "block",
    dead_letters: Annotated[
        str | None,
        typer.Option(help="File for records that cannot be read or answered; without it the first few are shown."),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Stop at the first bad record, with exit code 2.")] = False,
    checkpoint: Annotated[
        str | None, typer.Option(help="Folder that keeps the run; start again to go on with it.")
    ] = None,
    checkpoint_every: Annotated[
        str, typer.Option(help="How often, as a time (10s) or records (5000 records).")
    ] = "10s",
    proba: Annotated[bool, typer.Option(help="Write the probability of every class.")] = False,
    input_format: Annotated[
        str | None, typer.Option(help="csv, jsonl or arrow; by default by name, for standard input by its first byte.")
    ] = None,
    output_format: Annotated[str | None, typer.Option(help="jsonl or csv; by default by name, else jsonl.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="What stands between the cells of a CSV file.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the summary on standard error as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary; bad records are still told.")] = False,
) -> None:
    """Answer records as they come; answers go out as JSON lines or CSV, a summary to standard error.

    Example: [bold]anystream classify model.safetensors < records.jsonl > answers.jsonl --within 5ms[/bold]

    Example: [bold]anystream classify model.safetensors test.csv -o answers.csv --dead-letters bad.jsonl[/bold]
    """
    from anystream.cli.durations import parse_duration
    from anystream.cli.tables import check_apart, format_of, open_sink, open_source, schema_of_model
    from anystream.connectors.file_sink import DeadLetterFile
    from anystream.connectors.label_pairs import LabelPairs
    from anystream.connectors.schema import Schema
    from anystream.runtime.checkpoint import CheckpointFolder
    from anystream.runtime.clock import RealClock
    from anystream.runtime.engine import Engine
    from anystream.runtime.learner import LearnsBeside
    from anystream.runtime.queue import OVERFLOW_POLICIES, ItemQueue
    from anystream.runtime.replay import Replay, as_recorded, at_rate
    from anystream.runtime.signals import stop_on_signals
    from anystream.saved_models import load

    if overflow not in OVERFLOW_POLICIES:
        raise ValueError(f"--overflow is {overflow!r}; use one of {', '.join(OVERFLOW_POLICIES)}")
    if rate is not None and speed is not None:
        raise ValueError("--rate and --speed are two paces; give one")
    if labels is not None and not learn:
        raise ValueError("--labels are for learning; add --learn, or leave them out")
    if save is not None and not learn:
        raise ValueError("--save keeps what was learned; add --learn, or leave it out")

    if budget is not None and budget < 0:
        raise ValueError(f"--budget is {budget}; use 0 steps or more")
    if queue < 1:
        raise ValueError(f"--queue is {queue}; use 1 record or more")
    if checkpoint is not None and (output == "-" or format_of(output, output_format, "jsonl") == "arrow"):
        raise ValueError("--checkpoint takes answers back after a crash; write them to a file with -o answers.jsonl")
    check_apart({"the model": model}, {"--output": output, "--dead-letters": dead_letters})
    check_apart(
        {"the input": input_, "the file of --labels": labels},
        {"--output": output, "--dead-letters": dead_letters, "--save": save},
    )

    notes = _notes(model)
    folder = None if checkpoint is None else _folder(CheckpointFolder, checkpoint, checkpoint_every, notes)
    state = None if folder is None else folder.load()
    estimator = load(model, mmap=not learn) if state is None else state.model
    schema = _schema(schema_of_model(model, estimator), label, key, time_)
    if speed is not None and schema.time is None:
        raise ValueError("--speed replays recorded times; name the column that holds them with --time")
    clock = RealClock()
    source: Any = open_source(input_, schema, input_format, delimiter)
    if rate is not None:
        source = Replay(source, at_rate(rate), clock)
    elif speed is not None:
        source = Replay(source, as_recorded(speed), clock)
    elif schema.time is not None:
        source = _Stamped(source)
    pairs = None
    if labels is not None:
        pairs = LabelPairs(open_source(labels, _label_schema(Schema, schema)))
    sink = open_sink(output, output_format, proba=proba, resume=state is not None)
    engine = Engine(
        LearnsBeside(estimator) if learn else estimator,
        source,
        sink,
        scheduler=_scheduler(scheduler, estimator, notes, within, target_wait, budget),
        within=None if within is None else parse_duration(within),
        queue=ItemQueue(queue, overflow),  # type: ignore[arg-type]  # looked at above
        dead_letters=None if dead_letters is None else DeadLetterFile(dead_letters, resume=state is not None),
        labels=pairs,
        checkpoint=folder,
        clock=clock,
        batch_s=_BATCH_S if within is None and target_wait is None else _DUE_BATCH_S,
        strict=strict,
    )
    if state is not None:
        engine.resume(state)
    began = clock.now()
    with stop_on_signals(engine), _bar(quiet, engine):
        summary = engine.run()
    sink.close()
    if save is not None:
        estimator.save(save, notes=notes)
    if not quiet:
        _report(summary.to_json() | _learned(engine, learn), clock.now() - began, json_, dead_letters)
    elif summary.dead and dead_letters is None:  # quiet, but never silent about what is lost
        print(f"anystream: {_bad_records(summary.dead)}, the first is {summary.first_bad[0]}", file=sys.stderr)


class _Stamped:
    """A source whose times of record are data, not arrivals: these records arrive when they are read."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def poll(self, most: int) -> Any:
        import numpy as np

        polled = self._source.poll(most)
        polled.items.arrival = np.full(len(polled.items), np.nan)
        return polled


def _notes(model: str) -> dict[str, Any]:
    from anystream.model_file import read_model

    notes = read_model(model, mmap=True).metadata.get("notes")
    return notes if isinstance(notes, dict) else {}


def _schema(schema: Any, label: str | None, key: str | None, time: str | None) -> Any:
    return replace(schema, label=label or schema.label, key=key or schema.key, time=time or schema.time)


def _label_schema(schema_class: Any, schema: Any) -> Any:
    return schema_class((), schema.label or "label", schema.key or "key", None, schema.label_type)


def _folder(folder_class: Any, path: str, every: str, notes: dict[str, Any]) -> Any:
    from anystream.cli.durations import parse_duration

    count, _, unit = every.partition(" ")
    if unit.strip() not in ("record", "records"):
        return folder_class(path, every_s=parse_duration(every), notes=notes)
    if not count.isdecimal() or int(count) < 1:
        raise ValueError(
            f"--checkpoint-every is {every!r}; write a time such as 10s, or a number such as '5000 records'"
        )
    return folder_class(path, every_records=int(count), every_s=float("inf"), notes=notes)


def _scheduler(
    name: str | None,
    estimator: Any,
    notes: dict[str, Any],
    within: str | None,
    target_wait: str | None,
    budget: int | None,
) -> Any:
    from anystream.cli.durations import parse_duration
    from anystream.runtime.gain_table import GainTable
    from anystream.runtime.schedulers import DeadlineShare, FixedBudget, MarginalGain, WaitingTime

    if name is None:
        name = "deadline-share" if within else "waiting-time" if target_wait else "fixed-budget"
    if name not in SCHEDULERS:
        raise ValueError(f"--scheduler is {name!r}; use one of {', '.join(SCHEDULERS)}")
    most = estimator.budget if budget is None else budget
    if name == "fixed-budget":
        return FixedBudget(most)
    if name == "waiting-time":
        if target_wait is None:
            raise ValueError("the waiting-time scheduler needs a target; add --target-wait 2s")
        return WaitingTime(parse_duration(target_wait), most=most)
    if within is None:
        raise ValueError(f"the {name} scheduler needs deadlines; add --within 5ms")
    if name == "deadline-share":
        return DeadlineShare(most=most)
    if "profile" not in notes:
        raise ValueError("marginal-gain needs the model's performance profile; fit it with --profile")
    if budget is not None:
        raise ValueError("marginal-gain takes its steps from the profile; leave --budget out")
    return MarginalGain(GainTable.from_json(notes["profile"]))


def _bar(quiet: bool, engine: Any) -> Any:
    """A line on standard error that counts, if it is a terminal."""
    from contextlib import nullcontext

    if quiet or not sys.stderr.isatty() or sys.stdout.isatty():
        return nullcontext()
    from rich.progress import Progress, SpinnerColumn, TextColumn

    from anystream.cli.output import console

    bar = Progress(SpinnerColumn(), TextColumn("{task.description}"), console=console(stderr=True), transient=True)
    task = bar.add_task("waiting for records")

    def show(turn: Any) -> None:
        found = turn.summary
        bad = f", {found.dead} bad" if found.dead else ""
        bar.update(task, description=f"{found.answered} answered, {turn.queue_length} waiting, {found.late} late{bad}")

    engine.watch(show)
    return bar


def _learned(engine: Any, learn: bool) -> dict[str, Any]:
    return {"learned": engine.learner.learned} if learn else {}


def _bad_records(n: int) -> str:
    return f"{n} bad record{'' if n == 1 else 's'}"


def _report(figures: dict[str, Any], seconds: float, as_json: bool, dead_letters: str | None) -> None:
    import json

    figures = figures | {"seconds": round(seconds, 3), "records_per_s": round(figures["taken"] / max(seconds, 1e-9), 1)}
    if as_json:
        print(json.dumps(figures), file=sys.stderr)
        return
    from anystream.cli.durations import format_duration

    parts = [f"{figures['answered']} of {figures['taken']} records answered in {format_duration(seconds)}"]
    parts.append(f"{figures['steps_per_record']:g} steps each")
    if figures["answered"]:
        parts.append(f"waiting {format_duration(figures['wait_p50_s'])} (p99 {format_duration(figures['wait_p99_s'])})")
    for name, word in (("late", "late"), ("shed", "shed"), ("learned", "labels learned")):
        if figures.get(name):
            parts.append(f"{figures[name]} {word}")
    if figures["dead_letters"]:
        where = f"in {dead_letters}" if dead_letters else "skipped"
        parts.append(f"{_bad_records(figures['dead_letters'])} ({where})")
    if "accuracy" in figures:
        parts.append(f"accuracy {figures['accuracy']:.4f}")
    print("; ".join(parts), file=sys.stderr)
    if figures["dead_letters"] and dead_letters is None:
        for bad in figures["first_bad"]:
            print(f"  {bad}", file=sys.stderr)
        more = "  ...\n" if figures["dead_letters"] > len(figures["first_bad"]) else ""
        print(f"{more}keep bad records with --dead-letters FILE, or stop at the first with --strict", file=sys.stderr)
