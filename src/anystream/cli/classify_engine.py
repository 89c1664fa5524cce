"""Streams and engine of a run of ``anystream classify``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anystream.cli.classify_run import ClassifyRun
from anystream.cli.file_formats import open_sink, open_source
from anystream.connectors.file_sink import DeadLetterFile
from anystream.connectors.label_pairs import LabelPairs
from anystream.connectors.schema import Schema
from anystream.runtime.clock import Clock, RealClock
from anystream.runtime.contracts import DeadLetters, LabelSource, PollResult, Sink, Source
from anystream.runtime.engine import Engine
from anystream.runtime.label_matcher import LabelMatcher
from anystream.runtime.learner import BackgroundLearner
from anystream.runtime.queue import RecordQueue
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
        labels = LabelPairs(open_source(options.labels_path, _label_schema(run.schema)))
    if run.checkpoint is not None and options.restart:
        run.checkpoint.clear()
    sink = open_sink(options.output_path, options.output_format, proba=options.proba, resume=resume)
    dead_letters = None
    if options.dead_letters_path is not None:
        dead_letters = DeadLetterFile(options.dead_letters_path, resume=resume)
    return Streams(clock, source, labels, sink, dead_letters)


def build_engine(run: ClassifyRun, streams: Streams) -> Engine:
    """Return the engine of a run; it continues from the checkpoint if there is one."""
    options = run.options
    has_deadlines = options.within is not None or options.target_wait is not None
    engine = Engine(
        _make_learner(run) if options.learn else run.classifier,
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
        batch_s=_DEADLINE_BATCH_S if has_deadlines else _BATCH_S,
        strict=options.strict,
    )
    if run.state is not None:
        engine.resume(run.state)
    return engine


def _make_learner(run: ClassifyRun) -> BackgroundLearner:
    return BackgroundLearner(
        run.classifier,
        capacity=run.options.learn_capacity,
        overflow=run.learn_overflow,
        max_classes=run.options.max_classes,
        max_model_bytes=run.options.max_model_mb * 10**6,
    )


def _open_records(run: ClassifyRun, clock: Clock) -> Source:
    options = run.options
    source = open_source(options.input_path, run.schema, options.input_format, options.delimiter)
    if options.rate is not None:
        return Replay(source, at_rate(options.rate), clock)
    if options.speed is not None:
        return Replay(source, as_recorded(options.speed), clock)
    return source if run.schema.time is None else _ArrivalOnRead(source)


def _label_schema(schema: Schema) -> Schema:
    """Return the schema of label records: key and label, under the names that they have in the records."""
    return Schema((), schema.label or "label", schema.key or "key", None, schema.label_type)


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
