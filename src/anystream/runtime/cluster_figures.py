"""Figures of a simulated cluster: shares in time, accuracy, waiting times, and the time to recover from a loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.recorded_answers import RecordedAnswers
from anystream.runtime.worker_simulation import WorkerRun

_MAX_WINDOWS = 200  # in which the share in time is compared, over the whole traffic
_MIN_WINDOW = 0.5  # length of a window in deadlines
_MIN_DEADLINES = 2.0  # of traffic that follow a recovery
_TOLERANCE = 0.01  # a share in time that is lower by no more than this counts as equal


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a set of records.

    Parameters
    ----------
    n_records : int
        Records that arrived, those that the simulated ones stand for included.
    on_time : float
        Share of the records whose answer came by the deadline.
    steps : float
        Mean number of steps of the answers.
    wait_p50_s, wait_p99_s : float
        Quantiles of the time from arrival to answer. A record without an answer waits until the end.
    accuracy : float or None
        Share of right answers among the answers; None without labels.
    on_time_accuracy : float or None
        Share of the records that were answered right and by the deadline.
    """

    n_records: int
    on_time: float
    steps: float
    wait_p50_s: float
    wait_p99_s: float
    accuracy: float | None
    on_time_accuracy: float | None


@dataclass(slots=True)
class ClusterFigures:
    """Figures of a cluster.

    Parameters
    ----------
    n_workers : int
        Number of workers.
    busiest_at_budget_0 : float
        Fraction of its time that the busiest worker needs for answers without any step, at the mean rate.
    undisturbed : Figures
        All records, with all workers.
    with_loss : Figures or None
        All records, with the loss; None if no worker is lost.
    recovery_s : float or None
        Seconds from the loss until records are on time as often as without it (`recovery_time`); None if that does not
        happen before the traffic ends, or if no worker is lost.
    after_recovery : Figures or None
        Records that arrive after the recovery: what fewer workers cost.
    """

    n_workers: int
    busiest_at_budget_0: float
    undisturbed: Figures
    with_loss: Figures | None = None
    recovery_s: float | None = None
    after_recovery: Figures | None = None

    def to_json(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        return asdict(self)


class Outcomes(NamedTuple):
    """Fates of the records of several workers, in columns.

    Parameters
    ----------
    arrival_s, waited_s, steps : array of shape (n,)
        See `WorkerRun`.
    right : array of shape (n,) or None
        Whether the answer is right; None without labels.
    weight : array of shape (n,)
        Number of records that each stands for; not whole where a worker stands for several.
    """

    arrival_s: NDArray[np.float64]
    waited_s: NDArray[np.float64]
    steps: NDArray[np.int64]
    right: NDArray[np.bool_] | None
    weight: NDArray[np.float64]

    @classmethod
    def gather(cls, runs: Sequence[tuple[WorkerRun, float]], answers: RecordedAnswers) -> Outcomes:
        """Join runs, each with the number of records that each of its records stands for."""
        arrival_s = np.concatenate([run.records.arrival_s for run, _ in runs])
        waited_s = np.concatenate([run.waited_s for run, _ in runs])
        steps = np.concatenate([run.steps for run, _ in runs])
        weight = np.concatenate([np.full(len(run.steps), float(weight)) for run, weight in runs])
        right = None
        if answers.has_labels:
            rows = np.concatenate([run.records.rows for run, _ in runs])
            right = answers.right(rows, np.maximum(steps, 0)) & (steps >= 0)
        return cls(arrival_s, waited_s, steps, right, weight)

    def since(self, instant_s: float) -> Outcomes:
        """Return the outcomes of the records that arrived from an instant on."""
        kept = self.arrival_s >= instant_s
        right = None if self.right is None else self.right[kept]
        return Outcomes(self.arrival_s[kept], self.waited_s[kept], self.steps[kept], right, self.weight[kept])

    def figures(self, within_s: float) -> Figures:
        """Return the figures of these records; `within_s` is the time to the deadline."""
        n_records = float(self.weight.sum())
        if n_records == 0.0:
            nan = float("nan")
            return Figures(0, nan, nan, nan, nan, None, None)
        answered, on_time = self.steps >= 0, self.is_on_time(within_s)
        n_answered = max(float(self.weight[answered].sum()), 1.0)
        median_s, p99_s = weighted_quantiles(self.waited_s, self.weight, (0.5, 0.99))
        accuracy = on_time_accuracy = None
        if self.right is not None:
            accuracy = float(self.weight[self.right].sum()) / n_answered
            on_time_accuracy = float(self.weight[self.right & on_time].sum()) / n_records
        return Figures(
            n_records=round(n_records),
            on_time=float(self.weight[on_time].sum()) / n_records,
            steps=float((self.steps * self.weight)[answered].sum()) / n_answered,
            wait_p50_s=median_s,
            wait_p99_s=p99_s,
            accuracy=accuracy,
            on_time_accuracy=on_time_accuracy,
        )

    def is_on_time(self, within_s: float) -> NDArray[np.bool_]:
        """Whether each record was answered by its deadline."""
        return np.asarray((self.steps >= 0) & (self.waited_s <= within_s))

    def on_time_by_window(self, within_s: float, edges_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of records in time by when they arrived; NaN where none did."""
        arrived, _ = np.histogram(self.arrival_s, edges_s, weights=self.weight)
        on_time, _ = np.histogram(self.arrival_s, edges_s, weights=self.weight * self.is_on_time(within_s))
        return np.asarray(np.divide(on_time, arrived, out=np.full(len(arrived), np.nan), where=arrived > 0))


def recovery_time(
    undisturbed: Outcomes, with_loss: Outcomes, *, within_s: float, lost_at_s: float, duration_s: float
) -> float | None:
    """Return the seconds from the loss until records are on time as often as they are without it.

    Both outcomes are those of the workers that the loss concerns. The shares in time are compared in windows of a
    200th of the traffic or of half a deadline, if that is longer, by the arrival of the records, to one point. None if
    a window of the last two deadlines is still worse, since after the end of the traffic any worker has time for the
    records that came last; or if most records are late after the loss even without it.
    """
    if not undisturbed.since(lost_at_s).figures(within_s).on_time > 0.5:
        return None
    n_windows = max(min(_MAX_WINDOWS, int(duration_s / (_MIN_WINDOW * within_s))), 1)
    edges_s = np.linspace(0.0, duration_s, n_windows + 1)
    before = undisturbed.on_time_by_window(within_s, edges_s)
    after = with_loss.on_time_by_window(within_s, edges_s)
    worse = np.flatnonzero((after < before - _TOLERANCE) & (edges_s[1:] > lost_at_s))
    if len(worse) == 0:
        return 0.0
    recovered_s = float(edges_s[worse[-1] + 1])
    return recovered_s - lost_at_s if recovered_s <= duration_s - _MIN_DEADLINES * within_s else None


def weighted_quantiles(
    values: NDArray[np.float64], weights: NDArray[np.float64], shares: Sequence[float]
) -> tuple[float, ...]:
    """Return the values that these shares of the weight do not exceed.

    Examples
    --------
    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 98.0]), (0.01, 0.5, 0.99, 1.0))
    (1.0, 2.0, 2.0, 3.0)
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    places = np.searchsorted(reached, np.asarray(shares) * reached[-1] - 1e-9 * reached[-1])
    return tuple(float(values[order[place]]) for place in places)
