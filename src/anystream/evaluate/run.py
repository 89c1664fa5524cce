"""What one learner did on one stream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.evaluate import measures
from anystream.evaluate.recovery import Recovery, recovery
from anystream.evaluate.table import render, text_table


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """The answers of one learner on one stream, beside the truth.

    Parameters
    ----------
    method, stream : str
        What ran, and on what.
    seed : int or None
        The stream's seed, if it has one.
    truth, predicted : array of shape (n_answers,)
        Class numbers in the order of the stream; -1 where there was no answer, which counts as wrong.
    classes : tuple
        ``classes[number]`` is the label.
    window : int
        Answers that make one point of the error curve: a test batch, or a number of records.
    drifts : tuple of int
        Known drifts: ``drifts[i]`` is the first answer that was given under a new concept.
    detections : tuple of int
        Answers after which the drift detector reported a change.
    seconds_answering, seconds_learning : float
        Time that the learner took.
    """

    method: str
    stream: str
    seed: int | None
    truth: NDArray[np.int64]
    predicted: NDArray[np.int64]
    classes: tuple[Any, ...]
    window: int
    drifts: tuple[int, ...] = ()
    detections: tuple[int, ...] = ()
    seconds_answering: float = 0.0
    seconds_learning: float = 0.0

    @property
    def error(self) -> float:
        """The share of wrong answers."""
        return 1.0 - self.accuracy

    @cached_property
    def accuracy(self) -> float:
        """The share of right answers."""
        return measures.accuracy(self.truth, self.predicted)

    @cached_property
    def kappa(self) -> float:
        """Accuracy beyond chance."""
        return measures.kappa(self.truth, self.predicted)

    @cached_property
    def kappa_m(self) -> float:
        """Accuracy beyond the most frequent class."""
        return measures.kappa_m(self.truth, self.predicted)

    @cached_property
    def kappa_t(self) -> float:
        """Accuracy beyond the previous label."""
        return measures.kappa_t(self.truth, self.predicted)

    def windowed_accuracy(self, window: int | None = None) -> NDArray[np.float64]:
        """After each answer, the accuracy over the last `window` ones; default: the run's own window."""
        return measures.windowed_accuracy(self.truth, self.predicted, window or self.window)

    def errors(self, window: int | None = None) -> NDArray[np.float64]:
        """The error of each `window` answers in turn (default: the run's own); an incomplete last one is left out."""
        size = window or self.window
        points = len(self.truth) // size
        wrong = self.truth[: points * size] != self.predicted[: points * size]
        return np.asarray(wrong.reshape(points, size).mean(axis=1))

    def recoveries(self, **options: Any) -> tuple[Recovery, ...]:
        """What each known drift did to the error curve; options as in `recovery`."""
        return recoveries(self.errors(), self.drifts, self.window, **options)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Error over time with the drifts marked; needs matplotlib. Answers the axes."""
        from anystream.evaluate.plot import plot_errors

        return plot_errors({self.method: self.errors()}, self.window, self.drifts, self.detections, ax=ax, **options)

    def __rich__(self) -> Any:
        rows = [
            ("answers", f"{len(self.truth)}"),
            ("accuracy", f"{self.accuracy:.4f}"),
            ("kappa", f"{self.kappa:.4f}"),
            ("kappa-M", f"{self.kappa_m:.4f}"),
            ("kappa-T", f"{self.kappa_t:.4f}"),
            ("answering", f"{1e6 * self.seconds_answering / max(1, len(self.truth)):.1f} µs per answer"),
            ("learning", f"{self.seconds_learning:.2f} s"),
        ]
        judged = _judged(self.drifts, self.window, len(self.errors()))
        for (drift, _, _), found in zip(judged, self.recoveries(), strict=True):
            end = "back after" if found.recovered else "not back in"
            rows.append((f"drift at {drift}", f"up {found.depth:.3f}, {end} {found.time} x {self.window} answers"))
        if self.detections:
            rows.append(("detected at", ", ".join(map(str, self.detections))))
        return text_table(f"{self.method} on {self.stream}", ("", ""), rows)

    def __str__(self) -> str:
        return render(self)


def recoveries(
    errors: NDArray[np.float64], drifts: tuple[int, ...], window: int, **options: Any
) -> tuple[Recovery, ...]:
    """Judge every drift that lies inside the curve; each until the next one."""
    return tuple(recovery(errors, at, until=end, **options) for _, at, end in _judged(drifts, window, len(errors)))


def _judged(drifts: tuple[int, ...], window: int, n_points: int) -> list[tuple[int, int, int]]:
    """The drifts that a curve shows, with their first and last points: of several within one point the last."""
    inside = [(drift, drift // window) for drift in drifts if 0 < drift // window < n_points]
    ends = [*(at for _, at in inside[1:]), n_points]
    return [(drift, at, end) for (drift, at), end in zip(inside, ends, strict=False) if at < end]
