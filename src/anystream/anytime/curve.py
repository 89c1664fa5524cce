"""Accuracy over budget: the curve by which anytime classifiers are judged, and its measures."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing, gen_batches
from sklearn.utils.validation import check_is_fitted, column_or_1d

from anystream.anytime.axes import accuracy_axes, step_ticks
from anystream.anytime.stages import check_stages

PUBLISHED_STEPS = 200
"""The steps over which the curves of the Bayes tree papers run; r in [1]_ of `AnytimeCurve`."""

_CELLS_AT_ONCE = 1 << 22  # probabilities (record x stage x class) that are asked of a model in one call: 32 MB


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnytimeCurve:
    """Accuracy of an anytime classifier after each number of steps.

    Parameters
    ----------
    stages : array of shape (n_stages,)
        Ascending numbers of steps. Between two of them the last known answer holds; r is the last.
    accuracy : array of shape (n_stages,)
        Share of the records that were right after so many steps; acc(n) in [1]_.
    n_records : int
        Records behind the curve.

    Notes
    -----
    As in [1]_, `avg`, `max` and `mon` are taken over the steps 1 to r: the answer before the first step is part of the
    curve and of `area`, but not of these. Steps before the first listed stage are unknown and not counted; if 0 is the
    only stage, it is.

    References
    ----------
    .. [1] Kranen, Hassani, Seidl, "BT* - an advanced algorithm for anytime classification", SSDBM 2012, section 4.

    Examples
    --------
    >>> curve = AnytimeCurve([0, 1, 2, 3, 4], [0.5, 0.6, 0.8, 0.7, 0.9], n_records=10)
    >>> print(curve)
    steps  accuracy
        0     50.0%
        1     60.0%
        2     80.0%
        3     70.0%
        4     90.0%
    avg 75.0%, max 90.0%, mon 97.5% (normalised 91.7%), area 70.0%, log area 73.5%; 10 records
    """

    stages: NDArray[np.int64]
    accuracy: NDArray[np.float64]
    n_records: int

    def __post_init__(self) -> None:
        stages = check_stages(self.stages)
        accuracy = np.array(self.accuracy, dtype=np.float64)
        if accuracy.shape != stages.shape:
            raise ValueError(
                f"there are {stages.size} stages and accuracies of shape {accuracy.shape}; give one to each"
            )
        if not np.all((accuracy >= 0.0) & (accuracy <= 1.0)):
            raise ValueError(f"accuracies lie between {accuracy.min()} and {accuracy.max()}; use shares from 0 to 1")
        if self.n_records < 1:
            raise ValueError(f"n_records is {self.n_records}; a curve needs at least one record")
        for name, values in (("stages", stages), ("accuracy", accuracy)):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @classmethod
    def mean(cls, curves: Sequence[AnytimeCurve]) -> AnytimeCurve:
        """The mean of curves with the same stages, each counting once, as [1]_ averages its folds."""
        if not curves:
            raise ValueError("there is no curve to average; give at least one")
        first = curves[0].stages
        for curve in curves:
            if not np.array_equal(curve.stages, first):
                raise ValueError(
                    f"the curves have different stages ({_range(first)} and {_range(curve.stages)}); "
                    "compute them with the same `stages`"
                )
        accuracy = np.mean([curve.accuracy for curve in curves], axis=0)
        return cls(first, accuracy, sum(curve.n_records for curve in curves))

    # -- measures ------------------------------------------------------------------------------------------------------

    @property
    def avg(self) -> float:
        """Mean accuracy over the steps 1 to r."""
        accuracy, steps = self._counted()
        return float(np.average(accuracy, weights=steps))

    @property
    def max(self) -> float:
        """Highest accuracy over the steps 1 to r."""
        return float(self._counted()[0].max())

    @property
    def mon(self) -> float:
        """Monotonicity as printed in [1]_; 1 if the accuracy never falls.

        mon = 1 - 1/r * sum over n = 1..r of (A(n) - min{A(n), acc(n)}), where A(n) is the highest of acc(1) to
        acc(n - 1). For n = 1 that is the highest of nothing: the term is 0, since nothing can have been lost yet.
        """
        return 1.0 - self._lost_area()

    @property
    def mon_normalised(self) -> float:
        """Monotonicity with the lost area in units of the curve's range, highest minus lowest; 1 if that is 0.

        Values of this size are in the tables of [1]_; the printed formula gives smaller differences. A fall counts
        beside what the steps gain in all, so curves that start near their end are judged harshly.
        """
        accuracy, _ = self._counted()
        span = float(accuracy.max() - accuracy.min())
        return 1.0 if span == 0.0 else 1.0 - self._lost_area() / span

    @property
    def area(self) -> float:
        """Mean height of the curve over the steps, drawn straight between stages (trapezoids), from the first to r."""
        return _mean_height(self.stages.astype(np.float64), self.accuracy)

    @property
    def log_area(self) -> float:
        """Mean height over the logarithm of the steps, from step 1 on: 1 to 10 weighs as much as 10 to 100."""
        started = self.stages >= 1
        if not started.any():
            return self.area
        return _mean_height(np.log(self.stages[started]), self.accuracy[started])

    def at(self, steps: ArrayLike) -> Any:
        """The accuracy after so many steps: a float for a number, an array for an array.

        Between two stages the last known answer holds. Before the first and after the last nothing is known.
        """
        wanted = np.asarray(steps)
        if wanted.size and (wanted.min() < self.stages[0] or wanted.max() > self.stages[-1]):
            outside = wanted.min() if wanted.min() < self.stages[0] else wanted.max()
            raise ValueError(
                f"the curve covers {_range(self.stages)} steps, not {outside}; compute it with such stages"
            )
        found = self.accuracy[np.searchsorted(self.stages, wanted, side="right") - 1]
        return float(found) if wanted.ndim == 0 else found

    # -- looking at it -------------------------------------------------------------------------------------------------

    def milestones(self) -> list[int]:
        """The stages worth a line in a table: all if they are few, else 0, 1, 2, 5, 10, 20, 50, … and the last."""
        if self.stages.size <= 12:
            return [int(stage) for stage in self.stages]
        first, last = int(self.stages[0]), int(self.stages[-1])
        return sorted({first, last, *(tick for tick in step_ticks(last) if tick >= first)})

    def plot(self, ax: Any = None, label: str | None = None, *, log: bool = True) -> Any:
        """Draw the curve with matplotlib; what was lost below the highest accuracy so far is shaded.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on, which other curves may be on already; new ones by default.
        label : str, optional
            Name of the curve in the legend.
        log : bool, default=True
            Whether steps stand on a logarithmic scale.

        Returns
        -------
        matplotlib.axes.Axes
        """
        ax = accuracy_axes(ax, last=int(self.stages[-1]), log=log)
        (line,) = ax.plot(self.stages, self.accuracy, drawstyle="steps-post", linewidth=1.8, label=label, zorder=3)
        colour, best = line.get_color(), np.maximum.accumulate(self.accuracy)
        ax.plot(self.stages[-1], self.accuracy[-1], "o", color=colour, markersize=4.5, zorder=4)
        ax.fill_between(self.stages, self.accuracy, best, step="post", color=colour, alpha=0.25, linewidth=0, zorder=2)
        ax.step(self.stages, best, where="post", color=colour, alpha=0.35, linewidth=1.0, zorder=2)
        if label is not None:
            ax.legend(frameon=False, loc="lower right")
        return ax

    def __str__(self) -> str:
        shown = self.milestones()
        width = max(len("steps"), len(str(shown[-1])))
        rows = [f"{stage:>{width}}  {self.at(stage):8.1%}" for stage in shown]
        return "\n".join([f"{'steps':>{width}}  accuracy", *rows, self.summary()])

    def summary(self) -> str:
        """The measures in one line."""
        records = f"{self.n_records:,} record{'s' if self.n_records > 1 else ''}"
        return (
            f"avg {self.avg:.1%}, max {self.max:.1%}, mon {self.mon:.1%} "
            f"(normalised {self.mon_normalised:.1%}), area {self.area:.1%}, "
            f"log area {self.log_area:.1%}; {records}"
        )

    def __repr__(self) -> str:
        return f"AnytimeCurve({_range(self.stages)} steps, avg={self.avg:.4f}, max={self.max:.4f}, mon={self.mon:.4f})"

    # -- inside --------------------------------------------------------------------------------------------------------

    def _counted(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The accuracies that hold at steps 1 to r, and for how many steps each does."""
        if self.stages[-1] == 0:
            return self.accuracy, np.ones(1, dtype=np.int64)
        begin = np.maximum(self.stages, 1)
        steps = np.append(begin[1:], self.stages[-1] + 1) - begin
        return self.accuracy[steps > 0], steps[steps > 0]

    def _lost_area(self) -> float:
        accuracy, steps = self._counted()
        # While a stage holds, its term stays the same; and counting acc(n) itself into A(n) changes no term.
        return float(np.average(np.maximum.accumulate(accuracy) - accuracy, weights=steps))


def anytime_curve(
    model: Any, X: Any, y: ArrayLike, *, stages: Sequence[int] | None = None, budget: int | None = None
) -> AnytimeCurve:
    """Accuracy of a fitted anytime classifier after each of `stages` steps, from one pass over the records.

    Parameters
    ----------
    model : classifier
        A fitted classifier with `staged_predict`. That of scikit-learn's boosting, which takes no stages, works as
        well; one step is then one round of boosting.
    X : array-like of shape (n_records, n_features)
        Records that the model has not seen.
    y : array-like of shape (n_records,)
        Their classes. One that the model does not know counts as an error.
    stages : sequence of int, optional
        Ascending numbers of steps. Default: every step from 0 to `budget`.
    budget : int, optional
        The last step, r; instead of `stages`. Default: the model's own budget; 200, as in the paper, if it has none.

    Examples
    --------
    >>> from anystream import BayesTreeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = anytime_curve(BayesTreeClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2], budget=10)
    >>> curve.accuracy.shape, curve.max > 0.9
    ((11,), True)
    """
    if not hasattr(model, "staged_predict"):
        raise TypeError(f"{type(model).__name__} has no staged_predict; use an anytime classifier")
    check_is_fitted(model)
    labels = column_or_1d(y)
    n_records = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_records != len(labels):
        raise ValueError(f"there are {n_records} records and {len(labels)} labels; give one label to each record")
    if n_records == 0:
        raise ValueError("there are no records; a curve needs at least one")
    steps = _choose_stages(model, X, stages, budget)

    right = np.zeros(steps.size, dtype=np.int64)
    at_once = max(1, _CELLS_AT_ONCE // (steps.size * max(1, len(model.classes_))))
    for rows in gen_batches(n_records, at_once):
        answers = _staged_labels(model, _safe_indexing(X, rows), steps)
        right += [_count_equal(answer, labels[rows]) for answer in answers]
    return AnytimeCurve(steps, right / n_records, n_records)


def _choose_stages(model: Any, X: Any, stages: Sequence[int] | None, budget: int | None) -> NDArray[np.int64]:
    if stages is not None:
        if budget is not None:
            raise TypeError("stages and budget both say where the curve ends; give one of them")
        return check_stages(stages)
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, Integral) or budget < 0):
        raise ValueError(f"budget is {budget!r}; use the number of steps at which the curve ends, from 0 on")
    if _takes_stages(model):
        last = int(getattr(model, "budget", PUBLISHED_STEPS) if budget is None else budget)
        return check_stages(range(last + 1))
    rounds = sum(1 for _ in model.staged_predict(_safe_indexing(X, slice(0, 1))))
    return check_stages(range(1, 1 + (rounds if budget is None else int(budget))))


def _takes_stages(model: Any) -> bool:
    return "stages" in inspect.signature(model.staged_predict).parameters


def _staged_labels(model: Any, X: Any, stages: NDArray[np.int64]) -> Iterator[NDArray[Any]]:
    if _takes_stages(model):
        yield from model.staged_predict(X, stages=stages.tolist())
        return
    wanted = set(stages.tolist())
    for done, labels in enumerate(model.staged_predict(X), start=1):
        if done in wanted:
            wanted.remove(done)
            yield labels
    if wanted:
        raise ValueError(
            f"{type(model).__name__} has answers after 1 to {done} steps, not after {sorted(wanted)}; "
            "choose the stages among them"
        )


def _count_equal(predicted: NDArray[Any], labels: NDArray[Any]) -> int:
    if (predicted.dtype.kind in "US") != (labels.dtype.kind in "US"):  # words and numbers: equal only as objects
        predicted, labels = predicted.astype(object), labels.astype(object)
    return int(np.count_nonzero(predicted == labels))


def _mean_height(x: NDArray[np.float64], height: NDArray[np.float64]) -> float:
    if x.size == 1:
        return float(height[0])
    return float(np.sum(np.diff(x) * (height[1:] + height[:-1]) / 2) / (x[-1] - x[0]))


def _range(stages: NDArray[np.int64]) -> str:
    return f"{stages[0]} to {stages[-1]}"
