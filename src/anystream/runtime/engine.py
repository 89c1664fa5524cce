"""The engine: takes records, classifies them by their deadlines, learns from labels and accounts for every record."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from anystream._native import StopToken
from anystream.runtime.batch_classifier import BatchClassifier
from anystream.runtime.checkpoint import BEGIN_ANEW, CheckpointError, CheckpointFolder
from anystream.runtime.checkpoint_writer import CheckpointWriter
from anystream.runtime.clock import Clock, RealClock
from anystream.runtime.contracts import DeadLetters, LabelSource, Sink, Source
from anystream.runtime.delivery import Delivery
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
        self._batch_s = batch_s
        self._max_records = max_records
        self._observer = observer
        self._stop = StopToken()
        self._delivery = Delivery(sink, dead_letters, self.summary, strict=strict)
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
        )
        self._classifier = BatchClassifier(
            self.learner, self.scheduler, self._delivery, self._label_intake, self.clock, self._stop
        )
        self._writer = None if checkpoint is None else CheckpointWriter(checkpoint, self._delivery.sync)
        self._resumed = False
        self._saved_at, self._saved_answers = 0.0, 0

    # -- for callers -------------------------------------------------------------------------------------------------

    def run(self) -> Summary:
        """Classify records until the source is done or `stop` is called.

        On return every record that was taken is finished and its answer flushed. With a checkpoint folder, the last
        checkpoint is saved then, also after `stop`; ``summary.checkpoint_error`` tells if that failed.
        """
        with self._locked_checkpoints(), _frozen_garbage_collector():
            if self._resumed:
                self._save_first()
            self.cost = measure_step_cost(self.learner.model, self.clock)
            self._saved_at, self._saved_answers = self.clock.now(), self.summary.answered
            while not self._stop.is_set() and not self.source.done:
                self._turn()
            while len(self.queue):
                self._turn(ending=True)
            if self.source.done:
                self._label_intake.finish()
            self.learner.close()
            self._delivery.flush(self.clock.now())
            if self._writer is None:
                self.source.acknowledge(self.source.offset)
            else:
                self._finish_checkpoint(wait=True)
                self._start_checkpoint(self._writer, complete=True)
                self._finish_checkpoint(wait=True)
            return self.summary

    def stop(self) -> None:
        """Take no more records; `run` classifies those that it has, briefly, and returns. Any thread may call this."""
        self._stop.set()

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
        n_taken, evicted = (0, Records.empty()) if ending else self._intake.take(began)
        evicted_s = self._finish_evicted(evicted, began) if len(evicted) else 0.0
        n_taken += self._label_intake.take()
        plan, batch_size = self._classify_batch(began, evicted_s)
        self.learner.update(self.summary.answered)
        self._save_if_due()
        now = self.clock.now()
        idle = n_taken == 0 and batch_size == 0
        self._delivery.flush_if_due(now, idle=idle)
        if self._observer is not None:
            steps = None if plan is None else plan.steps
            rate = self._intake.rate.per_s
            self._observer(Turn(now, len(self.queue), rate, batch_size, steps, self.summary))
        if idle and not self.source.done:
            self._intake.wait(_MAX_IDLE_S)

    def _finish_evicted(self, evicted: Records, now: float) -> float:
        """Classify at budget 0, or shed, the records that the queue evicted; return the seconds that the model took."""
        if self.queue.overflow != "answer_now":
            self._delivery.shed(evicted, f"shed: the queue of {self.queue.capacity} was full ({self.queue.overflow})")
            return 0.0
        began = self.clock.now()
        work = self._classifier.classify_once(evicted, 0, now)
        seconds = self.clock.now() - began
        self.cost.update(work.records, work.steps, seconds, calls=work.calls)
        return seconds

    def _classify_batch(self, began: float, evicted_s: float) -> tuple[BatchPlan | None, int]:
        """Classify the batch that the scheduler plans; its cost is the turn without evicted records."""
        if len(self.queue) == 0:
            return None, 0
        plan = self.scheduler.plan(
            SchedulerContext(self.queue, began, self.cost, self._batch_s, self._max_records, self._intake.rate.per_s)
        )
        limit = self.learner.records_until_update(self.summary.answered)
        batch = self.queue.dequeue(plan.rows if limit is None else plan.first_rows(limit))
        work = self._classifier.classify_planned(batch, plan.steps, plan.until)
        self.cost.update(work.records, work.steps, self.clock.now() - began - evicted_s, calls=work.calls)
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
        make_matcher_state = self.matcher.capture()
        state = RunState(
            model=model,
            intake=self._intake.state(),
            labels=self._label_intake.state(),
            learner=learner,
            matcher={},
            delivery=self._delivery.state(complete=complete),
            summary=self.summary.state(),
        )
        writer.start(lambda: replace(state, matcher=make_matcher_state()), resume_at=state.intake["resume_at"])

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
