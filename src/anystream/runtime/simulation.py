"""The same engine on a simulated clock: how a model would do under some traffic on some machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer
from anystream.anytime.budget import Budget
from anystream.connectors.items import Items
from anystream.connectors.protocols import Answers, Polled
from anystream.runtime.clock import SimulatedClock
from anystream.runtime.engine import Engine
from anystream.runtime.queue import ItemQueue, Overflow
from anystream.runtime.replay import Replay, at_times
from anystream.runtime.schedulers.protocol import Scheduler
from anystream.runtime.step_cost import fit_costs
from anystream.runtime.summary import Summary


@dataclass(frozen=True, slots=True)
class MachineCost:
    """Seconds that work takes: per call, per record of a batch, and per step.

    `of` a model and a machine it is measured by `measure`; `scaled(2.0)` is a machine twice as fast.
    """

    call: float
    record: float
    step: float

    @classmethod
    def measure(cls, model: Any, X: NDArray[np.float64], *, repeats: int = 5) -> MachineCost:
        """Ask the model a few batches of different sizes and depths, and take the best of some repeats.

        Parameters
        ----------
        model : anytime classifier
            A fitted one.
        X : array of shape (n_records, n_features)
            Typical records.
        repeats : int, default=5
            How often each batch is asked.
        """
        found = []
        for n in (1, 32, 256, 2048):
            rows = np.ascontiguousarray(X[np.arange(n) % len(X)])
            for steps in (0, 10, 50):
                times = []
                for _ in range(repeats):
                    began = time.perf_counter()
                    answer = model.classify(rows, budget=steps)
                    times.append(time.perf_counter() - began)
                found.append((n, int(answer.steps.sum()), min(times)))
        return cls(*(max(cost, 1e-9) for cost in fit_costs(found)))

    def scaled(self, speed: float) -> MachineCost:
        """The costs on a machine `speed` times as fast."""
        return MachineCost(self.call / speed, self.record / speed, self.step / speed)

    def capacity(self, steps: float) -> float:
        """Records per second at `steps` steps each, in large batches."""
        return 1.0 / (self.record + steps * self.step)


class SimulatedModel:
    """A model whose work takes simulated time.

    Its answers are real; a limit in seconds is turned into the steps that it would allow.

    Parameters
    ----------
    model : anytime classifier
        What answers.
    clock : SimulatedClock
        It moves on by the cost of each answer.
    cost : MachineCost
        What work costs.
    """

    def __init__(self, model: Any, clock: SimulatedClock, cost: MachineCost) -> None:
        self._model = model
        self._clock = clock
        self._cost = cost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def classify(self, X: NDArray[np.float64], *, budget: Budget) -> Answer:
        """Answers, and the time that they would take."""
        steps, n = budget.steps, len(X)
        if budget.until is not None and n:
            left = (budget.until - self._clock.now() - self._cost.call) / n - self._cost.record
            affordable = max(int(left / self._cost.step), 0)
            steps = affordable if steps is None else min(steps, affordable)
        answer: Answer = self._model.classify(X, budget=Budget(steps=steps))
        seconds = self._cost.call + n * self._cost.record + float(answer.steps.sum()) * self._cost.step
        self._clock.sleep(seconds)
        return Answer(answer.labels, answer.proba, answer.steps, answer.certified, seconds)


class EndlessRows:
    """The rows of a table over and over, as a source.

    Parameters
    ----------
    X, y : array
        Records and, if known, their labels.
    n_records : int
        How many records there are in all.
    """

    def __init__(self, X: NDArray[np.float64], y: Any | None, n_records: int) -> None:
        self._X = np.ascontiguousarray(X, dtype=np.float64)
        self._labels = None if y is None else np.asarray(y, dtype=object)
        self._n = n_records
        self.offset = 0

    @property
    def done(self) -> bool:
        """All records were polled."""
        return self.offset >= self._n

    def poll(self, most: int) -> Polled:
        """The next rows."""
        numbers = np.arange(self.offset, min(self.offset + most, self._n))
        self.offset += len(numbers)
        rows = numbers % len(self._X)
        label = None if self._labels is None else self._labels[rows]
        return Polled(Items.of(self._X[rows], offset=numbers, label=label))

    def wait(self, seconds: float) -> None:
        """Everything is ready."""

    def seek(self, offset: int) -> None:
        """Go on from record `offset`."""
        self.offset = offset

    def acknowledge(self, offset: int) -> None:
        """Nothing to forget."""

    def close(self) -> None:
        """Nothing to let go of."""


class Nowhere:
    """A sink that keeps nothing: the summary has the figures."""

    def write(self, answers: Answers) -> None:
        """Drop the answers."""

    def flush(self) -> None:
        """Nothing to do."""

    def position(self) -> int:
        """Nowhere."""
        return 0

    def rewind(self, position: int) -> None:
        """Nothing to take back."""

    def close(self) -> None:
        """Nothing to let go of."""


def simulate(
    model: Any,
    times: NDArray[np.float64],
    X: NDArray[np.float64],
    y: Any | None = None,
    *,
    scheduler: Scheduler,
    cost: MachineCost,
    within: float | None = None,
    capacity: int = 100_000,
    overflow: Overflow = "block",
    batch_s: float = 0.004,
    observer: Any = None,
) -> Summary:
    """Run the engine under given traffic in simulated time.

    Parameters
    ----------
    model : anytime classifier
        What answers.
    times : array
        Ascending instants, in seconds, at which records arrive; see `anystream.runtime.workloads`.
    X, y : array
        Records, repeated as often as needed, and their labels if known.
    scheduler : Scheduler
        Who is answered next and with how many steps.
    cost : MachineCost
        What work costs on the machine in question.
    within : float, optional
        Seconds from arrival in which an answer is due.
    capacity, overflow
        Of the queue; see `ItemQueue`.
    batch_s : float, default=0.004
        Seconds that a batch should take.
    observer : callable, optional
        Called with a `Turn` after every turn.
    """
    clock = SimulatedClock()
    source = Replay(EndlessRows(X, y, len(times)), at_times(times), clock)
    engine = Engine(
        SimulatedModel(model, clock, cost),
        source,
        Nowhere(),
        scheduler=scheduler,
        within=within,
        queue=ItemQueue(capacity, overflow),
        clock=clock,
        batch_s=batch_s,
        observer=observer,
    )
    return engine.run()
