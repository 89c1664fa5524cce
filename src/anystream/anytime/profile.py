"""The accuracy to expect of an answer before it is given: what a scheduler plans with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from anystream.anytime.axes import accuracy_axes
from anystream.anytime.curve import AnytimeCurve, anytime_curve

_FORMAT = "anystream performance profile 1"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PerformanceProfile:
    """Expected accuracy after each number of steps, estimated on data that was held out from training.

    Parameters
    ----------
    stages : array of shape (n_stages,)
        Ascending numbers of steps.
    accuracy : array of shape (n_stages,)
        Share of held-out records that were right after so many steps.
    n_records : int
        Held-out records behind it.

    Attributes
    ----------
    standard_error : array of shape (n_stages,)
        Of each accuracy: sqrt(p (1 - p) / n) with p = (right + 1) / (n + 2), so that a perfect score on few records
        does not pass for certainty. The spread between training sets is not in it.
    envelope : array of shape (n_stages,)
        The accuracies smoothed: the least-squares fit that never falls (isotonic regression), then the lowest
        concave line above it. Its slope is `gain`, never negative and never growing: so giving each next step to the
        record of the highest gain is the best division of any number of steps.
    """

    stages: NDArray[np.int64]
    accuracy: NDArray[np.float64]
    n_records: int
    standard_error: NDArray[np.float64] = field(init=False)
    envelope: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        curve = AnytimeCurve(self.stages, self.accuracy, self.n_records)  # checks, and makes the arrays read-only
        smoothed = (curve.accuracy * self.n_records + 1.0) / (self.n_records + 2.0)
        arrays = {
            "stages": curve.stages,
            "accuracy": curve.accuracy,
            "standard_error": np.sqrt(smoothed * (1.0 - smoothed) / self.n_records),
            "envelope": _concave_above(curve.stages, isotonic_regression(curve.accuracy)),
        }
        for name, values in arrays.items():
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def expected(self, steps: ArrayLike) -> Any:
        """Accuracy to expect after so many steps: a float for a number, an array for an array.

        Straight between stages; before the first and after the last the value there holds.
        """
        return _like(steps, np.interp(np.asarray(steps), self.stages, self.accuracy))

    def gain(self, steps: ArrayLike) -> Any:
        """Accuracy to expect from one more step after so many: the slope of `envelope`, 0 after the last stage."""
        if self.stages.size == 1:
            return _like(steps, np.zeros(np.shape(steps)))
        slopes = np.append(np.diff(self.envelope) / np.diff(self.stages), 0.0)
        return _like(steps, slopes[np.maximum(np.searchsorted(self.stages, steps, side="right") - 1, 0)])

    def steps_for(self, accuracy: float) -> int:
        """The fewest steps after which this accuracy is expected."""
        reached = np.flatnonzero(self.accuracy >= accuracy)
        if reached.size == 0:
            best = int(self.accuracy.argmax())
            raise ValueError(
                f"an accuracy of {accuracy} is not to be expected; the best is {self.accuracy[best]:.4f} "
                f"after {self.stages[best]} steps"
            )
        stage = int(reached[0])
        if stage == 0:
            return int(self.stages[0])
        between = np.arange(self.stages[stage - 1] + 1, self.stages[stage] + 1)
        return int(between[np.argmax(self.expected(between) >= accuracy)])

    def plot(self, ax: Any = None, label: str | None = None, *, log: bool = True) -> Any:
        """Draw the profile with matplotlib: accuracy with two standard errors, and the envelope dashed.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new ones by default.
        label : str, optional
            Name of the profile in the legend.
        log : bool, default=True
            Whether steps stand on a logarithmic scale.

        Returns
        -------
        matplotlib.axes.Axes
        """
        ax = accuracy_axes(ax, last=int(self.stages[-1]), log=log)
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
        """The profile as text; `from_json` reads it."""
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
        """The profile that `to_json` wrote, every value checked."""
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ValueError(f"this is no JSON ({error}); use the text that to_json gave") from None
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise ValueError(f"this JSON is not of the format {_FORMAT!r}; use the text that to_json gave")
        stages, accuracy, n_records = (found.get(name) for name in ("stages", "accuracy", "n_records"))
        for name, values in (("stages", stages), ("accuracy", accuracy), ("n_records", [n_records])):
            if not isinstance(values, list) or any(type(value) not in (int, float) for value in values):
                raise ValueError(f"{name!r} of this profile is {found.get(name)!r}; use the text that to_json gave")
        return cls(np.array(stages), np.array(accuracy), int(cast(float, n_records)))

    def __repr__(self) -> str:
        return (
            f"PerformanceProfile({self.stages[0]} to {self.stages[-1]} steps, {self.n_records} records: "
            f"{self.accuracy[0]:.3f} to {self.accuracy[-1]:.3f})"
        )


def performance_profile(
    estimator: Any, X: Any, y: ArrayLike, *, cv: int = 5, stages: Sequence[int] | None = None, seed: int = 0
) -> PerformanceProfile:
    """Expected accuracy after each of `stages` steps, by stratified cross-validation on the training data.

    Parameters
    ----------
    estimator : classifier
        A classifier with `staged_predict`, fitted or not; copies of it are fitted.
    X : array-like of shape (n_objects, n_features)
        Training objects.
    y : array-like of shape (n_objects,)
        Their classes.
    cv : int, default=5
        Parts into which each class is dealt out; each part is held out once. If no class has that many objects, as
        many as the largest class has. Rarer classes are in some parts only; the object of a class of one is unknown
        to the model that meets it, which counts as an error.
    stages : sequence of int, optional
        Ascending numbers of steps. Default: every step from 0 to the estimator's budget.
    seed : int, default=0
        Seeds the dealing out.

    Notes
    -----
    The copies learn from (cv - 1) / cv of the objects, so that a model of all of them will do a little better.

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
        raise ValueError(f"cv is {cv!r}; use a whole number of parts from 2 on")
    labels = column_or_1d(y)
    check_classification_targets(labels)
    n_objects = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_objects != len(labels):
        raise ValueError(f"there are {n_objects} objects and {len(labels)} labels; give one label to each object")
    part = _deal_out(labels, int(cv), seed)

    curves: list[AnytimeCurve] = []
    for held_out in range(part.max() + 1):
        train, test = np.flatnonzero(part != held_out), np.flatnonzero(part == held_out)
        model = clone(estimator).fit(_safe_indexing(X, train), labels[train])
        curves.append(anytime_curve(model, _safe_indexing(X, test), labels[test], stages=stages))
        stages = curves[0].stages.tolist()
    right = sum(curve.accuracy * curve.n_records for curve in curves)
    return PerformanceProfile(curves[0].stages, np.minimum(right / n_objects, 1.0), n_objects)


def _deal_out(labels: NDArray[Any], parts: int, seed: int) -> NDArray[np.int64]:
    """A part for each object: classes are shuffled, laid one behind the other, and dealt out like cards."""
    _, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if counts.max(initial=0) < 2:
        raise ValueError(
            f"none of the {len(counts)} classes has two objects, so that one could be held out; give more training data"
        )
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    by_class = shuffled[np.argsort(numbers[shuffled], kind="stable")]
    part = np.empty(len(labels), dtype=np.int64)
    part[by_class] = np.arange(len(labels)) % min(parts, counts.max())
    return part


def _concave_above(x: NDArray[np.int64], height: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lowest concave line above the points, at the same places: their upper convex hull."""
    hull: list[int] = []
    for c in range(x.size):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (height[b] - height[a]) * (x[c] - x[a]) > (height[c] - height[a]) * (x[b] - x[a]):
                break
            hull.pop()  # b lies on or below the line from a to c
        hull.append(c)
    return np.maximum.accumulate(np.interp(x, x[hull], height[hull]))  # rounding may break what never falls


def _like(given: ArrayLike, values: Any) -> Any:
    return float(values) if np.ndim(given) == 0 else np.asarray(values)
