"""The engine: takes records, answers them by their deadlines, learns from labels, and loses nothing in silence."""

from __future__ import annotations

import gc
import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream._native import StopToken
from anystream.anytime.answer import Answer
from anystream.anytime.budget import Budget
from anystream.connectors.items import Items, Reject
from anystream.connectors.protocols import DeadLetters, LabelSource, Sink, Source
from anystream.runtime.checkpoint import CheckpointFolder, RunState
from anystream.runtime.clock import Clock, RealClock
from anystream.runtime.label_desk import LabelDesk
from anystream.runtime.learner import Learner, LearnsBetween, LearnsNothing
from anystream.runtime.outlet import Outlet
from anystream.runtime.queue import ItemQueue
from anystream.runtime.schedulers.deadline_share import DeadlineShare
from anystream.runtime.schedulers.protocol import Plan, Scheduler, Situation
from anystream.runtime.step_cost import StepCost
from anystream.runtime.summary import Summary

_IDLE_S = 0.02  # longest wait for a source before the engine looks around again
_POLL = 8192  # most records taken at a time where the source waits for us
_LABELS = 4096  # most labels taken at a time
_WARM_UP = ((1, 0), (1, 0), (64, 0), (64, 8), (256, 0), (256, 8))  # records and steps of questions before the first
_SHOWN = 500  # characters of a record that the dead letters keep
_RATE_S = 1.0  # the rate of arrivals is an average over about this time


@dataclass(frozen=True, slots=True)
class Turn:
    """What happened in one turn of the engine, for whoever watches."""

    now: float
    queue_length: int
    rate: float
    batch: int
    steps: int | None
    summary: Summary


class _Spent(NamedTuple):
    """What answers took of a model."""

    calls: int
    records: int
    steps: int


class Engine:
    """Answers the records of a source by their deadlines.

    Parameters
    ----------
    model : anytime classifier or Learner
        What answers. A classifier stays as it is; `LearnsBeside` and `LearnsBetween` learn from labels.
    source : Source
        Where records come from.
    sink : Sink
        Where answers go.
    scheduler : Scheduler, optional
        Who is answered next and with how many steps; by default `DeadlineShare`.
    within : float, optional
        Seconds from arrival in which an answer is due, for records that carry no deadline of their own.
    queue : ItemQueue, optional
        Where records wait; it has the overflow policy.
    dead_letters : DeadLetters, optional
        Where records go that cannot be answered. Without it they are only counted.
    labels : LabelSource, optional
        Labels that come later, by key. Labels that a record carries itself are learned after its answer.
    desk : LabelDesk, optional
        Where they meet their records.
    checkpoint : CheckpointFolder, optional
        Where the run is kept, and how often.
    clock : Clock, optional
        The time; a simulated one for tests and simulations.
    batch_s : float, default=0.004
        Seconds that a batch should take: the grain in which the engine reacts.
    most_records : int, default=16384
        Most records of a batch.
    strict : bool, default=False
        Raise `BadRecord` at the first record that cannot be read, instead of going on.
    observer : callable, optional
        Called with a `Turn` after every turn.

    Notes
    -----
    A turn: take what is ready; take labels; answer one batch, in one native call on all cores; learn; make a checkpoint
    if one is due; flush. What a batch costs is learned from the batches before, per model and machine, and covers all
    of the turn; a deadline holds even if the estimate is wrong, because native code looks at the clock itself.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from anystream import BayesTreeClassifier
    >>> from anystream.connectors.memory import MemorySink, MemorySource
    >>> X, y = load_iris(return_X_y=True)
    >>> sink = MemorySink()
    >>> engine = Engine(BayesTreeClassifier().fit(X[::2], y[::2]), MemorySource(X[1::2], y[1::2]), sink, within=5.0)
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
        within: float | None = None,
        queue: ItemQueue | None = None,
        dead_letters: DeadLetters | None = None,
        labels: LabelSource | None = None,
        desk: LabelDesk | None = None,
        checkpoint: CheckpointFolder | None = None,
        clock: Clock | None = None,
        batch_s: float = 0.004,
        most_records: int = 16_384,
        strict: bool = False,
        observer: Callable[[Turn], None] | None = None,
    ) -> None:
        if within is not None and not within > 0.0:
            raise ValueError(f"within is {within}; use a positive number of seconds")
        if not batch_s > 0.0 or most_records < 1:
            raise ValueError(f"batch_s is {batch_s} and most_records {most_records}; both must be positive")
        self.learner: Learner = LearnsNothing(model) if hasattr(model, "classify") else model
        self.source = source
        self.scheduler: Scheduler = DeadlineShare() if scheduler is None else scheduler
        self.queue = ItemQueue() if queue is None else queue
        self.labels = labels
        self.checkpoint = checkpoint
        self.clock: Clock = RealClock() if clock is None else clock
        self.cost = StepCost()
        self.summary = Summary()
        self._within = math.inf if within is None else within
        self._batch_s = batch_s
        self._most_records = most_records
        self._observer = observer
        self._outlet = Outlet(sink, dead_letters, self.learner, desk, labels is not None, strict=strict)
        self._stopping = False
        self._stop_now = StopToken()
        self._sequence = 0
        self._surplus_s = 0.0  # of this turn, for answers to what did not fit the queue
        self._rate = self._rate_sum = self._rate_weight = 0.0
        self._polled_at: float | None = None
        self._read_to = -1  # records of an earlier run before this offset are done, except the unfinished ones
        self._unfinished: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    # -- from outside ------------------------------------------------------------------------------------------------

    def run(self) -> Summary:
        """Answer records until the source is done or `stop` is called; then all that was taken is answered and safe."""
        with _collector_at_rest():
            return self._run()

    def _run(self) -> Summary:
        self._warm_up()
        self._saved_at, self._saved_answers = self.clock.now(), self.summary.answered
        while not self._stopping and not self.source.done:
            self._turn()
        while len(self.queue):
            self._turn(ending=True)
        while self.labels is not None and self._take_labels():
            pass
        self.learner.close()
        self._outlet.flush(self.clock.now())
        if self.checkpoint is not None:
            self._save(self.checkpoint)
        else:
            self.source.acknowledge(self.source.offset)
        return self.summary

    def stop(self) -> None:
        """Take no more records; `run` answers those that it has, briefly, and returns. Any thread may call this."""
        self._stopping = True
        self._stop_now.set()

    def watch(self, observer: Callable[[Turn], None]) -> None:
        """Call `observer` after every turn, instead of the one given at the start."""
        self._observer = observer

    def resume(self, state: RunState) -> None:
        """Go on with a run that a checkpoint kept; the model of the engine must be that of `state`."""
        self.source.seek(state.resume_at)
        if self.labels is not None:
            self.labels.seek(state.label_offset)
        self._read_to = state.read_to
        self._unfinished = np.array(state.unfinished, dtype=np.int64)
        self.summary = Summary.restored(state.summary)
        self.summary.taken -= self.summary.waiting  # they are taken again
        self._outlet.resume(state)
        self.learner.submit(state.unlearned)
        if isinstance(self.learner, LearnsBetween):
            self.learner.restore(self.summary.answered)

    def _warm_up(self) -> None:
        """Ask questions that nobody waits for: the first costs more than any other, and all say what work costs."""
        model = self.learner.model
        if not hasattr(model, "n_features_in_"):
            return
        found = []
        for n, steps in _WARM_UP:
            began = self.clock.now()
            answer = model.classify(np.zeros((n, model.n_features_in_)), budget=Budget(steps=steps))
            found.append((n, int(answer.steps.sum()), max(self.clock.now() - began, 1e-9)))
        self.cost = StepCost.fitted(found[1:])

    # -- one turn ----------------------------------------------------------------------------------------------------

    def _turn(self, *, ending: bool = False) -> None:
        began = self.clock.now()
        self._surplus_s = 0.0
        took = 0 if ending else self._take_records(began)
        if self.labels is not None:
            took += self._take_labels()
        plan, batch = self._work(began, ending=ending or self.source.done)
        self.learner.turn(self.summary.answered)
        if self.checkpoint is not None and self.checkpoint.is_due(
            self.summary.answered - self._saved_answers, self.clock.now() - self._saved_at
        ):
            self._save(self.checkpoint)
        now = self.clock.now()
        idle = took == 0 and batch == 0
        self._outlet.flush_if_due(now, idle=idle)
        if self._observer is not None:
            steps = None if plan is None else plan.steps
            self._observer(Turn(now, len(self.queue), self._rate, batch, steps, self.summary))
        if idle and not self.source.done:
            self.source.wait(_IDLE_S)

    def _take_records(self, now: float) -> int:
        appetite = min(self.queue.room, _POLL) if self.queue.overflow == "block" else max(self.queue.capacity, _POLL)
        if appetite < 1:
            return 0
        items, rejects = self.source.poll(appetite)
        if self._read_to >= 0:
            items, rejects = self._not_done_before(items, list(rejects))
        self._count_arrivals(len(items) + len(rejects), now)
        self.summary.taken += len(items) + len(rejects)
        self._outlet.reject(rejects, self.summary)
        if len(items) == 0:
            return len(rejects)
        infinite = np.asarray(np.isinf(items.features).any(axis=1))
        if infinite.any():
            reason = "a feature is infinite; use NaN for a missing value"
            self._outlet.reject(_as_rejects(items.take(infinite), reason), self.summary)
            items = items.take(~infinite)
        taken = len(items)
        self._admit(items, now)
        return taken + len(rejects)

    def _admit(self, items: Items, now: float) -> None:
        self.summary.labelled += int(np.count_nonzero(items.label != None))  # noqa: E711  element by element
        items.sequence = np.arange(self._sequence, self._sequence + len(items), dtype=np.int64)
        self._sequence += len(items)
        items.arrival = np.where(np.isnan(items.arrival), now, items.arrival)
        items.deadline = np.where(np.isnan(items.deadline), items.arrival + self._within, items.deadline)
        surplus = self.queue.push(items)
        if len(surplus) == 0:
            return
        if self.queue.overflow == "answer_now":
            began = self.clock.now()
            spent = self._answer_batch(surplus, 0, now, may_ask_again=False)
            self._surplus_s = self.clock.now() - began
            self.cost.update(spent.records, spent.steps, self._surplus_s, calls=spent.calls)
            return
        self.summary.shed += len(surplus)
        if self._outlet.dead is not None:  # giving up must be quick: it happens when there is no time
            reason = f"shed: the queue of {self.queue.capacity} was full ({self.queue.overflow})"
            self._outlet.give_up(_as_rejects(surplus, reason))

    def _take_labels(self) -> int:
        assert self.labels is not None
        pairs = self.labels.poll(_LABELS)
        self._outlet.labels_came(pairs)
        return len(pairs)

    def _work(self, began: float, *, ending: bool) -> tuple[Plan | None, int]:
        if len(self.queue) == 0:
            return None, 0
        plan = self.scheduler.plan(self._situation(began, ending))
        room = self.learner.room(self.summary.answered)
        batch = self.queue.take(plan.rows if room is None else plan.at_most(room))
        spent = self._answer_batch(batch, plan.steps, plan.until, may_ask_again=True)
        seconds = self.clock.now() - began - self._surplus_s
        self.cost.update(spent.records, spent.steps, seconds, calls=spent.calls)
        return plan, len(batch)

    def _situation(self, now: float, ending: bool) -> Situation:
        return Situation(self.queue, now, self.cost, self._batch_s, self._most_records, self._rate, ending)

    def _answer_batch(self, batch: Items, steps: int | None, until: float, *, may_ask_again: bool) -> _Spent:
        """Answer elements; what that took."""
        budget = Budget(steps=steps, until=None if until == math.inf else until, stop=self._stop_now)
        model = self.learner.model
        try:
            answer: Answer = model.classify(batch.features, budget=budget)
        except ValueError as error:
            if len(batch) == 1:
                self._outlet.reject(_as_rejects(batch, str(error)), self.summary)
                return _Spent(1, 1, 0)
            half = len(batch) // 2  # find the record that is to blame
            first = self._answer_batch(batch.take(slice(half)), steps, until, may_ask_again=False)
            second = self._answer_batch(batch.take(slice(half, None)), steps, until, may_ask_again=False)
            return _Spent(*map(operator.add, first, second))
        spent = _Spent(1, len(batch), int(answer.steps.sum()))
        now = self.clock.now()
        if may_ask_again:
            while not self._stopping and (again := self.scheduler.again(answer, now)) is not None:
                deeper: Answer = model.classify(batch.features[again.rows], budget=replace(budget, steps=again.steps))
                spent = _Spent(*map(operator.add, spent, (1, len(deeper), int(deeper.steps.sum()))))
                answer = _deepened(answer, again.rows, deeper)
                now = self.clock.now()
            self.scheduler.saw(batch, answer, now)
        self._outlet.answered(batch, answer, model.classes_, now, self.summary)
        return spent

    # -- keeping the run ---------------------------------------------------------------------------------------------

    def _save(self, checkpoint: CheckpointFolder) -> None:
        now = self.clock.now()
        self._outlet.flush(now)
        offsets = np.sort(self.queue.offsets())
        resume_at = int(offsets[0]) if len(offsets) else self.source.offset
        model, unlearned = self.learner.state()
        keys, rows, labels = self._outlet.desk.state()
        checkpoint.save(
            RunState(
                model=model,
                resume_at=resume_at,
                read_to=self.source.offset,
                unfinished=offsets.tolist(),
                sink_position=self._outlet.sink.position(),
                dead_position=0 if self._outlet.dead is None else self._outlet.dead.position(),
                label_offset=0 if self.labels is None else self.labels.offset,
                summary=self.summary.state(),
                unlearned=unlearned,
                waiting_keys=keys,
                waiting_rows=rows,
                waiting_labels=labels,
            )
        )
        self.source.acknowledge(resume_at)
        self._saved_at, self._saved_answers = self.clock.now(), self.summary.answered

    def _not_done_before(self, items: Items, rejects: list[Reject]) -> tuple[Items, list[Reject]]:
        fresh = (items.offset >= self._read_to) | np.isin(items.offset, self._unfinished)
        if self.source.offset >= self._read_to and fresh.all():
            last, self._read_to = self._read_to, -1
            return items, [reject for reject in rejects if reject.offset >= last]
        return items.take(fresh), [reject for reject in rejects if reject.offset >= self._read_to]

    def _count_arrivals(self, n: int, now: float) -> None:
        if self._polled_at is not None and now > self._polled_at:
            passed = now - self._polled_at
            weight = -math.expm1(-passed / _RATE_S)
            self._rate_sum += weight * (n / passed - self._rate_sum)
            self._rate_weight += weight * (1.0 - self._rate_weight)
            self._rate = self._rate_sum / self._rate_weight  # an average from the first moment on
        self._polled_at = now


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Python's garbage collector does not walk over what is there already: with a large program that takes long."""
    ours = gc.get_freeze_count() == 0  # else somebody else has seen to it
    if ours:
        gc.freeze()
    try:
        yield
    finally:
        if ours:
            gc.unfreeze()


def _deepened(answer: Answer, rows: NDArray[np.int64], deeper: Answer) -> Answer:
    """An answer with some rows in its place, where these got at least as far: the clock may have ended them sooner."""
    further = deeper.steps >= answer.steps[rows]
    places = rows[further]
    labels, proba = answer.labels.copy(), answer.proba.copy()
    steps, certified = answer.steps.copy(), answer.certified.copy()
    labels[places], proba[places] = deeper.labels[further], deeper.proba[further]
    steps[places], certified[places] = deeper.steps[further], deeper.certified[further]
    return Answer(labels, proba, steps, certified, answer.elapsed + deeper.elapsed)


def _as_rejects(items: Items, reason: str) -> list[Reject]:
    return [
        Reject(reason, offset, None, key, str(x)[:_SHOWN])
        for offset, key, x in zip(items.offset.tolist(), items.key.tolist(), items.features.tolist(), strict=True)
    ]
