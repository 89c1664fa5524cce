"""A run of ``anystream classify``, checked before any stream is opened."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from anystream.cli.classify_options import SCHEDULERS, ClassifyOptions
from anystream.cli.durations import parse_duration
from anystream.cli.paths import check_distinct_files, check_writable
from anystream.cli.queue_options import check_queue_options
from anystream.cli.unknown_categories import check_unknown
from anystream.connectors.broker_address import BrokerAddress, is_address
from anystream.connectors.file_formats import choose_output_format
from anystream.connectors.saved_model import read_notes, read_schema
from anystream.connectors.schema import Schema
from anystream.connectors.value_formats import VALUE_FORMATS
from anystream.model_file import read_model
from anystream.model_file.fingerprint import read_fingerprint
from anystream.models import restore_model
from anystream.runtime.checkpoint import CheckpointFolder
from anystream.runtime.gain_table import GainTable
from anystream.runtime.learner import LEARN_OVERFLOWS, LearnOverflow
from anystream.runtime.queue import OverflowPolicy
from anystream.runtime.run_state import RunState
from anystream.runtime.schedulers import DeadlineShare, FixedBudget, MarginalGain, Scheduler, WaitingTime

_MAY_CHANGE = (  # options that may differ when a run continues: bounds, what changes no answer, and what is recognised
    "model",
    "input_path",
    "output_path",
    "give_up_after",
    "dead_letters_path",
    "save_path",
    "queue_capacity",
    "label_capacity",
    "learn_capacity",
    "max_classes",
    "max_model_mb",
    "max_text",
    "strict",
    "mmap",
    "verify",
    "checkpoint_folder",
    "checkpoint_every",
    "restart",
    "workers",
    "on",
    "merge_every",
    "as_json",
    "quiet",
)


@dataclass(frozen=True, kw_only=True)
class ClassifyRun:
    """What a run needs, all of it checked.

    Parameters
    ----------
    options : ClassifyOptions
        The options, whose values are valid.
    within_s : float, optional
        Seconds from the arrival of a record to its deadline.
    give_up_after_s : float, optional
        Seconds without a broker after which the run ends.
    overflow : OverflowPolicy
        Policy for a full queue.
    learn_overflow : LearnOverflow
        Policy for too many records that wait to be learned.
    classifier : anytime classifier
        The model of the file, or of the checkpoint that the run continues from.
    notes : dict
        Notes of the model file.
    schema : Schema
        Columns of the records.
    scheduler : Scheduler
        Scheduler of the engine.
    checkpoint : CheckpointFolder, optional
        Folder for checkpoints.
    state : RunState, optional
        Checkpoint that the run continues from.
    """

    options: ClassifyOptions
    within_s: float | None
    give_up_after_s: float | None
    overflow: OverflowPolicy
    learn_overflow: LearnOverflow
    classifier: Any
    notes: dict[str, Any]
    schema: Schema
    scheduler: Scheduler
    checkpoint: CheckpointFolder | None
    state: RunState | None


def prepare_run(options: ClassifyOptions) -> ClassifyRun:
    """Check the options, read the model and return the run; no stream is opened, and no output is written.

    The checkpoint folder is locked: if another run uses it, nothing happens to the outputs of that run.
    """
    options = _place_addresses(options)
    overflow = check_queue_options(options.queue_capacity, options.overflow)
    _check_values(options)
    _check_combinations(options)
    _check_files(options)
    within_s = _parse_optional_duration(options.within)
    target_wait_s = _parse_optional_duration(options.target_wait)
    scheduler_name = _choose_scheduler_name(options)
    interval = _parse_interval(options.checkpoint_every)

    file = read_model(options.model, mmap=options.mmap, verify=options.verify)
    notes = read_notes(file)
    checkpoint, state = None, None
    if options.checkpoint_folder is not None:
        checkpoint = CheckpointFolder(
            options.checkpoint_folder, notes=notes, belongs_to=_describe_run(options), report=_report, **interval
        )
        checkpoint.lock()
        state = None if options.restart else checkpoint.load()
    classifier = restore_model(file, mapped=options.mmap) if state is None else state.model
    if options.learn and not hasattr(classifier, "partial_fit"):
        raise ValueError(f"{options.model}: a model of kind {file.kind} cannot learn further; leave --learn out")
    return ClassifyRun(
        options=options,
        within_s=within_s,
        give_up_after_s=_parse_optional_duration(options.give_up_after),
        overflow=overflow,
        learn_overflow=_choose_learn_overflow(options),
        classifier=classifier,
        notes=notes,
        schema=_choose_columns(read_schema(notes, classifier), options),
        scheduler=_make_scheduler(
            scheduler_name,
            max_steps=classifier.budget if options.budget is None else options.budget,
            target_wait_s=target_wait_s,
            gain_table=notes.get("gain_table"),
        ),
        checkpoint=checkpoint,
        state=state,
    )


def _place_addresses(options: ClassifyOptions) -> ClassifyOptions:
    """Return the options with the addresses of ``--from`` and ``--to`` in place of the paths of input and output."""
    for name, address, path in (
        ("from", options.from_address, options.input_path),
        ("to", options.to_address, options.output_path),
    ):
        if address is None:
            continue
        if path != "-":
            raise ValueError(f"--{name} is {address} and the path {path}; give one of them")
        BrokerAddress.parse(address)
    return replace(
        options,
        input_path=options.from_address or options.input_path,
        output_path=options.to_address or options.output_path,
        from_address=None,
        to_address=None,
    )


def _check_values(options: ClassifyOptions) -> None:
    if options.budget is not None and options.budget < 0:
        raise ValueError(f"--budget is {options.budget}; use 0 steps or more")
    if options.learn_overflow not in (None, *LEARN_OVERFLOWS):
        raise ValueError(f"--learn-overflow is {options.learn_overflow!r}; use one of {', '.join(LEARN_OVERFLOWS)}")
    for name, count in (
        ("learn-queue", options.learn_capacity),
        ("max-classes", options.max_classes),
        ("max-model-mb", options.max_model_mb),
        ("label-capacity", options.label_capacity),
        ("max-text", options.max_text),
    ):
        if count < 1:
            raise ValueError(f"--{name} is {count}; use 1 or more")
    for name, value in (("rate", options.rate), ("speed", options.speed)):
        if value is not None and not value > 0.0:
            raise ValueError(f"--{name} is {value}; use a number above 0")


def _check_combinations(options: ClassifyOptions) -> None:
    if options.rate is not None and options.speed is not None:
        raise ValueError("--rate and --speed both set the arrival times; give one of them")
    if options.labels_path is not None and not options.learn:
        raise ValueError("--labels has no effect without --learn; add --learn, or leave --labels out")
    if options.mmap and options.learn:
        raise ValueError("--mmap has no effect with --learn, which changes the model in memory; give one of them")
    if options.save_path is not None and not options.learn:
        raise ValueError("--save has no effect without --learn; add --learn, or leave --save out")
    _check_brokers(options)
    if options.restart and options.checkpoint_folder is None:
        raise ValueError("--restart has no effect without --checkpoint; name its folder, or leave --restart out")


def _check_brokers(options: ClassifyOptions) -> None:
    inputs = [path for path in (options.input_path, options.labels_path) if is_address(path)]
    outputs = [path for path in (options.output_path, options.dead_letters_path) if is_address(path)]
    for address in filter(None, inputs + outputs):
        BrokerAddress.parse(address)
    if options.value_format not in (None, *VALUE_FORMATS):
        raise ValueError(f"--value-format is {options.value_format!r}; use one of {', '.join(VALUE_FORMATS)}")
    if options.value_format is not None and not inputs:
        raise ValueError("--value-format is that of messages of a broker; name one with --from, or leave it out")
    if options.give_up_after is not None and not inputs + outputs:
        raise ValueError("--give-up-after is about brokers; name one with --from or --to, or leave it out")
    if is_address(options.input_path):
        for name, value in (
            ("rate", options.rate),
            ("speed", options.speed),
            ("input-format", options.input_format),
            ("delimiter", options.delimiter),
        ):
            if value is not None:
                raise ValueError(f"--{name} has no effect on the messages of a broker; leave it out")


def _check_files(options: ClassifyOptions) -> None:
    to_broker = is_address(options.output_path)
    if to_broker and options.output_format not in (None, "jsonl"):
        raise ValueError(f"--output-format is {options.output_format!r}; answers to a broker are JSON, leave it out")
    output_format = "jsonl" if to_broker else choose_output_format(options.output_path, options.output_format)
    if options.checkpoint_folder is not None and (options.output_path == "-" or output_format == "arrow"):
        raise ValueError(
            "--checkpoint removes unconfirmed answers after a crash, which only a file of lines allows; write to one "
            "with -o answers.jsonl"
        )
    if options.proba and output_format == "arrow":
        raise ValueError("--proba is not supported in Parquet files; write to .jsonl or .csv")
    outputs = _only_files({"--output": options.output_path, "--dead-letters": options.dead_letters_path})
    check_writable(outputs | {"--save": options.save_path})
    check_distinct_files({"the model": options.model}, outputs)  # --save may replace the model
    check_distinct_files(
        _only_files({"the input": options.input_path, "the file of --labels": options.labels_path}),
        outputs | {"--save": options.save_path},
    )


def _only_files(paths: dict[str, str | None]) -> dict[str, str | None]:
    """Return the paths that are no addresses of brokers."""
    return {name: path for name, path in paths.items() if not is_address(path)}


def _choose_scheduler_name(options: ClassifyOptions) -> str:
    """Return the name of the scheduler, which fits the other options."""
    name = options.scheduler
    if name is None:
        return "deadline-share" if options.within else "waiting-time" if options.target_wait else "fixed-budget"
    if name not in SCHEDULERS:
        raise ValueError(f"--scheduler is {name!r}; use one of {', '.join(SCHEDULERS)}")
    if name == "waiting-time" and options.target_wait is None:
        raise ValueError("the waiting-time scheduler needs a target; add --target-wait 2s")
    if name in ("deadline-share", "marginal-gain") and options.within is None:
        raise ValueError(f"the {name} scheduler needs deadlines; add --within 5ms")
    if name == "marginal-gain" and options.budget is not None:
        raise ValueError("the marginal-gain scheduler takes its steps from the gain table; leave --budget out")
    return name


def _make_scheduler(name: str, *, max_steps: int, target_wait_s: float | None, gain_table: Any) -> Scheduler:
    if name == "fixed-budget":
        return FixedBudget(max_steps)
    if name == "deadline-share":
        return DeadlineShare(max_steps=max_steps)
    if name == "waiting-time":
        assert target_wait_s is not None  # _choose_scheduler_name has checked it
        return WaitingTime(target_wait_s, max_steps=max_steps)
    if gain_table is None:
        raise ValueError("the marginal-gain scheduler needs a gain table in the model; fit it with --gain-table")
    return MarginalGain(GainTable.from_json(gain_table))


def _choose_learn_overflow(options: ClassifyOptions) -> LearnOverflow:
    """Return the policy for too many records to learn; where time matters, nothing waits for learning."""
    if options.learn_overflow is not None:
        return cast(LearnOverflow, options.learn_overflow)
    in_time = any(value is not None for value in (options.within, options.target_wait, options.rate, options.speed))
    return "drop" if in_time else "block"


def _parse_optional_duration(text: str | None) -> float | None:
    return None if text is None else parse_duration(text)


def _parse_interval(text: str) -> dict[str, Any]:
    """Return the interval of checkpoints as arguments of `CheckpointFolder`."""
    count, _, unit = text.partition(" ")
    if unit.strip() not in ("record", "records"):
        return {"every_s": parse_duration(text)}
    if not count.isdecimal() or int(count) < 1:
        raise ValueError(
            f"--checkpoint-every is {text!r}; write a time such as 10s, or a number such as '5000 records'"
        )
    return {"every_records": int(count), "every_s": float("inf")}


def _describe_run(options: ClassifyOptions) -> dict[str, Any]:
    """Return the model and the options that the answers depend on: a run does not continue with others.

    Inputs and outputs are recognised by their content, which may be elsewhere now; only whether there are any counts.
    """
    described = {field.name: getattr(options, field.name) for field in fields(options)}
    for name in _MAY_CHANGE:
        del described[name]
    described["labels_path"] = options.labels_path is not None
    named = {
        f"--{name.removesuffix('_column').removesuffix('_path').replace('_', '-')}": value
        for name, value in described.items()
    }
    return {"model": read_fingerprint(options.model)} | named


def _report(text: str) -> None:
    print(f"anystream: {text}", file=sys.stderr)


def _choose_columns(schema: Schema, options: ClassifyOptions) -> Schema:
    """Return the schema of the model with the columns that the options name."""
    schema = replace(
        schema,
        label=options.label_column or schema.label,
        key=options.key_column or schema.key,
        time=options.time_column or schema.time,
        unknown=check_unknown(options.unknown),
        required=tuple(
            name for name in (options.label_column, options.key_column, options.time_column) if name is not None
        ),
        keep=_parse_names(options.keep),
    )
    if options.speed is not None and schema.time is None:
        raise ValueError("--speed replays recorded times; name the column that holds them with --time")
    return schema


def _parse_names(text: str | None) -> tuple[str, ...]:
    """Return the names of a list such as ``a,b``, each once."""
    names = [] if text is None else [name.strip() for name in text.split(",")]
    if "" in names:
        raise ValueError(f"--keep is {text!r}; write names of columns, such as a,b")
    return tuple(dict.fromkeys(names))
