"""Options of ``anystream classify``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from anystream.cli.options import (
    Delimiter,
    MapModel,
    ModelPath,
    NWorkers,
    Overflow,
    QueueCapacity,
    UnknownCategories,
    VerifyModel,
    WorkersOn,
)

SCHEDULERS = ("deadline-share", "marginal-gain", "waiting-time", "fixed-budget")


@dataclass(frozen=True, kw_only=True)
class ClassifyOptions:
    """Options of the command as they were given; `anystream.cli.classify_run.prepare_run` checks them."""

    model: ModelPath
    input_path: Annotated[
        str, typer.Argument(metavar="INPUT", help="Records, compressed or not; - is standard input.")
    ] = "-"
    output_path: Annotated[
        str, typer.Option("--output", "-o", help="Output file for answers; - is standard output.")
    ] = "-"
    from_address: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Address of the records in a broker, instead of INPUT: kafka://HOST/TOPIC?group=G, "
            "redis://HOST/STREAM?group=G, nats://HOST/SUBJECT?durable=D or mqtt://HOST/TOPIC?client=C.",
        ),
    ] = None
    to_address: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Address for the answers in a broker, instead of --output: kafka://HOST/TOPIC, redis://HOST/STREAM, "
            "nats://HOST/SUBJECT or mqtt://HOST/TOPIC.",
        ),
    ] = None
    value_format: Annotated[
        str | None,
        typer.Option(help="Format of the messages of a broker: json, msgpack, arrow or avro; default: json."),
    ] = None
    give_up_after: Annotated[
        str | None,
        typer.Option(help="Time without a broker, such as 10m, after which the run ends; default: it waits for ever."),
    ] = None
    within: Annotated[
        str | None,
        typer.Option(
            help="Time from the arrival of a record to its deadline, such as 5ms; a record without an arrival time "
            "(--rate, --speed) arrives when it can be taken."
        ),
    ] = None
    target_wait: Annotated[
        str | None, typer.Option(help="Time in which the queue shall be emptied, such as 2s (the rule of LOCUST).")
    ] = None
    budget: Annotated[int | None, typer.Option(help="Maximum steps per record; default: the model's own.")] = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(SCHEDULERS)}; default: deadline-share with --within, waiting-time with "
            "--target-wait, otherwise fixed-budget."
        ),
    ] = None
    learn: Annotated[bool, typer.Option(help="Learn from labels while classifying.")] = False
    labels_path: Annotated[
        str | None,
        typer.Option(
            "--labels",
            help="File, pipe or address of labels that come later: records of key and label, under the names of these "
            "columns in the input, or as key and label.",
        ),
    ] = None
    learn_capacity: Annotated[
        int, typer.Option("--learn-queue", help="Maximum number of labelled records that wait to be learned.")
    ] = 10_000
    learn_overflow: Annotated[
        str | None,
        typer.Option(
            help="Policy for more of them: block (take no records until some are learned) or drop (do not learn the "
            "newest, and count them); default: drop with --within, --target-wait, --rate or --speed, otherwise block."
        ),
    ] = None
    max_classes: Annotated[
        int, typer.Option(help="Number of classes up to which --learn adds new ones; others go to the dead letters.")
    ] = 1000
    max_model_mb: Annotated[
        int, typer.Option(help="Size of the model in megabytes from which on --learn learns no more.")
    ] = 1024
    label_capacity: Annotated[
        int, typer.Option(help="Maximum number of records that wait for a label, and of labels that wait for a record.")
    ] = 10_000
    max_text: Annotated[
        int, typer.Option(help="Maximum number of characters in a key or label; longer ones go to the dead letters.")
    ] = 1000
    save_path: Annotated[
        str | None, typer.Option("--save", help="With --learn: output file for the model at the end.")
    ] = None
    label_column: Annotated[
        str | None, typer.Option("--label", help="Column of the class label, if it is known; default: that of the fit.")
    ] = None
    key_column: Annotated[
        str | None,
        typer.Option("--key", help="Column of the record key; default: that of the fit, otherwise the line number."),
    ] = None
    time_column: Annotated[
        str | None,
        typer.Option("--time", help="Column of the record time, in seconds or by ISO 8601; default: that of the fit."),
    ] = None
    rate: Annotated[float | None, typer.Option(help="Replay the input at this many records per second.")] = None
    speed: Annotated[
        float | None, typer.Option(help="Replay the input at its recorded times, this many times as fast.")
    ] = None
    queue_capacity: QueueCapacity = 10_000
    overflow: Overflow = "block"
    dead_letters_path: Annotated[
        str | None,
        typer.Option(
            "--dead-letters",
            help="Output file or address for records that cannot be read or classified; without it the first few are "
            "printed.",
        ),
    ] = None
    unknown: UnknownCategories = "missing"
    keep: Annotated[
        str | None, typer.Option(help="Columns of the input that the answers carry, such as city,street.")
    ] = None
    strict: Annotated[bool, typer.Option(help="Stop at the first bad record, with exit code 2.")] = False
    checkpoint_folder: Annotated[
        str | None, typer.Option("--checkpoint", help="Folder for checkpoints; the next start continues from the last.")
    ] = None
    checkpoint_every: Annotated[
        str, typer.Option(help="Interval of checkpoints, as a time (10s) or a number of records (5000 records).")
    ] = "10s"
    restart: Annotated[
        bool,
        typer.Option(help="With --checkpoint: remove its checkpoints, and begin anew from the first record."),
    ] = False
    workers: NWorkers = None
    on: WorkersOn = "local"
    merge_every: Annotated[
        str,
        typer.Option(help="With --workers and --learn: interval at which what the workers have learned is merged."),
    ] = "30s"
    proba: Annotated[bool, typer.Option(help="Write the probability of every class.")] = False
    input_format: Annotated[
        str | None,
        typer.Option(help="csv, jsonl or arrow; default: by the content and the file name."),
    ] = None
    output_format: Annotated[
        str | None, typer.Option(help="jsonl, csv or arrow (Parquet); default: by the file name, otherwise jsonl.")
    ] = None
    delimiter: Delimiter = None
    mmap: MapModel = False
    verify: VerifyModel = True
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary on standard error as JSON.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary; bad records are still reported.")] = (
        False
    )
