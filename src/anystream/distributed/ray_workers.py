"""Workers as actors of Ray."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from anystream.distributed.partitions import Partition
from anystream.distributed.ray_connection import connect
from anystream.distributed.supervisor import Ended, Finished, Ready, WorkerEvent, describe_failure
from anystream.distributed.worker import Job, StreamWorker

_THREADS = 4  # of an actor: the partition that runs, and calls to it meanwhile


class RayWorker:
    """An actor with a worker. It is not restarted by Ray: the supervisor starts another one.

    Parameters
    ----------
    ray : module
        Ray, connected.
    actor : actor handle
        The actor.
    name : str
        Name for messages.
    """

    def __init__(self, ray: Any, actor: Any, name: str) -> None:
        self.name = name
        self._ray, self._actor = ray, actor
        self._ready: Any = actor.is_ready.remote()
        self._running: Any = None
        self._asked: Any = None
        self._name, self._answered = "", 0

    @property
    def references(self) -> list[Any]:
        """Results to wait for."""
        return [reference for reference in (self._ready, self._running) if reference is not None]

    def start(self, partition: Partition) -> None:
        """Begin with a partition."""
        self._name, self._answered = partition.name, 0
        self._running = self._actor.run.remote(partition)

    def stop(self) -> None:
        """Stop the partition that runs."""
        self._actor.stop.remote()

    def answered(self) -> int:
        """Return how many records were answered, as the actor told last; ask it again."""
        if self._asked is not None and self._is_done(self._asked):
            with suppress(self._ray.exceptions.RayError):  # a dead actor is noticed by `poll`
                name, answered = self._ray.get(self._asked)
                self._answered = answered if name == self._name else self._answered
            self._asked = None
        if self._asked is None and self._running is not None:
            self._asked = self._actor.progress.remote()
        return self._answered

    def poll(self) -> WorkerEvent | None:
        """Return what has happened."""
        for reference in self.references:
            if self._is_done(reference):
                return self._take(reference)
        return None

    def end(self) -> None:
        """Kill the actor; its partition, if it has one, was stopped or is lost."""
        with suppress(Exception):  # whatever Ray raises about an actor that is dead already
            self._ray.kill(self._actor)

    def _take(self, reference: Any) -> WorkerEvent:
        was_ready = reference is self._ready
        self._ready, self._running = (None, self._running) if was_ready else (self._ready, None)
        try:
            value = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            return describe_failure(cause)
        except self._ray.exceptions.RayError as error:
            return Ended(str(error).splitlines()[0])
        return Ready() if was_ready else Finished(value)

    def _is_done(self, reference: Any) -> bool:
        done, _ = self._ray.wait([reference], timeout=0, fetch_local=False)
        return bool(done)


class RayWorkers:
    """Starts workers on a cluster, spread over its nodes; each takes one CPU.

    Parameters
    ----------
    on : str
        See `connect`.
    job : Job
        How to open engines.
    """

    def __init__(self, on: str, job: Job) -> None:
        self._ray = connect(on)
        self._job = job
        self._actor = self._ray.remote(
            num_cpus=1, max_restarts=0, max_concurrency=_THREADS, scheduling_strategy="SPREAD"
        )(StreamWorker)

    def add(self, name: str) -> RayWorker:
        """Start a worker; it is ready when the cluster has a CPU for it."""
        return RayWorker(self._ray, self._actor.remote(self._job), name)

    def wait(self, workers: Sequence[RayWorker], seconds: float) -> None:
        """Return when a worker has something to tell, and after `seconds` at the latest."""
        references = [reference for worker in workers for reference in worker.references]
        if references:
            self._ray.wait(references, num_returns=1, timeout=seconds, fetch_local=False)
