"""The engine: takes records, classifies them by their deadlines, learns from labels and accounts for every record."""

from __future__ import annotations

import gc
import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream._native import StopToken
from anystream.runtime.acknowledgement import Acknowledgement
from anystream.runtime.batch_classifier import BatchClassifier
from anystream.runtime.checkpoint import BEGIN_ANEW, CheckpointError, CheckpointFolder
from anystream.runtime.checkpoint_writer import CheckpointWriter
from anystream.runtime.clock import Clock, RealClock
from anystream.runtime.contracts import DeadLetters, LabelSource, Sink, Source, is_append_only, is_broker
from anystream.runtime.delivery import Delivery
from anystream.runtime.freed_memory import keep_freed_memory
from anystream.runtime.intake import Intake
from anystream.runtime.label_intake import LabelIntake
from anystream.runtime.label_matcher import LabelMatcher
from anystream.runtime.learner import FrozenModel, Learner
from anystream.runtime.queue import RecordQueue
from anystream.runtime.record_checks import MAX_TEXT, RecordChecks
from anystream.runtime.records import Records
from anystream.runtime.run_state import RunState
from anystream.runtime.schedulers.contract import BatchPlan, Scheduler, SchedulerContext
from anystream.runtime.schedulers.deadline_share import DeadlineShare
from anystream.runtime.step_cost import StepCost
from anystream.runtime.summary import Summary
from anystream.runtime.warm_up import measure_step_cost

_READ_SHARE = 0.25  # fraction of a deadline for the records that are read ahead of it, at all their steps
_MAX_READ = 4.0  # a turn that takes more than this many times what arrives in `batch_s` reads what a stall has left
_UNLIMITED_STEPS = 100  # steps that a record is expected to take where the scheduler has no maximum
_MAX_IDLE_S = 0.02  # maximum time that an idle engine waits for its source before it looks for labels and `stop` again


@dataclass(frozen=True, slots=True)
class Turn:
    """What happened in one turn of the engine, for an observer.

    Parameters
    ----------
    now : float
        The end of the turn, in seconds on the engine's clock.
    queue_length : int
        Records that wait.
    arrivals_per_s : float
        Rate of arrivals.
    batch_size : int
        Records in the batch of this turn.
    steps : int or None
        Steps per record that the scheduler planned; None without a limit or without a batch.
    summary : Summary
        The account so far; it changes in the next turn.
    """

    now: float
    queue_length: int
    arrivals_per_s: float
    batch_size: int
    steps: int | None
    summary: Summary


class Engine:
    """Classifies the records of a source by their deadlines.

    Parameters
    ----------
    model : anytime classifier or Learner
        The classifier. A `BackgroundLearner` or `InlineLearner` around it learns from labels; a plain classifier does
        not change.
    source : Source
        Where records come from.
    sink : Sink
        Where answers go.
    scheduler : Scheduler, optional
        Decides which records are classified next and with how many steps; by default `DeadlineShare`.
    within_s : float, optional
        Seconds from arrival to the deadline, for records that carry no deadline of their own.
    queue : RecordQueue, optional
        Where records wait; it has the overflow policy.
    dead_letters : DeadLetters, optional
        Where records go that cannot be read or classified. Without it they are only counted.
    labels : LabelSource, optional
        Labels that come later, by key. Labels that a record carries itself are learned after its answer.
    matcher : LabelMatcher, optional
        Where records and later labels wait for each other.
    checkpoint : CheckpointFolder, optional
        Where the state of the run is saved, and how often.
    clock : Clock, optional
        The time; a simulated one for tests and simulations.
    batch_s : float, default=0.004
        Seconds that a batch should take: the engine reacts to new records at this interval.
    max_records : int, default=16384
        Maximum number of records in a batch.
    max_text : int, default=1000
        Maximum number of characters in a key or label; a record with a longer one is rejected.
    strict : bool, default=False
        Raise `BadRecordError` at the first record that cannot be read or classified, or label record that cannot be
        read, instead of continuing with the next.
    observer : callable, optional
        Called with a `Turn` after every turn.

    Notes
    -----
    In a turn the engine takes the records and labels that are ready, classifies one batch in one native call on all
    cores, lets the model learn, saves a checkpoint if one is due, and flushes. The cost of a batch is estimated from
    the batches before it, per model and machine, and includes the whole turn. A batch ends by its deadline even if the
    estimate is wrong, because native code reads the clock itself.

    With the first run the process keeps up to 64 MB of memory that batches have freed, for the next ones (glibc).

    A record is rejected if it is malformed or if the model raises `RecordError` for it. Any other error of the model
    stops the run and is raised by `run`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from anystream import BayesTreeClassifier
    >>> from anystream.connectors.memory import MemorySink, MemorySource
    >>> X, y = load_iris(return_X_y=True)
    >>> sink = MemorySink()
    >>> engine = Engine(BayesTreeClassifier().fit(X[::2], y[::2]), MemorySource(X[1::2], y[1::2]), sink, within_s=5.0)
    >>> summary = engine.run()
    >>> summary.answered, summary.on_time, len(sink)
    (75, 75, 75)
    """

    def __init__(
        self,
        model: Any,
        source: Source,
        sink: Sink,
        *,
        scheduler: Scheduler | None = None,
        within_s: float | None = None,
        queue: RecordQueue | None = None,
        dead_letters: DeadLetters | None = None,
        labels: LabelSource | None = None,
        matcher: LabelMatcher | None = None,
        checkpoint: CheckpointFolder | None = None,
        clock: Clock | None = None,
        batch_s: float = 0.004,
        max_records: int = 16_384,
        max_text: int = MAX_TEXT,
        strict: bool = False,
        observer: Callable[[Turn], None] | None = None,
    ) -> None:
        if within_s is not None and not within_s > 0.0:
            raise ValueError(f"within_s is {within_s}; use a positive number of seconds")
        if not batch_s > 0.0 or max_records < 1:
            raise ValueError(f"batch_s is {batch_s} and max_records {max_records}; both must be positive")
        self.learner: Learner = FrozenModel(model) if hasattr(model, "classify") else model
        if labels is not None and not self.learner.learns:
            raise ValueError("labels are given, but the model does not learn; wrap it in BackgroundLearner(model)")
        self.source = source
        self.scheduler: Scheduler = DeadlineShare() if scheduler is None else scheduler
        self.queue = RecordQueue() if queue is None else queue
        self.labels = labels
        self.matcher = LabelMatcher() if matcher is None else matcher
        self.checkpoint = checkpoint
        self.clock: Clock = RealClock() if clock is None else clock
        self.cost = StepCost()
        self.summary = Summary()
        self._within_s = within_s
        self._batch_s = batch_s
        self._max_records = max_records
        self._observer = observer
        self._stop = StopToken()
        self._withdrawn: deque[NDArray[np.int64]] = deque()  # offsets of records to remove from the queue
        self._acknowledgement = None
        if is_broker(source):
            at_flush = checkpoint is None or is_append_only(sink)
            self._acknowledgement = Acknowledgement(source, at_flush=at_flush)
            source.before_revoke(self._finish_before_revoke)
        self._delivery = Delivery(
            sink, dead_letters, self.summary, strict=strict, acknowledgement=self._acknowledgement
        )
        self.learner.report_to(self._delivery.reject_unlearned)
        checks = RecordChecks.from_model(self.learner.model, learns=self.learner.learns, max_text=max_text)
        self._label_intake = LabelIntake(labels, self.matcher, checks, self.learner, self._delivery, self.summary)
        self._intake = Intake(
            source,
            self.queue,
            checks,
            self._delivery,
            self.learner,
            self.summary,
            within_s=math.inf if within_s is None else within_s,
            clock=self.clock,
        )
        self._classifier = BatchClassifier(
            self.learner, self.scheduler, self._delivery, self._label_intake, self.clock, self._stop
        )
        self._writer = None if checkpoint is None else CheckpointWriter(checkpoint, self._delivery.sync)
        self._resumed = False
        self._saved_at, self._saved_answers = 0.0, 0
        nothing = np.empty(0, dtype=np.int64)
        self._in_checkpoint = (nothing, nothing)  # records and labels of a broker that the next checkpoint confirms

    # -- for callers -------------------------------------------------------------------------------------------------

    def run(self) -> Summary:
        """Classify records until the source is done or `stop` is called.

        On return every record that was taken is finished and its answer flushed. With a checkpoint folder, the last
        checkpoint is saved then, also after `stop`; ``summary.checkpoint_error`` tells if that failed.
        """
        with self._locked_checkpoints(), _frozen_garbage_collector():
            keep_freed_memory()
            if self._resumed:
                self._save_first()
            self.cost = measure_step_cost(self.learner.model, self.clock)
            self._saved_at, self._saved_answers = self.clock.now(), self.summary.answered
            while not self._stop.is_set() and not self.source.done:
                self._turn()
            self._intake.remove_revoked()
            while len(self.queue):
                self._turn(ending=True)
            if self.source.done:
                self._label_intake.finish()
            self.learner.close()
            self._delivery.flush(self.clock.now())
            if self._writer is None:
                self.source.acknowledge(self.source.offset)
                self._label_intake.acknowledge(self._label_intake.take_read())
            else:
                self._finish_checkpoint(wait=True)
                self._start_checkpoint(self._writer, complete=True)
                self._finish_checkpoint(wait=True)
            return self.summary

    def stop(self) -> None:
        """Take no more records; `run` classifies those that it has, briefly, and returns. Any thread may call this."""
        self._stop.set()

    def withdraw(self, offsets: ArrayLike) -> None:
        """Remove the records with these offsets from the queue, because nobody needs their answers any more.

        A record that is being classified already is delivered all the same. Any thread may call this.
        """
        self._withdrawn.append(np.asarray(offsets, dtype=np.int64))

    @property
    def last_line(self) -> int:
        """Number of the last line that was read; 0 if records have no lines."""
        return self._intake.last_line

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stop.is_set()

    def watch(self, observer: Callable[[Turn], None]) -> None:
        """Call `observer` after every turn, instead of the observer given to the constructor."""
        self._observer = observer

    def resume(self, state: RunState) -> None:
        """Continue a run from its checkpoint; the engine must have been made with the model of `state`.

        Raises
        ------
        CheckpointError
            When the inputs or outputs are not those of the run. Nothing that the run did not write is removed.
        """
        try:
            self.summary.restore(state.summary)
            self._intake.restore(state.intake)
            self._label_intake.restore(state.labels)
            self.matcher.restore(state.matcher)
            self.learner.restore(state.learner, self.summary.answered)
            self._delivery.restore(state.delivery)
        except ValueError as error:
            raise CheckpointError(f"{error}, or {BEGIN_ANEW}") from error
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
            raise CheckpointError(f"the checkpoint holds no state of a run ({error!r}); {BEGIN_ANEW}") from error
        self._resumed = True

    # -- one turn ----------------------------------------------------------------------------------------------------

    def _turn(self, *, ending: bool = False) -> None:
        began = self.clock.now()
        n_taken, evicted_s = (0, 0.0) if ending else self._take_records(began)
        backlog_s = self._backlog_share(n_taken) * (self.clock.now() - began - evicted_s)
        while self._withdrawn:
            self.summary.withdrawn += self.queue.remove(self._withdrawn.popleft())
        n_taken += self._label_intake.take()
        plan, batch_size = self._classify_batch(began, evicted_s + backlog_s)
        self.learner.update(self.summary.answered)
        self._save_if_due()
        now = self.clock.now()
        idle = n_taken == 0 and batch_size == 0
        self._delivery.flush_if_due(now, idle=idle)
        if self._writer is None:
            self._label_intake.acknowledge(self._label_intake.take_read())
        if self._observer is not None:
            steps = None if plan is None else plan.steps
            rate = self._intake.rate.per_s
            self._observer(Turn(now, len(self.queue), rate, batch_size, steps, self.summary))
        if idle and not self.source.done:
            self._intake.wait(_MAX_IDLE_S)

    def _take_records(self, now: float) -> tuple[int, float]:
        """Enqueue the records that are ready and finish those that the queue evicts.

        Return how many were ready, and the seconds that the model took for evicted ones.
        """
        n_taken, evicted_s = 0, 0.0
        for n_polled, evicted in self._intake.take(now, self._max_untimed()):
            n_taken += n_polled
            evicted_s += sum(self._finish_evicted(part, now) for part in evicted)
        return n_taken, evicted_s

    def _max_untimed(self) -> int:
        """Return how many records that have no arrival time may wait.

        Of a source that has them all ready, as many as can have all their steps in time; of another, where more may
        come than can be classified so well, as many as can be classified in time at all.
        """
        if self._within_s is None:
            return self._max_records
        steps = getattr(self.scheduler, "max_steps", None)
        steps = _UNLIMITED_STEPS if steps is None else steps
        each_s = self.cost.each_s(steps if getattr(self.source, "always_ready", False) else 0)
        return int(min(max(_READ_SHARE * self._within_s / each_s, 1.0), self._max_records))

    def _backlog_share(self, n_taken: int) -> float:
        """Return the share of the records taken that a turn of usual length would not have taken.

        A stall leaves them. Reading them is no cost of the next batch: batches would be planned as if each had it.
        """
        usual = max(self._intake.rate.per_s * self._batch_s, 1.0)
        return max(0.0, 1.0 - _MAX_READ * usual / max(n_taken, 1))

    def _finish_evicted(self, evicted: Records, now: float) -> float:
        """Answer or shed the records that the queue evicted; return the seconds that the model took.

        Records are classified at budget 0, but late ones only with the prior probabilities: others need the time.
        """
        if self.queue.overflow != "answer_now":
            self._delivery.shed(evicted, f"shed: the queue of {self.queue.capacity} was full ({self.queue.overflow})")
            return 0.0
        began = self.clock.now()
        is_late = evicted.deadline < now
        if is_late.all():
            self._classifier.classify_once(evicted, 0, now)
            return self.clock.now() - began
        if is_late.any():
            self._classifier.classify_once(evicted.take(is_late), 0, now)
        in_time = evicted.take(~is_late)
        called = self.clock.now()
        work = self._classifier.classify_once(in_time, 0, float(in_time.deadline.min()))
        work.measured_by(self.cost, self.clock.now() - called)
        return self.clock.now() - began

    def _classify_batch(self, began: float, other_s: float) -> tuple[BatchPlan | None, int]:
        """Classify the batch that the scheduler plans; its cost is the turn without `other_s` seconds."""
        if len(self.queue) == 0:
            return None, 0
        now = self.clock.now()
        plan = self.scheduler.plan(
            SchedulerContext(self.queue, now, self.cost, self._batch_s, self._max_records, self._intake.rate.per_s)
        )
        limit = self.learner.records_until_update(self.summary.answered)
        rows = plan.rows if limit is None else plan.first_rows(limit)
        if plan.until <= now and isinstance(rows, int):  # given up: no new memory for the features of all of them
            parts = self.queue.dequeue_parts(rows)
            for part in parts:
                self._classifier.classify_once(part, plan.steps, plan.until)
            return plan, sum(map(len, parts))
        batch = self.queue.dequeue(rows)
        work, unreached = self._classifier.classify_planned(batch, plan.steps, plan.until)
        if unreached is not None:
            self.queue.enqueue(unreached)
        work.measured_by(self.cost, self.clock.now() - began - other_s)
        return plan, len(batch)

    # -- checkpoints -------------------------------------------------------------------------------------------------

    @contextmanager
    def _locked_checkpoints(self) -> Iterator[None]:
        """Lock the checkpoint folder, if there is one, so that no other run uses it."""
        if self.checkpoint is not None:
            self.checkpoint.lock()
        try:
            yield
        finally:
            if self._writer is not None:
                self._writer.close()

    def _save_first(self) -> None:
        """Save a checkpoint before anything is written: what the outputs hold beyond it belongs to this run."""
        if self._writer is not None:
            self._start_checkpoint(self._writer)
            result = self._writer.finish(wait=True)
            if result is not None and result.error is not None:
                raise result.error

    def _save_if_due(self) -> None:
        if self.checkpoint is None or self._writer is None:
            return
        if self._writer.busy:
            self._finish_checkpoint(wait=False)
        elif self.checkpoint.is_due(self.summary.answered - self._saved_answers, self.clock.now() - self._saved_at):
            self._start_checkpoint(self._writer)

    def _start_checkpoint(self, writer: CheckpointWriter, *, complete: bool = False) -> None:
        """Capture the state of the run at this instant, and begin to save it; `complete` after the last answer."""
        self._saved_at, self._saved_answers = self.clock.now(), self.summary.answered
        model, learner = self.learner.state()
        delivery = self._delivery.state(complete=complete)  # flushes: what is finished is safe now
        intake = self._capture_intake()
        make_matcher_state = self.matcher.capture()
        state = RunState(
            model=model,
            intake=intake,
            labels=self._label_intake.state(self._in_checkpoint[1]),
            learner=learner,
            matcher={},
            delivery=delivery,
            summary=self.summary.state(),
        )
        writer.start(lambda: replace(state, matcher=make_matcher_state()), resume_at=intake.get("resume_at", 0))

    def _capture_intake(self) -> dict[str, Any]:
        """Return the state of the intake, and note which records and labels of a broker it calls finished."""
        finished, labels = np.empty(0, dtype=np.int64), self._label_intake.take_read()
        if self._acknowledgement is None:
            intake = self._intake.state()
        elif self._acknowledgement.at_flush:
            intake = self._intake.broker_state(None)
        else:
            finished = self._acknowledgement.take()
            intake = self._intake.broker_state(np.concatenate([self._in_checkpoint[0], finished]))
        kept_records, kept_labels = self._in_checkpoint  # not empty after a checkpoint that could not be saved
        self._in_checkpoint = np.concatenate([kept_records, finished]), np.concatenate([kept_labels, labels])
        return intake

    def _finish_before_revoke(self) -> None:
        """Acknowledge every finished record, because another consumer takes over what is not acknowledged."""
        self._delivery.flush(self.clock.now())
        if self._writer is not None and self._acknowledgement is not None and not self._acknowledgement.at_flush:
            self._finish_checkpoint(wait=True)
            self._start_checkpoint(self._writer)
            self._finish_checkpoint(wait=True)

    def _finish_checkpoint(self, *, wait: bool) -> None:
        """Acknowledge the records of a checkpoint that is on disk; report one that could not be saved."""
        assert self.checkpoint is not None
        assert self._writer is not None
        result = self._writer.finish(wait=wait)
        if result is None:
            return
        if result.error is None:
            self.summary.checkpoint_error = ""
            self.source.acknowledge(result.resume_at)
            records, labels = self._in_checkpoint
            self._in_checkpoint = records[:0], labels[:0]
            if is_broker(self.source) and len(records):
                self.source.acknowledge_records(records)
            self._label_intake.acknowledge(labels)
        else:
            self.summary.checkpoints_failed += 1
            self.summary.checkpoint_error = _describe_error(result.error)
            self.checkpoint.report(f"a checkpoint could not be saved: {self.summary.checkpoint_error}")


def _describe_error(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error) or repr(error)


@contextmanager
def _frozen_garbage_collector() -> Iterator[None]:
    """Exclude existing objects from Python's garbage collection: in a large program a collection takes long."""
    ours = gc.get_freeze_count() == 0  # else the program around the engine has done it
    if ours:
        gc.freeze()
    try:
        yield
    finally:
        if ours:
            gc.unfreeze()
