"""A job for streams of files: model, schema and options of every partition's engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from anystream.connectors.file_formats import open_sink, open_source
from anystream.connectors.file_sink import DeadLetterFile
from anystream.connectors.saved_model import open_model
from anystream.distributed.partitions import Partition
from anystream.model_file.fingerprint import read_fingerprint
from anystream.runtime.checkpoint import CheckpointFolder
from anystream.runtime.engine import Engine
from anystream.runtime.schedulers import DeadlineShare, FixedBudget, Scheduler


@dataclass(frozen=True, kw_only=True)
class StreamJob:
    """Opens the engine of a partition: a file of records, answers in a file, checkpoints in a folder.

    Parameters
    ----------
    model : str
        Model file; every worker must see it.
    budget : int, optional
        Maximum number of steps per record; by default the model's own.
    within_s : float, optional
        Seconds from the arrival of a record to its deadline.
    every_s : float, default=10.0
        Seconds between two checkpoints of a partition.
    every_records : int, optional
        Answers between two checkpoints.
    proba : bool, default=False
        Whether answers have the probability of every class.
    n_jobs : int, default=1
        Threads of one worker.
    """

    model: str
    budget: int | None = None
    within_s: float | None = None
    every_s: float = 10.0
    every_records: int | None = None
    proba: bool = False
    n_jobs: int = 1

    @contextmanager
    def open(self, partition: Partition) -> Iterator[Engine]:
        """Open the engine; see `Job`."""
        saved = open_model(self.model)
        with CheckpointFolder(
            partition.checkpoint,
            every_s=self.every_s,
            every_records=self.every_records,
            notes=saved.notes,
            belongs_to=self._describe(),
        ) as checkpoint:
            state = checkpoint.load()
            resume = state is not None
            classifier = saved.classifier if state is None else state.model
            use_threads(classifier, self.n_jobs)
            source = open_source(partition.input, saved.schema)
            sink = open_sink(partition.output, None, saved.schema, proba=self.proba, resume=resume)
            dead = None if partition.dead_letters is None else DeadLetterFile(partition.dead_letters, resume=resume)
            engine = Engine(
                classifier,
                source,
                sink,
                scheduler=self._make_scheduler(classifier),
                within_s=self.within_s,
                dead_letters=dead,
                checkpoint=checkpoint,
            )
            if state is not None:
                engine.resume(state)
            try:
                yield engine
            finally:
                sink.close()
                source.close()

    def _make_scheduler(self, classifier: Any) -> Scheduler:
        max_steps = classifier.budget if self.budget is None else self.budget
        return FixedBudget(max_steps) if self.within_s is None else DeadlineShare(max_steps=max_steps)

    def _describe(self) -> dict[str, Any]:
        """Return what the answers depend on: a run does not continue with other values."""
        others = {name: value for name, value in asdict(self).items() if name in ("budget", "within_s", "proba")}
        return {"model": read_fingerprint(self.model)} | others


def use_threads(classifier: Any, n_jobs: int) -> None:
    """Let a classifier use this many threads; answers do not depend on it."""
    if "n_jobs" in classifier.get_params(deep=False):
        classifier.set_params(n_jobs=n_jobs)
