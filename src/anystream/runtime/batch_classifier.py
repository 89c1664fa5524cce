"""Classification of one batch: a second round for some records, and a search for records that the model refuses."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream._native import StopToken
from anystream.anytime.answer import Answer
from anystream.anytime.budget import Budget
from anystream.anytime.errors import RecordError
from anystream.runtime.clock import Clock
from anystream.runtime.delivery import Delivery
from anystream.runtime.label_intake import LabelIntake
from anystream.runtime.learner import Learner
from anystream.runtime.records import Records
from anystream.runtime.schedulers.contract import Scheduler
from anystream.runtime.step_cost import StepCost


@dataclass(frozen=True, slots=True)
class Work:
    """What classifying cost: calls of the model, records and steps over all of them, and records that took a step."""

    calls: int
    records: int
    steps: int
    stepped: int

    def __add__(self, other: Work) -> Work:
        return Work(
            self.calls + other.calls,
            self.records + other.records,
            self.steps + other.steps,
            self.stepped + other.stepped,
        )

    def measured_by(self, cost: StepCost, seconds: float) -> None:
        """Correct the costs by the seconds that this work took."""
        cost.update(self.records, self.steps, seconds, calls=self.calls, stepped=self.stepped)


class BatchClassifier:
    """Classifies batches and delivers the answers.

    Only `RecordError` is an error about records: the batch is halved until the refused records are found, which are
    rejected, while the others are classified. Any other error of the model, such as that of a damaged model file, is
    raised and stops the run.

    Parameters
    ----------
    learner : Learner
        The owner of the model.
    scheduler : Scheduler
        Decides on second rounds, and observes the answers.
    delivery : Delivery
        Where answers and rejected records go.
    label_intake : LabelIntake
        Where classified records go next, to be learned.
    clock : Clock
        The time.
    stop : StopToken
        Ends the work at once when it is set.
    """

    def __init__(
        self,
        learner: Learner,
        scheduler: Scheduler,
        delivery: Delivery,
        label_intake: LabelIntake,
        clock: Clock,
        stop: StopToken,
    ) -> None:
        self._learner = learner
        self._scheduler = scheduler
        self._delivery = delivery
        self._label_intake = label_intake
        self._clock = clock
        self._stop = stop

    def classify_planned(self, batch: Records, steps: int | None, until: float) -> tuple[Work, Records | None]:
        """Classify a batch that the scheduler has planned, in as many rounds as the scheduler decides.

        Returns what it cost, and the records, if any, that `until` did not let the model reach and whose deadlines are
        not over yet. These are not answered; but all are if none was reached, so that every batch makes progress, and
        if `until` was over before, because the scheduler gave them up.
        """
        budget, model = self._budget(steps, until), self._learner.model
        has_time = until > self._clock.now()
        try:
            answer, work = _classify(model, batch.features, budget)
            now = self._clock.now()
            while not self._stop.is_set() and (more := self._scheduler.second_round(answer, now)) is not None:
                deeper, spent = _classify(model, batch.features[more.rows], replace(budget, steps=more.steps))
                answer, work = _merge_answers(answer, more.rows, deeper), work + spent
                now = self._clock.now()
        except RecordError as error:
            return self._classify_halves(batch, steps, until, error), None
        self._scheduler.observe(batch, answer, now)
        again = None
        if has_time and not answer.reached.all() and answer.reached.any() and not self._stop.is_set():
            unreached = np.flatnonzero(~answer.reached & (batch.deadline > now))
            if len(unreached) > 0:
                batch, answer, again = _split(batch, answer, unreached)
        self._learner.observe_classified(batch)
        self._label_intake.match(self._delivery.deliver(batch, answer, model.classes_, now))
        return work, again

    def classify_once(self, batch: Records, steps: int | None, until: float) -> Work:
        """Classify a batch in one round; the scheduler has no part in it."""
        model = self._learner.model
        try:
            answer, work = _classify(model, batch.features, self._budget(steps, until))
        except RecordError as error:
            return self._classify_halves(batch, steps, until, error)
        self._learner.observe_classified(batch)
        self._label_intake.match(self._delivery.deliver(batch, answer, model.classes_, self._clock.now()))
        return work

    def _classify_halves(self, batch: Records, steps: int | None, until: float, error: RecordError) -> Work:
        """Classify both halves of a refused batch; a single record is rejected."""
        if len(batch) == 1:
            self._delivery.reject(batch.reject(str(error)))
            return Work(calls=1, records=1, steps=0, stepped=0)
        half = len(batch) // 2
        first = self.classify_once(batch.take(slice(half)), steps, until)
        return first + self.classify_once(batch.take(slice(half, None)), steps, until)

    def _budget(self, steps: int | None, until: float) -> Budget:
        return Budget(steps=steps, until=None if until == math.inf else until, stop=self._stop)


def _classify(model: Any, features: NDArray[np.float64], budget: Budget) -> tuple[Answer, Work]:
    answer: Answer = model.classify(features, budget=budget)
    reached, stepped = (int(np.count_nonzero(each)) for each in (answer.reached, answer.steps))
    return answer, Work(calls=1, records=reached, steps=int(answer.steps.sum()), stepped=stepped)


def _split(batch: Records, answer: Answer, rows: NDArray[np.int64]) -> tuple[Records, Answer, Records]:
    """Return the records of a batch without some rows, their answers, and the records of these rows.

    Rows at the end, as a deadline leaves them, are not copied.
    """
    first = len(batch) - len(rows)
    if rows[0] == first:
        return batch.take(slice(first)), answer.take(slice(first)), batch.take(slice(first, None))
    others = np.ones(len(batch), dtype=np.bool_)
    others[rows] = False
    return batch.take(others), answer.take(others), batch.take(rows)


def _merge_answers(answer: Answer, rows: NDArray[np.int64], deeper: Answer) -> Answer:
    """Return an answer in which the second round replaces some rows, where it took at least as many steps.

    It may have taken fewer, if the clock ended it sooner.
    """
    further = deeper.reached & (deeper.steps >= answer.steps[rows])
    places = rows[further]
    labels, proba = answer.labels.copy(), answer.proba.copy()
    steps, certified, reached = answer.steps.copy(), answer.certified.copy(), answer.reached.copy()
    labels[places], proba[places] = deeper.labels[further], deeper.proba[further]
    steps[places], certified[places] = deeper.steps[further], deeper.certified[further]
    reached[places] = True
    confident = answer.confident.copy()
    confident[places] = deeper.confident[further]
    return Answer(labels, proba, steps, certified, answer.elapsed_s + deeper.elapsed_s, reached, confident=confident)
