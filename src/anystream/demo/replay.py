"""A bursty stream in real time: arrivals, a bounded queue, and two ways to spend the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer
from anystream.anytime.budget import Budget

SLOT_S = 0.05
BURST_SHARE = 0.2
BURST_FACTOR = 4.0
"""The rate changes every `SLOT_S` seconds; a fifth of the slots are bursts, with four times the rate of the others."""


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Records with the instants at which they arrive.

    Parameters
    ----------
    arrival_s : array of shape (n_arrivals,)
        Ascending, in seconds from the beginning.
    record : array of shape (n_arrivals,)
        Which row of `X` and `y` arrives.
    X, y : arrays of shape (n_records, n_features) and (n_records,)
        The records and their true classes.
    """

    arrival_s: NDArray[np.float64]
    record: NDArray[np.int64]
    X: NDArray[np.float64]
    y: NDArray[Any]

    def __len__(self) -> int:
        return len(self.arrival_s)


def bursty_stream(
    X: NDArray[np.float64], y: NDArray[Any], *, rate: float, seconds: float, rng: np.random.Generator
) -> Stream:
    """Poisson arrivals of the records, over and over, at `rate` a second on average and in bursts."""
    slots = max(1, round(seconds / SLOT_S))
    weight = np.where(rng.random(slots) < BURST_SHARE, BURST_FACTOR, 1.0)
    reached = np.concatenate([[0.0], np.cumsum(weight)]) / weight.sum()  # share of the arrivals by the end of each slot
    n_arrivals = rng.poisson(rate * seconds)
    arrival_s = np.interp(np.sort(rng.random(n_arrivals)), reached, np.linspace(0.0, seconds, slots + 1))
    rounds = [rng.permutation(len(X)) for _ in range(n_arrivals // len(X) + 1)]
    return Stream(arrival_s, np.concatenate(rounds)[:n_arrivals], X, y)


class Policy(Protocol):
    """Decides about the queue: whom to give up, whom to answer next, and at what budget."""

    def __call__(self, left_s: NDArray[np.float64]) -> tuple[int, int, Budget]:
        """How many to give up from the front, how many to answer after them, and the budget of that batch.

        Parameters
        ----------
        left_s : array of shape (n_queued,)
            Seconds to the deadline of each record in the queue, ascending.
        """


@dataclass(frozen=True, slots=True)
class DeadlineShare:
    """Everyone in the queue gets an equal share of the time to the earliest deadline.

    Half of that time, to be exact: the other half is for those who arrive meanwhile. A batch then takes half a
    deadline D at most, so nobody has waited longer than D/2 when the next one begins, and that one takes half of what
    is left: every answer is there after 3/4 D.
    """

    most_steps: int

    def __call__(self, left_s: NDArray[np.float64]) -> tuple[int, int, Budget]:
        """Give up those whose deadline has passed, and answer all others."""
        late = int(np.searchsorted(left_s, 0.0, side="right"))
        waiting = len(left_s) - late
        seconds = float(left_s[late]) / 2 if waiting else 0.0
        return late, waiting, Budget(steps=self.most_steps, seconds=seconds)


@dataclass(frozen=True, slots=True)
class FixedSteps:
    """Everyone gets the same number of steps, in batches of the order of arrival.

    To be fair to it: no work goes to a record whose deadline is nearer than four times what a batch takes.
    """

    steps: int
    batch_size: int
    seconds_per_record: float

    def __call__(self, left_s: NDArray[np.float64]) -> tuple[int, int, Budget]:
        """Give up those who would be late, and answer the first of the others."""
        batch_s = min(self.batch_size, len(left_s)) * self.seconds_per_record
        lost = int(np.searchsorted(left_s, 4 * batch_s))
        return lost, min(self.batch_size, len(left_s) - lost), Budget(steps=self.steps)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of each arrival.

    Parameters
    ----------
    deadline_s : float
        Seconds after its arrival by which a record wanted its answer.
    wait_s : array of shape (n_arrivals,)
        Seconds from arrival to answer; infinite where there was none.
    steps : array of shape (n_arrivals,)
        Steps that the answer took; 0 where there was none.
    right : array of shape (n_arrivals,)
        Whether there was an answer and it was right.
    """

    deadline_s: float
    wait_s: NDArray[np.float64]
    steps: NDArray[np.int64]
    right: NDArray[np.bool_]

    @property
    def arrivals(self) -> int:
        """All records."""
        return len(self.wait_s)

    @property
    def answered(self) -> int:
        """Records that got an answer, in time or not."""
        return int(np.isfinite(self.wait_s).sum())

    @property
    def in_time(self) -> int:
        """Records answered by their deadline."""
        return int((self.wait_s <= self.deadline_s).sum())

    @property
    def late(self) -> int:
        """Records answered after their deadline, or never."""
        return self.arrivals - self.in_time

    @property
    def right_in_time(self) -> int:
        """Records answered by their deadline, and rightly."""
        return int((self.right & (self.wait_s <= self.deadline_s)).sum())

    @property
    def mean_steps(self) -> float:
        """Steps of an answer, on average."""
        return float(self.steps.sum() / self.answered) if self.answered else float("nan")

    @property
    def accuracy(self) -> float:
        """Share of the answers that were right."""
        return float(self.right.sum() / self.answered) if self.answered else float("nan")

    def wait_quantile(self, share: float) -> float:
        """The time within which this share of the answers came, in seconds."""
        answered = self.wait_s[np.isfinite(self.wait_s)]
        return float(np.quantile(answered, share)) if answered.size else float("nan")


class Classifier(Protocol):
    """What answers a batch."""

    def classify(self, X: NDArray[np.float64], *, budget: Budget) -> Answer:
        """The answers to a batch within a budget."""


def replay(
    model: Classifier,
    stream: Stream,
    policy: Policy,
    *,
    deadline_s: float,
    queue_size: int,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], object] = time.sleep,
) -> Outcome:
    """Answer the stream as it arrives, on the clock: what takes long makes the others wait.

    Parameters
    ----------
    model, stream, policy
        What answers, what arrives, and what decides about the queue.
    deadline_s : float
        Seconds after its arrival by which a record wants its answer.
    queue_size : int
        Most records that wait; those that find the queue full are turned away.
    clock, sleep : callable
        Time in seconds, and how to let it pass.
    """
    arrival_s, n_arrivals = stream.arrival_s, len(stream)
    wait_s = np.full(n_arrivals, np.inf)
    steps = np.zeros(n_arrivals, dtype=np.int64)
    right = np.zeros(n_arrivals, dtype=np.bool_)

    arrived = 0
    queue = np.empty(0, dtype=np.int64)
    started = clock()
    while arrived < n_arrivals or queue.size:
        now = clock() - started
        already, arrived = arrived, int(np.searchsorted(arrival_s, now, side="right"))
        queue = np.concatenate([queue, np.arange(already, arrived)])[:queue_size]
        if queue.size == 0:
            if arrived < n_arrivals:
                sleep(arrival_s[arrived] - now)
            continue
        given_up, taken, budget = policy(arrival_s[queue] + deadline_s - now)
        batch, queue = queue[given_up : given_up + taken], queue[given_up + taken :]
        if batch.size == 0:
            continue
        record = stream.record[batch]
        answer = model.classify(stream.X[record], budget=budget)
        wait_s[batch] = clock() - started - arrival_s[batch]
        steps[batch] = answer.steps
        right[batch] = answer.labels == stream.y[record]
    return Outcome(deadline_s, wait_s, steps, right)
