"""The supervisor: assigns partitions to workers, notices workers that die, and continues their partitions elsewhere."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from anystream.distributed.partitions import Partition
from anystream.distributed.worker import PartitionResult
from anystream.runtime.checkpoint import CheckpointInUseError
from anystream.runtime.summary import Summary

_WAIT_S = 0.1  # time after which the number of workers is looked at
_RETRY_S = 0.5  # time before a partition is tried again whose last worker is not quite dead
_MAX_NOT_STARTED = 10  # workers in a row that may end before they are ready
_MAX_ATTEMPTS = 5  # workers that one partition may cost without one more answer


class Ready(NamedTuple):
    """A worker has started."""


class Finished(NamedTuple):
    """A worker has finished a partition, or was stopped in it."""

    result: PartitionResult


class Failed(NamedTuple):
    """A partition raised an error; `again` if it may be over soon."""

    error: BaseException
    again: bool


class Ended(NamedTuple):
    """A worker is dead."""

    reason: str


WorkerEvent = Ready | Finished | Failed | Ended


def describe_failure(error: BaseException) -> Failed:
    """Return the event of an error: a file system may recover, and a dead worker releases its checkpoints soon."""
    again = isinstance(error, CheckpointInUseError | OSError)
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # errors of other packages may not survive the way to the supervisor
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return Failed(error, again)


class Worker(Protocol):
    """A worker, as the supervisor knows it. No method blocks but `end`."""

    name: str

    def start(self, partition: Partition) -> None:
        """Begin with a partition; the worker is ready and idle."""

    def stop(self) -> None:
        """Stop the partition that runs, with a checkpoint."""

    def answered(self) -> int:
        """Return the number of answers of the partition, as far as it is known here."""

    def poll(self) -> WorkerEvent | None:
        """Return the next thing that has happened; None if nothing has."""

    def end(self) -> None:
        """Release the worker."""


class Workers(Protocol):
    """Where workers come from."""

    def add(self, name: str) -> Any:
        """Start a worker."""

    def wait(self, workers: Sequence[Any], seconds: float) -> None:
        """Return when a worker may have something to tell, and after `seconds` at the latest."""


class PartitionError(RuntimeError):
    """A partition cannot be continued; the message names it."""


@dataclass(slots=True)
class RunReport:
    """What became of a partitioned stream.

    Parameters
    ----------
    summary : Summary
        Account of all partitions together.
    results : dict of str to PartitionResult
        Last result of each partition that a worker has returned.
    finished : bool
        Whether all partitions have ended; False after `Supervisor.stop`.
    lost : int
        Number of workers that died.
    """

    summary: Summary = field(default_factory=Summary)
    results: dict[str, PartitionResult] = field(default_factory=dict)
    finished: bool = False
    lost: int = 0


@dataclass(slots=True, eq=False)
class _Member:
    """A worker, and what it does."""

    worker: Worker
    ready: bool = False
    leaving: bool = False
    partition: Partition | None = None


class Supervisor:
    """Runs partitions on workers.

    A worker has one partition at a time; when it is finished, the worker gets the next. The partition of a worker that
    dies or is removed continues from its last checkpoint on another.

    Parameters
    ----------
    workers : Workers
        Where workers come from.
    partitions : sequence of Partition
        The partitions.
    n_workers : int
        Number of workers; `set_workers` changes it.
    each_turn : callable, optional
        Called with the supervisor about ten times per second.
    now : callable, optional
        The time in seconds.
    """

    def __init__(
        self,
        workers: Workers,
        partitions: Sequence[Partition],
        *,
        n_workers: int,
        each_turn: Callable[[Supervisor], None] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        if len({partition.name for partition in partitions}) < len(partitions):
            raise ValueError("two partitions have the same name; give each its own")
        self._workers, self._each_turn, self._now = workers, each_turn, now
        self._waiting = deque(partitions)
        self._begun: set[str] = set()  # names of the partitions that a worker has had
        self._not_before: dict[str, float] = {}
        self._attempts: dict[str, int] = {}
        self._answered: dict[str, int] = {}  # most answers of a partition that are known
        self._members: list[_Member] = []
        self._n_unfinished = len(partitions)
        self._n_started = 0
        self._n_not_started = 0  # in a row
        self._stopping = False
        self.report = RunReport()
        self.set_workers(n_workers)

    @property
    def n_workers(self) -> int:
        """Number of workers that are wanted."""
        return self._n_workers

    @property
    def workers(self) -> list[Worker]:
        """The workers of now."""
        return [member.worker for member in self._members]

    @property
    def answered(self) -> int:
        """Number of records that are answered, as far as it is known here."""
        return sum(self._answered.values())

    def set_workers(self, n_workers: int) -> None:
        """Change the number of workers while they run; any thread may call this."""
        if n_workers < 1:
            raise ValueError(f"there are {n_workers} workers; use 1 or more")
        self._n_workers = n_workers

    def stop(self) -> None:
        """Stop all workers with a checkpoint; the next run continues from there. Any thread may call this."""
        self._stopping = True

    def run(self) -> RunReport:
        """Run all partitions to their end, or to `stop`."""
        try:
            while self._n_unfinished and not (self._stopping and not self._running()):
                self._match_number()
                self._assign()
                self._workers.wait([member.worker for member in self._members], _WAIT_S)
                for member in list(self._members):
                    self._look_at(member)
                if self._each_turn is not None:
                    self._each_turn(self)
        except BaseException:
            self._stop_all()
            raise
        finally:
            for member in self._members:
                member.worker.end()
            self._members = []
        self.report.finished = self._n_unfinished == 0
        for name in sorted(self.report.results):
            self.report.summary.add(self.report.results[name].summary)
        return self.report

    # -- workers -----------------------------------------------------------------------------------------------------

    def _running(self) -> list[_Member]:
        return [member for member in self._members if member.partition is not None]

    def _match_number(self) -> None:
        """Start or stop workers; no more than there are unfinished partitions."""
        wanted = 0 if self._stopping else min(self._n_workers, self._n_unfinished)
        staying = [member for member in self._members if not member.leaving]
        for _ in range(wanted - len(staying)):
            self._n_started += 1
            self._members.append(_Member(self._workers.add(f"worker {self._n_started}")))
        for member in sorted(staying, key=lambda member: member.partition is not None)[: max(0, len(staying) - wanted)]:
            member.leaving = True
            if member.partition is not None:
                member.worker.stop()
        for member in [member for member in self._members if member.leaving and member.partition is None]:
            self._members.remove(member)
            member.worker.end()

    def _assign(self) -> None:
        idle = [member for member in self._members if member.ready and not member.leaving and member.partition is None]
        for member in idle:
            partition = self._next_partition()
            if partition is None:
                return
            member.partition = partition
            self._begun.add(partition.name)
            member.worker.start(partition)

    def _next_partition(self) -> Partition | None:
        now = self._now()
        for partition in self._waiting:
            if self._not_before.get(partition.name, 0.0) <= now:
                self._waiting.remove(partition)
                return partition
        return None

    # -- events ------------------------------------------------------------------------------------------------------

    def _look_at(self, member: _Member) -> None:
        while (event := member.worker.poll()) is not None:
            match event:
                case Ready():
                    member.ready, self._n_not_started = True, 0
                case Finished(result):
                    self._take_result(member, result)
                case Failed(error, again):
                    self._take_failure(member, error, again=again)
                case Ended(reason):
                    self._take_end(member, reason)
                    return
        if member.partition is not None:
            self._note_answered(member.partition.name, member.worker.answered())

    def _take_result(self, member: _Member, result: PartitionResult) -> None:
        partition, member.partition = member.partition, None
        assert partition is not None  # it had one
        self.report.results[partition.name] = result
        self._note_answered(partition.name, result.summary.answered)
        if result.finished:
            self._n_unfinished -= 1
            if partition.is_member:
                self._leave_out_members()
        else:
            self._waiting.appendleft(partition)

    def _leave_out_members(self) -> None:
        """Forget members of the group that were never started: there is nothing left for them."""
        spare = [waiting for waiting in self._waiting if waiting.is_member and waiting.name not in self._begun]
        for partition in spare:
            self._waiting.remove(partition)
        self._n_unfinished -= len(spare)

    def _take_failure(self, member: _Member, error: BaseException, *, again: bool) -> None:
        partition, member.partition = member.partition, None
        assert partition is not None  # it had one
        self._count_attempt(partition, str(error), again=again, error=error)
        self._not_before[partition.name] = self._now() + _RETRY_S * 2 ** self._attempts[partition.name]
        self._waiting.appendleft(partition)

    def _take_end(self, member: _Member, reason: str) -> None:
        self._members.remove(member)
        member.worker.end()
        if member.leaving and member.partition is None:
            return
        self.report.lost += 1
        if not member.ready:
            self._n_not_started += 1
            if self._n_not_started > _MAX_NOT_STARTED:
                raise PartitionError(f"{self._n_not_started} workers ended before they were ready: {reason}")
        if member.partition is not None:
            self._note_answered(member.partition.name, member.worker.answered())
            self._count_attempt(member.partition, f"{member.worker.name} is dead: {reason}", again=True)
            self._waiting.appendleft(member.partition)

    def _note_answered(self, name: str, answered: int) -> None:
        if answered > self._answered.get(name, 0):
            self._answered[name] = answered
            self._attempts[name] = 0

    def _count_attempt(
        self, partition: Partition, reason: str, *, again: bool, error: BaseException | None = None
    ) -> None:
        """Count a worker that a partition has cost; raise PartitionError if there is no hope."""
        self._attempts[partition.name] = self._attempts.get(partition.name, 0) + 1
        if not again or self._attempts[partition.name] > _MAX_ATTEMPTS:
            times = "" if not again else f" {self._attempts[partition.name]} times without one more answer"
            raise PartitionError(f"{partition.name} failed{times}: {reason}") from error

    def _stop_all(self) -> None:
        """Let the other partitions save their checkpoints."""
        for member in self._running():
            member.worker.stop()
        until = self._now() + 10.0
        while self._running() and self._now() < until:
            self._workers.wait([member.worker for member in self._members], _WAIT_S)
            for member in list(self._members):
                event = member.worker.poll()
                if isinstance(event, Finished | Failed | Ended):
                    member.partition = None
