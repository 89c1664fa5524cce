"""Where a record ends: answered, shed or a dead letter, and its label with the learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer
from anystream.connectors.items import Items, Reject
from anystream.connectors.protocols import Answers, DeadLetters, Sink
from anystream.runtime.checkpoint import RunState
from anystream.runtime.label_desk import LabelDesk
from anystream.runtime.learner import Learner, LearnsNothing
from anystream.runtime.summary import Summary

_FLUSH_S = 0.05  # answers are flushed this often while the engine is busy, and whenever it is idle


class BadRecord(ValueError):  # noqa: N818  says it without the suffix
    """A record that cannot be read, in a run that was told to stop at such a one."""

    def __init__(self, reject: Reject) -> None:
        super().__init__(reject.described())
        self.reject = reject


class Outlet:
    """Writes answers and rejects, and hands labels to the learner.

    Parameters
    ----------
    sink, dead : Sink, DeadLetters or None
        Where they go.
    learner : Learner
        Who gets the labels.
    desk : LabelDesk, optional
        Where records wait for labels, if `labels_come`.
    labels_come : bool
        Whether labels may come after their records.
    strict : bool
        Raise at the first reject.
    """

    def __init__(
        self,
        sink: Sink,
        dead: DeadLetters | None,
        learner: Learner,
        desk: LabelDesk | None,
        labels_come: bool,
        *,
        strict: bool,
    ) -> None:
        self.sink = sink
        self.dead = dead
        self.desk = LabelDesk() if desk is None else desk
        self._learner = learner
        self._learns = not isinstance(learner, LearnsNothing)
        self._labels_come = labels_come
        self._strict = strict
        self._flushed_at = -np.inf
        self._unflushed = False

    # -- answers -----------------------------------------------------------------------------------------------------

    def answered(self, items: Items, answer: Answer, classes: NDArray[Any], now: float, summary: Summary) -> None:
        """These answers go out."""
        waited, late = now - items.arrival, now > items.deadline
        self.sink.write(
            Answers(items.key, answer.labels, answer.proba, classes, answer.steps, answer.certified, waited, late)
        )
        self._unflushed = True
        n_late = int(np.count_nonzero(late))
        summary.answered += len(items)
        summary.late += n_late
        summary.on_time += len(items) - n_late
        summary.steps += int(answer.steps.sum())
        summary.certified += int(np.count_nonzero(answer.certified))
        summary.add_waits(waited)
        known = items.label != None  # noqa: E711  element by element
        if known.any():
            right = known & (items.label == answer.labels)
            summary.judged += int(np.count_nonzero(known))
            summary.right += int(np.count_nonzero(right))
            summary.right_on_time += int(np.count_nonzero(right & ~late))
        if self._learns:
            if self._labels_come:
                self._learner.submit(self.desk.records(items))
            elif known.any():
                rows = np.flatnonzero(known)
                self._learner.submit([(items.features[row], items.label[row]) for row in rows])

    # -- labels and rejects ------------------------------------------------------------------------------------------

    def labels_came(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Labels for records of earlier or later."""
        if pairs and self._learns:
            self._learner.submit(self.desk.labels(pairs))

    def reject(self, rejects: Sequence[Reject], summary: Summary) -> None:
        """Records that could not be read or answered."""
        if not rejects:
            return
        if self._strict:
            raise BadRecord(rejects[0])
        summary.add_bad(rejects)
        self.give_up(rejects)

    def give_up(self, rejects: Sequence[Reject]) -> None:
        """Send records to the dead letters."""
        if self.dead is not None:
            self.dead.write(rejects)
            self._unflushed = True

    # -- keeping -----------------------------------------------------------------------------------------------------

    def flush_if_due(self, now: float, *, idle: bool) -> None:
        """Flush when the engine is idle, and now and then when it is not."""
        if self._unflushed and (idle or now - self._flushed_at >= _FLUSH_S):
            self.flush(now)

    def flush(self, now: float) -> None:
        """Make everything safe that was written."""
        self.sink.flush()
        if self.dead is not None:
            self.dead.flush()
        self._flushed_at, self._unflushed = now, False

    def resume(self, state: RunState) -> None:
        """Go on where a checkpoint was made."""
        self.sink.rewind(state.sink_position)
        if self.dead is not None:
            self.dead.rewind(state.dead_position)
        self.desk.restore(state.waiting_keys, state.waiting_rows, state.waiting_labels)
