"""Result of one run: the predictions of one classifier on one stream, with measures, table and plot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.evaluate import measures
from anystream.evaluate.recovery import Recovery, measure_recoveries
from anystream.evaluate.table import build_table, render_text


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """The predictions of one classifier on one stream, with the true labels.

    Parameters
    ----------
    method, stream : str
        Names of the classifier and of the stream.
    seed : int or None
        The stream's seed, if it has one.
    truth, predicted : array of shape (n_tested,)
        Class numbers of the tested records in the order of the stream; -1 if there was no prediction, which counts as
        an error.
    classes : tuple
        ``classes[number]`` is the label.
    window : int
        Number of tested records per point of the error curve, for example the size of a test batch.
    drifts : tuple of int
        Known drifts: ``drifts[i]`` is the number of the first tested record of a new concept.
    detections : tuple of int
        Numbers of the tested records after which the drift detector reported a change.
    predict_s, learn_s : float
        Seconds that the classifier spent predicting and learning.
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
    predict_s: float = 0.0
    learn_s: float = 0.0

    @property
    def error(self) -> float:
        """The share of wrong predictions."""
        return 1.0 - self.accuracy

    @cached_property
    def accuracy(self) -> float:
        """The share of correct predictions."""
        return measures.accuracy(self.truth, self.predicted)

    @cached_property
    def kappa(self) -> float:
        """Accuracy relative to chance."""
        return measures.kappa(self.truth, self.predicted)

    @cached_property
    def kappa_m(self) -> float:
        """Accuracy relative to always predicting the most frequent class."""
        return measures.kappa_m(self.truth, self.predicted)

    @cached_property
    def kappa_t(self) -> float:
        """Accuracy relative to predicting the previous label."""
        return measures.kappa_t(self.truth, self.predicted)

    def windowed_accuracy(self, window: int | None = None) -> NDArray[np.float64]:
        """Return, after each record, the accuracy over the last `window` ones; default: the run's own window."""
        return measures.windowed_accuracy(self.truth, self.predicted, window or self.window)

    def error_curve(self, window: int | None = None) -> NDArray[np.float64]:
        """Return the error of each `window` records (default: the run's own); an incomplete last window is dropped."""
        size = window or self.window
        n_points = len(self.truth) // size
        wrong = self.truth[: n_points * size] != self.predicted[: n_points * size]
        return np.asarray(wrong.reshape(n_points, size).mean(axis=1))

    def recoveries(self, **options: Any) -> dict[int, Recovery]:
        """Return the effect of each known drift on the error curve; parameters as in `measure_recoveries`."""
        return measure_recoveries(self.error_curve(), self.drifts, self.window, **options)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Plot the error over time with the drifts marked, and return the axes; needs matplotlib."""
        from anystream.evaluate.plot import plot_errors

        curves = {self.method: self.error_curve()}
        return plot_errors(curves, self.window, self.drifts, self.detections, ax=ax, **options)

    def __rich__(self) -> Any:
        rows = [
            ("tested records", f"{len(self.truth)}"),
            ("accuracy", f"{self.accuracy:.4f}"),
            ("kappa", f"{self.kappa:.4f}"),
            ("kappa-M", f"{self.kappa_m:.4f}"),
            ("kappa-T", f"{self.kappa_t:.4f}"),
            ("prediction", f"{1e6 * self.predict_s / max(1, len(self.truth)):.1f} µs per record"),
            ("learning", f"{self.learn_s:.2f} s"),
        ]
        for drift, recovery in self.recoveries().items():
            outcome = "recovered after" if recovery.recovered else "not recovered in"
            rows.append(
                (
                    f"drift at {drift}",
                    f"error +{recovery.depth:.3f}, {outcome} {recovery.n_points} x {self.window} records",
                )
            )
        if self.detections:
            rows.append(("detected at", ", ".join(map(str, self.detections))))
        return build_table(f"{self.method} on {self.stream}", ("", ""), rows)

    def __str__(self) -> str:
        return render_text(self)
