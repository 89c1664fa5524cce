"""Performance profile: the accuracy to expect after a number of steps, estimated on held-out training data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets

from anystream.anytime.curve import AnytimeCurve, anytime_curve, check_labels
from anystream.plotting import accuracy_axes

_FORMAT = "anystream performance profile 1"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PerformanceProfile:
    """Expected accuracy after each number of steps, estimated on data that was held out from training.

    Parameters
    ----------
    stages : array of shape (n_stages,)
        Ascending numbers of steps.
    accuracy : array of shape (n_stages,)
        Share of held-out records that were classified correctly after that many steps.
    n_records : int
        Number of held-out records that the profile was measured on.

    Attributes
    ----------
    standard_error : array of shape (n_stages,)
        Standard error of each accuracy: sqrt(p (1 - p) / n) with p = (correct + 1) / (n + 2), so that a perfect score
        on few records does not have an error of 0. The variation between training sets is not included.
    envelope : array of shape (n_stages,)
        Smoothed accuracies: the non-decreasing least-squares fit (isotonic regression), then the lowest concave line
        above it. Its slope, `gain`, is never negative and never increases. Therefore the best way to divide any number
        of steps among records is to give each next step to the record with the highest gain.
    """

    stages: NDArray[np.int64]
    accuracy: NDArray[np.float64]
    n_records: int
    standard_error: NDArray[np.float64] = field(init=False)
    envelope: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        from sklearn.isotonic import isotonic_regression  # here: importing anystream.anytime stays quick

        curve = AnytimeCurve(self.stages, self.accuracy, self.n_records)  # checks the arrays and makes them read-only
        smoothed = (curve.accuracy * self.n_records + 1.0) / (self.n_records + 2.0)
        arrays = {
            "stages": curve.stages,
            "accuracy": curve.accuracy,
            "standard_error": np.sqrt(smoothed * (1.0 - smoothed) / self.n_records),
            "envelope": _concave_envelope(curve.stages, isotonic_regression(curve.accuracy)),
        }
        for name, values in arrays.items():
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def expected(self, steps: ArrayLike) -> Any:
        """Return the accuracy to expect after `steps` steps: a float for a number, an array for an array.

        Linear between stages, constant before the first and after the last stage.
        """
        return _like(steps, np.interp(np.asarray(steps), self.stages, self.accuracy))

    def gain(self, steps: ArrayLike) -> Any:
        """Return the accuracy that one more step adds: the slope of `envelope` at `steps`, 0 after the last stage."""
        if self.stages.size == 1:
            return _like(steps, np.zeros(np.shape(steps)))
        slopes = np.append(np.diff(self.envelope) / np.diff(self.stages), 0.0)
        return _like(steps, slopes[np.maximum(np.searchsorted(self.stages, steps, side="right") - 1, 0)])

    def steps_for(self, accuracy: float) -> int:
        """Return the minimum number of steps after which this accuracy is expected."""
        reached = np.flatnonzero(self.accuracy >= accuracy)
        if reached.size == 0:
            best = int(self.accuracy.argmax())
            raise ValueError(
                f"an accuracy of {accuracy} is never expected; the highest is {self.accuracy[best]:.4f} "
                f"after {self.stages[best]} steps, ask for at most that"
            )
        stage = int(reached[0])
        if stage == 0:
            return int(self.stages[0])
        between = np.arange(self.stages[stage - 1] + 1, self.stages[stage] + 1)
        return int(between[np.argmax(self.expected(between) >= accuracy)])

    def plot(self, ax: Any = None, label: str | None = None, *, log: bool = True) -> Any:
        """Draw accuracy with two standard errors and the envelope (dashed); parameters as in `AnytimeCurve.plot`."""
        ax = accuracy_axes(ax, max_steps=int(self.stages[-1]), log=log)
        (line,) = ax.plot(self.stages, self.accuracy, linewidth=1.8, label=label, zorder=3)
        margin = 2.0 * self.standard_error
        low, high = np.maximum(self.accuracy - margin, 0.0), np.minimum(self.accuracy + margin, 1.0)
        ax.fill_between(self.stages, low, high, color=line.get_color(), alpha=0.15, linewidth=0, zorder=1)
        ax.plot(self.stages, self.envelope, "--", color=line.get_color(), alpha=0.6, linewidth=1.0, zorder=2)
        ax.set_ylabel("expected accuracy")
        if label is not None:
            ax.legend(frameon=False, loc="lower right")
        return ax

    def to_json(self) -> str:
        """Return the profile as JSON text; `from_json` reads it."""
        return json.dumps(
            {
                "format": _FORMAT,
                "n_records": self.n_records,
                "stages": self.stages.tolist(),
                "accuracy": self.accuracy.tolist(),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> PerformanceProfile:
        """Read a profile that `to_json` wrote and check every value."""
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ValueError(f"the text is not valid JSON ({error}); use the text that to_json returned") from None
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise ValueError(f"the JSON does not have the format {_FORMAT!r}; use the text that to_json returned")
        stages, accuracy, n_records = (found.get(name) for name in ("stages", "accuracy", "n_records"))
        for name, values in (("stages", stages), ("accuracy", accuracy), ("n_records", [n_records])):
            if not isinstance(values, list) or any(type(value) not in (int, float) for value in values):
                raise ValueError(f"{name!r} of the profile is {found.get(name)!r}; use the text that to_json returned")
        return cls(np.array(stages), np.array(accuracy), int(cast(float, n_records)))

    def __repr__(self) -> str:
        return (
            f"PerformanceProfile({self.stages[0]} to {self.stages[-1]} steps, {self.n_records} records: "
            f"{self.accuracy[0]:.3f} to {self.accuracy[-1]:.3f})"
        )


def performance_profile(
    estimator: Any, X: Any, y: ArrayLike, *, cv: int = 5, stages: Sequence[int] | None = None, seed: int = 0
) -> PerformanceProfile:
    """Estimate the accuracy after each of `stages` steps by stratified cross-validation on the training data.

    Parameters
    ----------
    estimator : classifier
        A classifier with `staged_predict`, fitted or not; copies of it are fitted.
    X : array-like of shape (n_records, n_features)
        Training records.
    y : array-like of shape (n_records,)
        The class of each record.
    cv : int, default=5
        Number of folds; each fold is held out once. If no class has that many records, there are as many folds as the
        largest class has records. Rarer classes occur in some folds only. A class with a single record is unknown to
        the model that classifies this record, which counts as an error.
    stages : sequence of int, optional
        Ascending numbers of steps. Default: every step from 0 to the estimator's budget.
    seed : int, default=0
        Seed for the assignment of records to folds.

    Notes
    -----
    Each copy learns from (cv - 1) / cv of the records, so a model of all records will be slightly more accurate.

    Examples
    --------
    >>> from anystream import BayesTreeClassifier
    >>> from sklearn.datasets import load_iris
    >>> profile = performance_profile(BayesTreeClassifier(budget=20), *load_iris(return_X_y=True))
    >>> profile.expected(10) > 0.9
    True
    >>> bool(profile.gain(0) >= profile.gain(19) >= 0)
    True
    """
    if isinstance(cv, bool) or not isinstance(cv, Integral) or cv < 2:
        raise ValueError(f"cv is {cv!r}; use a whole number of folds, at least 2")
    labels = check_labels(X, y)
    check_classification_targets(labels)
    fold = _assign_folds(labels, int(cv), seed)

    curves: list[AnytimeCurve] = []
    for held_out in range(fold.max() + 1):
        train, test = np.flatnonzero(fold != held_out), np.flatnonzero(fold == held_out)
        model = clone(estimator).fit(_safe_indexing(X, train), labels[train])
        curves.append(anytime_curve(model, _safe_indexing(X, test), labels[test], stages=stages))
        stages = curves[0].stages.tolist()
    n_correct = sum(curve.accuracy * curve.n_records for curve in curves)
    return PerformanceProfile(curves[0].stages, np.minimum(n_correct / len(labels), 1.0), len(labels))


def _assign_folds(labels: NDArray[Any], n_folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each record: records are shuffled, sorted by class, and assigned to the folds in turn."""
    _, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if counts.max(initial=0) < 2:
        raise ValueError(
            f"none of the {len(counts)} classes has two records, so none can be held out; give more training data"
        )
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    by_class = shuffled[np.argsort(numbers[shuffled], kind="stable")]
    fold = np.empty(len(labels), dtype=np.int64)
    fold[by_class] = np.arange(len(labels)) % min(n_folds, counts.max())
    return fold


def _concave_envelope(x: NDArray[np.int64], height: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the height, at each x, of the lowest concave line above the points: their upper convex hull."""
    hull: list[int] = []
    for c in range(x.size):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (height[b] - height[a]) * (x[c] - x[a]) > (height[c] - height[a]) * (x[b] - x[a]):
                break
            hull.pop()  # b lies on or below the line from a to c
        hull.append(c)
    return np.maximum.accumulate(np.interp(x, x[hull], height[hull]))  # rounding errors must not make it fall


def _like(given: ArrayLike, values: Any) -> Any:
    """Return values as a float if `given` is a number, else as an array."""
    return float(values) if np.ndim(given) == 0 else np.asarray(values)
