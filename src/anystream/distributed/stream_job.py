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
from anystream.distributed.shared_learning import ModelExchange, SharedLearner
from anystream.model_file.fingerprint import read_fingerprint
from anystream.runtime.checkpoint import CheckpointFolder
from anystream.runtime.engine import Engine
from anystream.runtime.run_state import RunState
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
    learn : bool, default=False
        Whether to learn from the labels of the records; see `anystream.distributed.shared_learning`.
    merged_folder : str, optional
        Folder of the merged model, which learning needs; `run` sets it.
    merge_every_s : float, default=30.0
        Seconds between two merges of what the workers have learned.
    """

    model: str
    budget: int | None = None
    within_s: float | None = None
    every_s: float = 10.0
    every_records: int | None = None
    proba: bool = False
    n_jobs: int = 1
    learn: bool = False
    merged_folder: str | None = None
    merge_every_s: float = 30.0

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
            use_threads(saved.classifier, self.n_jobs)
            learner = self._make_learner(saved.classifier, state) if self.learn else None
            source = open_source(partition.input, saved.schema)
            sink = open_sink(partition.output, None, saved.schema, proba=self.proba, resume=resume)
            dead = None if partition.dead_letters is None else DeadLetterFile(partition.dead_letters, resume=resume)
            engine = Engine(
                learner or saved.classifier,
                source,
                sink,
                scheduler=self._make_scheduler(saved.classifier),
                within_s=self.within_s,
                dead_letters=dead,
                checkpoint=checkpoint,
            )
            if state is not None:
                engine.resume(state)
            try:
                with exchange_models(learner, partition, self.merged_folder, self.merge_every_s, self.n_jobs):
                    yield engine
            finally:
                sink.close()
                source.close()

    def _make_learner(self, base: Any, state: RunState | None) -> SharedLearner:
        return SharedLearner(base, learned_until(state))

    def _make_scheduler(self, classifier: Any) -> Scheduler:
        max_steps = classifier.budget if self.budget is None else self.budget
        return FixedBudget(max_steps) if self.within_s is None else DeadlineShare(max_steps=max_steps)

    def _describe(self) -> dict[str, Any]:
        """Return what the answers depend on: a run does not continue with other values."""
        others = {
            name: value for name, value in asdict(self).items() if name in ("budget", "within_s", "proba", "learn")
        }
        return {"model": read_fingerprint(self.model)} | others


def learned_until(state: RunState | None) -> Any | None:
    """Return what a partition had learned until its checkpoint."""
    return None if state is None or state.learner["learned"] == 0 else state.model


@contextmanager
def exchange_models(
    learner: SharedLearner | None, partition: Partition, folder: str | None, every_s: float, n_jobs: int
) -> Iterator[None]:
    """Exchange models while an engine learns; without a learner, do nothing."""
    if learner is None:
        yield
        return
    if folder is None:
        raise ValueError(
            "learning on several workers needs a folder for the merged model; use anystream.distributed.run"
        )
    exchange = ModelExchange(learner, partition, folder, every_s, lambda model: use_threads(model, n_jobs))
    try:
        yield
    finally:
        exchange.close()


def use_threads(classifier: Any, n_jobs: int) -> None:
    """Let a classifier use this many threads; answers do not depend on it."""
    if "n_jobs" in classifier.get_params(deep=False):
        classifier.set_params(n_jobs=n_jobs)
