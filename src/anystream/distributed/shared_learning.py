"""Learning by many workers: each learns from its partition alone, and all answer with the merge of what all learned.

A partition's engine learns a model of its own records only, which its checkpoints hold. It is written to a file now and
then; the supervisor merges the files of all partitions with the model that the run began with, and the workers answer
with the result::

    labels of partition p -> learned model of p -> p/learned.safetensors --.
    model of the run ------------------------------------------------------+-> merged.safetensors -> answers everywhere

So nothing is learned twice: neither what the run began with, nor what a killed worker had learned since its checkpoint.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from anystream.distributed.partitions import Partition
from anystream.models import load
from anystream.runtime.learner import BackgroundLearner

_LEARNED, _MERGED = "learned.safetensors", "merged.safetensors"


def check_can_share(model: Any) -> None:
    """Raise TypeError if what several workers learn cannot be merged."""
    if not hasattr(type(model), "merge_states") or not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} cannot be learned by several workers, because it has no merge or no partial_fit; "
            "run it without learning, or on one worker"
        )
    model.empty_twin()  # raises if it cannot start empty


class SharedLearner(BackgroundLearner):
    """Learns the records of one partition, and answers with a model that others have made.

    Parameters
    ----------
    base : anytime classifier
        The model that the run began with; it answers until there is a merged one.
    learned : anytime classifier or None
        What was learned from this partition until its checkpoint; None for nothing.
    **options
        Parameters of `BackgroundLearner`.
    """

    def __init__(self, base: Any, learned: Any | None, **options: Any) -> None:
        check_can_share(base)
        super().__init__(base.empty_twin() if learned is None else learned, **options)
        self._base = base
        self._answering = base

    @property
    def model(self) -> Any:
        """The model that answers."""
        return self._answering

    def install(self, model: Any) -> None:
        """Answer with this model from the next batch on; any thread may call this."""
        self._answering = model

    def state(self) -> tuple[Any, dict[str, Any]]:
        """Return what was learned from this partition, or the first model as long as that is nothing."""
        published, packed = super().state()
        return (self._base if packed["learned"] == 0 else published), packed

    def learned_model(self) -> Any | None:
        """Return what was learned from this partition so far; None for nothing."""
        with self._lock:
            return self._published if self.learned else None


class ModelExchange:
    """Writes what a partition has learned, and installs what was merged, at an interval.

    Parameters
    ----------
    learner : SharedLearner
        Learner of the partition.
    partition : Partition
        The partition; its folder gets the file.
    folder : path
        Folder of the merged model.
    every_s : float
        Seconds between two exchanges.
    prepare : callable
        Called with each merged model before it answers.
    """

    def __init__(
        self,
        learner: SharedLearner,
        partition: Partition,
        folder: str | os.PathLike[str],
        every_s: float,
        prepare: Callable[[Any], None],
    ) -> None:
        self._learner, self._prepare, self._every_s = learner, prepare, every_s
        self._own, self._merged = Path(partition.checkpoint, _LEARNED), Path(folder, _MERGED)
        self._published: Any = None
        self._installed: tuple[int, int] | None = None
        self._ending = threading.Event()
        self.install()
        self._thread = threading.Thread(target=self._run, name="anystream: models", daemon=True)
        self._thread.start()

    def publish(self) -> None:
        """Write what was learned, if there is something new."""
        model = self._learner.learned_model()
        if model is None:
            self._own.unlink(missing_ok=True)  # of a worker that was killed before its first checkpoint
        elif model is not self._published:
            model.save(self._own)
            self._published = model

    def install(self) -> None:
        """Answer with the merged model, if there is a new one."""
        try:
            found = self._merged.stat()
        except FileNotFoundError:
            return
        if (found.st_ino, found.st_mtime_ns) != self._installed:
            model = load(self._merged)
            self._prepare(model)
            self._learner.install(model)
            self._installed = found.st_ino, found.st_mtime_ns

    def close(self) -> None:
        """Write what was learned last; the engine has ended."""
        self._ending.set()
        self._thread.join()
        self.publish()

    def _run(self) -> None:
        while not self._ending.wait(self._every_s):
            self.publish()
            self.install()


class ModelRounds:
    """Merges what the partitions have learned, at an interval, in a thread of the supervisor.

    Parameters
    ----------
    model : path
        The model that the run began with.
    partitions : sequence of Partition
        All partitions; models are merged in their order.
    folder : path
        Where the merged model is written.
    every_s : float
        Seconds between two merges.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        partitions: Sequence[Partition],
        folder: str | os.PathLike[str],
        every_s: float,
    ) -> None:
        if not every_s > 0.0:
            raise ValueError(f"models are merged every {every_s} s; use a positive number of seconds")
        self._base = load(model)
        check_can_share(self._base)
        self._paths = [Path(partition.checkpoint, _LEARNED) for partition in partitions]
        self._merged, self._every_s = Path(folder, _MERGED), every_s
        self._seen: list[tuple[int, int]] = []
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._next_s = time.monotonic() + every_s
        self.n_rounds = 0

    def each_turn(self) -> None:
        """Begin to merge, if it is time; raise the error of the last merge."""
        if self._error is not None:
            raise self._error
        if time.monotonic() >= self._next_s and (self._thread is None or not self._thread.is_alive()):
            self._next_s = time.monotonic() + self._every_s
            self._thread = threading.Thread(target=self._merge_quietly, name="anystream: merging", daemon=True)
            self._thread.start()

    def finish(self) -> Any:
        """Return the merge of everything that was learned."""
        if self._thread is not None:
            self._thread.join()
        return self._merge()

    def _merge(self) -> Any:
        learned = [load(path) for path in self._paths if path.exists()]
        return type(self._base).merge([self._base, *learned]) if learned else self._base

    def _merge_quietly(self) -> None:
        try:
            seen = [(stat.st_ino, stat.st_mtime_ns) for stat in (path.stat() for path in self._paths if path.exists())]
            if seen and seen != self._seen:
                self._merge().save(self._merged)
                self._seen = seen
                self.n_rounds += 1
        except FileNotFoundError:
            pass  # a worker has begun again; the next round has its model
        except BaseException as error:  # raised by `each_turn`
            self._error = error
