"""Learning from labels while records are answered.

The model that learns and the model that answers are two: what answers is a *snapshot*, which never changes. After a
batch of labels was learned, a new snapshot takes its place in one assignment. So a batch of answers comes from one
state of the model, whole, and nobody waits for the learning::

    labels ->  submitted  ->  partial_fit on the learner's model  ->  snapshot  ->  answers
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

LabelledRow = tuple[NDArray[np.float64], Any]


class LearnerState(NamedTuple):
    """A model and the labelled records that were submitted but are not in it."""

    model: Any
    rows: list[LabelledRow]


class Learner(Protocol):
    """What the engine asks of whoever keeps the model."""

    @property
    def model(self) -> Any:
        """What answers: it does not change while it is held."""

    @property
    def learned(self) -> int:
        """Labels learned so far."""

    def room(self, answered: int) -> int | None:
        """Records that may be answered before the model learns again, if that is fixed."""

    def submit(self, rows: Sequence[LabelledRow]) -> None:
        """Labelled records to learn."""

    def turn(self, answered: int, *, ending: bool = False) -> None:
        """The engine has a moment: `answered` records are out by now."""

    def state(self) -> LearnerState:
        """What a checkpoint has to keep."""

    def close(self) -> None:
        """Learn what was submitted, and end."""


class LearnsNothing:
    """A model that stays as it is.

    Parameters
    ----------
    model : anytime classifier
        What answers.
    """

    learned = 0

    def __init__(self, model: Any) -> None:
        self.model = model

    def room(self, answered: int) -> int | None:
        """No limit."""
        return None

    def submit(self, rows: Sequence[LabelledRow]) -> None:
        """Labels are of no use here."""

    def turn(self, answered: int, *, ending: bool = False) -> None:
        """Nothing to do."""

    def state(self) -> LearnerState:
        """The model."""
        return LearnerState(self.model, [])

    def close(self) -> None:
        """Nothing to do."""


class LearnsBetween:
    """Learning between batches, after every so many answers: the same records in, the same answers out.

    Answers wait while it learns. For runs that must be repeatable: tests, simulations, prequential evaluation.

    Parameters
    ----------
    model : anytime classifier with `partial_fit`
        It is changed.
    every : int, default=256
        Records that are answered between two times of learning.
    """

    def __init__(self, model: Any, *, every: int = 256) -> None:
        if every < 1:
            raise ValueError(f"every is {every}; learn after one record or more")
        self.model = model
        self.every = every
        self.learned = 0
        self._rows: list[LabelledRow] = []
        self._due = every

    def room(self, answered: int) -> int | None:
        """Records until the next multiple of `every`."""
        return self.every - answered % self.every

    def submit(self, rows: Sequence[LabelledRow]) -> None:
        """Keep them until the next turn."""
        self._rows.extend(rows)

    def turn(self, answered: int, *, ending: bool = False) -> None:
        """Learn if it is time."""
        if answered >= self._due or ending:
            self._due = answered + self.room(answered)  # type: ignore[operator]  # here it is always a number
            self._learn()

    def state(self) -> LearnerState:
        """The model and what is not yet in it."""
        return LearnerState(self.model, list(self._rows))

    def restore(self, answered: int) -> None:
        """Go on where a run had answered so many records."""
        self._due = answered + self.room(answered)  # type: ignore[operator]  # here it is always a number

    def close(self) -> None:
        """Learn the rest."""
        self._learn()

    def _learn(self) -> None:
        if self._rows:
            _partial_fit(self.model, self._rows)
            self.learned += len(self._rows)
            self._rows = []


class LearnsBeside:
    """Learning in a thread of its own, while answers come from the last snapshot.

    Parameters
    ----------
    model : anytime classifier with `partial_fit` and `snapshot`
        It is changed, in the other thread: leave it alone until `close`.
    share : float, default=0.25
        Part of the time that learning may take; the labels that come meanwhile are learned together.

    Notes
    -----
    A snapshot shares the memory of the model; the next `partial_fit` copies what it changes first (for the Bayes
    tree, the whole tree), so learning more labels at a time is cheaper, and `share` keeps the copying in bounds.
    """

    def __init__(self, model: Any, *, share: float = 0.25) -> None:
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share is {share}; use a part of the time, above 0 and up to 1")
        self._learning = model
        self._published = model.snapshot()
        self._share = share
        self._lock = threading.Lock()  # over what is published and what waits, which a checkpoint reads together
        self._wake = threading.Event()
        self._rows: list[LabelledRow] = []  # not in the published model
        self._closing = False
        self._error: BaseException | None = None
        self.learned = 0
        self._thread = threading.Thread(target=self._work, name="anystream: learning", daemon=True)
        self._thread.start()

    @property
    def model(self) -> Any:
        """The last snapshot."""
        return self._published

    def room(self, answered: int) -> int | None:
        """No limit."""
        return None

    def submit(self, rows: Sequence[LabelledRow]) -> None:
        """Hand them over."""
        if rows:
            with self._lock:
                self._rows.extend(rows)
            self._wake.set()

    def turn(self, answered: int, *, ending: bool = False) -> None:
        """Pass on what went wrong in the other thread."""
        if self._error is not None:
            raise self._error

    def state(self) -> LearnerState:
        """The last snapshot and what is not in it."""
        with self._lock:
            return LearnerState(self._published, list(self._rows))

    def close(self) -> None:
        """Learn the rest and end the thread."""
        self._closing = True
        self._wake.set()
        self._thread.join()
        self.turn(0)

    def _work(self) -> None:
        try:
            while True:
                self._wake.wait()
                self._wake.clear()
                with self._lock:
                    rows = list(self._rows)
                if rows:
                    self._learn(rows)
                if self._closing and not self._rows:
                    return
                if self._closing or self._rows:
                    self._wake.set()
        except BaseException as error:  # carried to the engine, whatever it is
            self._error = error

    def _learn(self, rows: list[LabelledRow]) -> None:
        started = time.monotonic()
        _partial_fit(self._learning, rows)
        snapshot = self._learning.snapshot()
        with self._lock:
            self._published = snapshot
            del self._rows[: len(rows)]
            self.learned += len(rows)
        if not self._closing:
            pause = (time.monotonic() - started) * (1.0 / self._share - 1.0)
            _sleep_unless(lambda: self._closing, pause)


def _sleep_unless(closing: Any, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not closing() and (left := until - time.monotonic()) > 0.0:
        time.sleep(min(left, 0.02))


def _partial_fit(model: Any, rows: Sequence[LabelledRow]) -> None:
    model.partial_fit(np.array([x for x, _ in rows]), np.array([label for _, label in rows]))
