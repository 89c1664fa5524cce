"""Streams and engine of a run of ``anystream classify``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anystream.cli.classify_run import ClassifyRun
from anystream.connectors.broker_address import is_address
from anystream.connectors.brokers import open_broker_dead_letters, open_broker_sink, open_broker_source
from anystream.connectors.file_formats import open_sink, open_source
from anystream.connectors.file_sink import DeadLetterFile
from anystream.connectors.label_pairs import LabelPairs
from anystream.connectors.schema import Schema
from anystream.runtime.clock import Clock, RealClock
from anystream.runtime.contracts import DeadLetters, LabelSource, PollResult, Sink, Source, is_append_only, is_broker
from anystream.runtime.engine import Engine
from anystream.runtime.label_matcher import LabelMatcher
from anystream.runtime.learner import BackgroundLearner, Learner
from anystream.runtime.queue import RecordQueue
from anystream.runtime.read_ahead import ReadAhead
from anystream.runtime.replay import Replay, as_recorded, at_rate

_BATCH_S = 0.1  # time of a batch where answers have no deadline: larger batches cost less per record
_DEADLINE_BATCH_S = 0.004  # and where they have one


class Streams(NamedTuple):
    """Open streams of a run."""

    clock: Clock
    source: Source
    labels: LabelSource | None
    sink: Sink
    dead_letters: DeadLetters | None


def open_streams(run: ClassifyRun) -> Streams:
    """Open the inputs, then the outputs: an input that cannot be read leaves the outputs untouched."""
    options, clock, resume = run.options, RealClock(), run.state is not None
    source = _open_records(run, clock)
    labels = None
    if options.labels_path is not None:
        labels = _open_labels(options.labels_path, run)
    if run.checkpoint is not None and options.restart:
        run.checkpoint.clear()
    append = is_address(options.input_path) and (run.checkpoint is None or is_address(options.output_path))
    sink = _open_sink(run, source, resume=resume, append=append)
    dead_letters: DeadLetters | None = None
    if is_address(options.dead_letters_path):
        dead_letters = open_broker_dead_letters(
            str(options.dead_letters_path), source=source, give_up_after_s=run.give_up_after_s
        )
    elif options.dead_letters_path is not None:
        dead_letters = DeadLetterFile(options.dead_letters_path, resume=resume, append=append)
    return Streams(clock, source, labels, sink, dead_letters)


def build_engine(run: ClassifyRun, streams: Streams, learner: Learner | None = None) -> Engine:
    """Return the engine of a run; it continues from the checkpoint if there is one.

    Parameters
    ----------
    run : ClassifyRun
        The run.
    streams : Streams
        Its open streams.
    learner : Learner, optional
        What learns and answers, instead of the classifier of the run.
    """
    options = run.options
    engine = Engine(
        learner or (BackgroundLearner(run.classifier, **learn_options(run)) if options.learn else run.classifier),
        streams.source,
        streams.sink,
        scheduler=run.scheduler,
        within_s=run.within_s,
        queue=RecordQueue(options.queue_capacity, run.overflow),
        dead_letters=streams.dead_letters,
        labels=streams.labels,
        matcher=LabelMatcher(options.label_capacity),
        max_text=options.max_text,
        checkpoint=run.checkpoint,
        clock=streams.clock,
        batch_s=_DEADLINE_BATCH_S if _has_deadlines(run) else _BATCH_S,
        strict=options.strict,
    )
    if run.state is not None:
        engine.resume(run.state)
    return engine


def find_absent(run: ClassifyRun, streams: Streams) -> dict[str, int]:
    """Return the inputs of the model that no record of JSON lines had, with the number of records."""
    absent: dict[str, int] = getattr(streams.source, "absent", {})
    return {column.name: absent[column.name] for column in run.schema.columns if absent.get(column.name)}


def learn_options(run: ClassifyRun) -> dict[str, Any]:
    """Return the options of a run as parameters of `BackgroundLearner`."""
    return {
        "capacity": run.options.learn_capacity,
        "overflow": run.learn_overflow,
        "max_classes": run.options.max_classes,
        "max_model_bytes": run.options.max_model_mb * 10**6,
    }


def close_inputs(streams: Streams) -> None:
    """Close the source and connections to brokers: leave the groups of consumers."""
    streams.source.close()
    for stream in (streams.labels, streams.dead_letters):
        if stream is not None and (is_broker(stream) or getattr(stream, "broker", None) or is_append_only(stream)):
            stream.close()


def _open_sink(run: ClassifyRun, source: Source, *, resume: bool, append: bool) -> Sink:
    options, schema = run.options, run.schema
    if not is_address(options.output_path):
        return open_sink(
            options.output_path,
            options.output_format,
            schema,
            proba=options.proba,
            resume=resume,
            append=append,
            confident=run.classifier.marks_confident(),
        )
    return open_broker_sink(
        options.output_path,
        source=source,
        proba=options.proba,
        keep=schema.keep,
        give_up_after_s=run.give_up_after_s,
    )


def _open_records(run: ClassifyRun, clock: Clock) -> Source:
    options = run.options
    if is_address(options.input_path):
        return open_broker_source(
            options.input_path,
            run.schema,
            value_format=options.value_format or "json",
            give_up_after_s=run.give_up_after_s,
        )
    hashed = run.checkpoint is not None  # else no later run continues this one
    source = open_source(options.input_path, run.schema, options.input_format, options.delimiter, hashed=hashed)
    if options.rate is not None:
        return Replay(source, at_rate(options.rate), clock)
    if options.speed is not None:
        return Replay(source, as_recorded(options.speed), clock)
    if not _has_deadlines(run):  # else a record that is read and waits for the thread would lose time
        source = ReadAhead(source)
    return source if run.schema.time is None else _ArrivalOnRead(source)


def _has_deadlines(run: ClassifyRun) -> bool:
    return run.options.within is not None or run.options.target_wait is not None


def _open_labels(path: str, run: ClassifyRun) -> LabelPairs:
    """Open the labels: key and label, under the names that they have in the records, or as ``key`` and ``label``."""
    schema = run.schema
    key, label = schema.key or "key", schema.label or "label"
    pairs = Schema((), label, key, None, schema.label_type, required=(key, label))
    rename = {"key": key, "label": label}
    if is_address(path):
        labels = open_broker_source(
            path,
            pairs,
            value_format=run.options.value_format or "json",
            rename=rename,
            give_up_after_s=run.give_up_after_s,
        )
        return LabelPairs(labels)
    return LabelPairs(open_source(path, pairs, rename=rename))


class _ArrivalOnRead:
    """Source whose recorded times are data, not arrival times: its records arrive when they are read."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def poll(self, max_records: int) -> PollResult:
        """Return the records of the source without arrival times."""
        result = self._source.poll(max_records)
        result.records.arrival = np.full(len(result.records), np.nan)
        return result
