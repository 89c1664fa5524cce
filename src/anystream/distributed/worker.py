"""A worker: runs one partition at a time with an engine of its own."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from anystream.distributed.partitions import Partition
from anystream.progress import hide_bars
from anystream.runtime.engine import Engine
from anystream.runtime.summary import Summary


class Job(Protocol):
    """How to open the engine of a partition. It is sent to every worker, so it can be pickled."""

    def open(self, partition: Partition) -> AbstractContextManager[Engine]:
        """Return a context with an engine that continues from the checkpoint of the partition, if there is one.

        Leaving the context closes the streams. `CheckpointInUseError` tells that another worker is not dead yet.
        """


class PartitionResult(NamedTuple):
    """What became of a partition in one worker.

    Parameters
    ----------
    name : str
        Name of the partition.
    finished : bool
        Whether its source has ended; False if the worker was stopped, and another one continues.
    summary : Summary
        Its account since the start of the partition.
    position : int
        Offset in its source after the last record.
    learned : int
        Number of labels learned.
    """

    name: str
    finished: bool
    summary: Summary
    position: int
    learned: int


class StreamWorker:
    """One worker.

    Parameters
    ----------
    job : Job
        How to open engines.

    Notes
    -----
    `run` blocks. Other threads may call `stop` and `progress` meanwhile.
    """

    def __init__(self, job: Job) -> None:
        hide_bars()
        self._job = job
        self._lock = threading.RLock()  # a signal may call `stop` in the thread that holds it
        self._engine: Engine | None = None
        self._name = ""
        self._stopping = False

    def is_ready(self) -> bool:
        """Return True; a call returns when the worker has started."""
        return True

    def progress(self) -> tuple[str, int]:
        """Return the name of the partition that runs, and how many of its records are answered."""
        with self._lock:
            return ("", 0) if self._engine is None else (self._name, self._engine.summary.answered)

    def run(self, partition: Partition) -> PartitionResult:
        """Run a partition to its end, or to `stop`."""
        with self._job.open(partition) as engine:
            with self._lock:
                self._engine, self._name = engine, partition.name
                if self._stopping:
                    engine.stop()
            try:
                summary = engine.run()
            finally:
                with self._lock:
                    self._engine = None
            return PartitionResult(
                partition.name, engine.source.done, summary, engine.source.offset, engine.learner.learned
            )

    def stop(self) -> None:
        """End the partition that runs, with a checkpoint, and every later one at once."""
        with self._lock:
            self._stopping = True
            if self._engine is not None:
                self._engine.stop()
