"""Anytime curve: the accuracy of a classifier over its budget, and the measures that summarise it."""

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

from anystream.anytime.stages import check_stages
from anystream.plotting import accuracy_axes, step_ticks

PUBLISHED_STEPS = 200
"""Number of steps in the curves of the Bayes tree papers; r in [1]_ of `AnytimeCurve`."""

_MAX_CELLS = 1 << 22  # maximum number of probabilities (record x stage x class) that one call computes: 32 MB


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnytimeCurve:
    """Accuracy of an anytime classifier after each number of steps.

    Parameters
    ----------
    stages : array of shape (n_stages,)
        Ascending numbers of steps. Between two of them the accuracy at the earlier one holds; r is the last.
    accuracy : array of shape (n_stages,)
        Share of the records that were classified correctly after that many steps; acc(n) in [1]_.
    n_records : int
        Number of records that the curve was measured on.

    Notes
    -----
    As in [1]_, `avg`, `max` and `mon` cover the steps 1 to r: the accuracy at step 0 is part of the curve and of
    `area`, but not of these three. Steps before the first listed stage are unknown and not counted. If 0 is the only
    stage, it is counted.

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
                f"there are {stages.size} stages and accuracies of shape {accuracy.shape}; give one accuracy per stage"
            )
        if not np.all((accuracy >= 0.0) & (accuracy <= 1.0)):
            raise ValueError(f"accuracies range from {accuracy.min()} to {accuracy.max()}; use shares from 0 to 1")
        if self.n_records < 1:
            raise ValueError(f"n_records is {self.n_records}; a curve needs at least one record")
        for name, values in (("stages", stages), ("accuracy", accuracy)):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @classmethod
    def mean(cls, curves: Sequence[AnytimeCurve]) -> AnytimeCurve:
        """Return the mean of curves with the same stages; each curve has the same weight, as the folds in [1]_."""
        if not curves:
            raise ValueError("there are no curves to average; give at least one")
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
        acc(n - 1). For n = 1 there is no earlier accuracy and the term is 0.
        """
        return 1.0 - self._lost_area()

    @property
    def mon_normalised(self) -> float:
        """Monotonicity with the lost area in units of the curve's range, highest minus lowest; 1 if that is 0.

        The tables of [1]_ contain values of this size; the printed formula gives smaller differences. A fall is
        measured relative to the total gain over all steps, so curves that start near their final accuracy score low.
        """
        accuracy, _ = self._counted()
        span = float(accuracy.max() - accuracy.min())
        return 1.0 if span == 0.0 else 1.0 - self._lost_area() / span

    @property
    def area(self) -> float:
        """Mean height of the curve from the first stage to r, with straight lines between stages (trapezoids)."""
        return _mean_height(self.stages.astype(np.float64), self.accuracy)

    @property
    def log_area(self) -> float:
        """Mean height over the logarithm of the steps, from step 1 on: steps 1 to 10 weigh as much as 10 to 100."""
        positive = self.stages >= 1
        if not positive.any():
            return self.area
        return _mean_height(np.log(self.stages[positive]), self.accuracy[positive])

    def at(self, steps: ArrayLike) -> Any:
        """Return the accuracy after `steps` steps: a float for a number, an array for an array.

        Between two stages the accuracy at the earlier one holds. Outside the range of the stages the accuracy is not
        known, and a ValueError is raised.
        """
        wanted = np.asarray(steps)
        if wanted.size and (wanted.min() < self.stages[0] or wanted.max() > self.stages[-1]):
            outside = wanted.min() if wanted.min() < self.stages[0] else wanted.max()
            raise ValueError(
                f"the curve covers {_range(self.stages)} steps, not {outside}; include that number in its stages"
            )
        accuracy = self.accuracy[np.searchsorted(self.stages, wanted, side="right") - 1]
        return float(accuracy) if wanted.ndim == 0 else accuracy

    # -- output --------------------------------------------------------------------------------------------------------

    def milestones(self) -> list[int]:
        """Return the stages to list in a table: all of at most 12, otherwise 0, 1, 2, 5, 10, 20, 50, … and the last."""
        if self.stages.size <= 12:
            return [int(stage) for stage in self.stages]
        first, last = int(self.stages[0]), int(self.stages[-1])
        return sorted({first, last, *(tick for tick in step_ticks(last) if tick >= first)})

    def plot(self, ax: Any = None, label: str | None = None, *, log: bool = True) -> Any:
        """Draw the curve with matplotlib; the loss below the highest accuracy so far is shaded.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on, which may contain other curves already; new ones by default.
        label : str, optional
            Name of the curve in the legend.
        log : bool, default=True
            Whether steps are on a logarithmic scale.

        Returns
        -------
        matplotlib.axes.Axes
        """
        ax = accuracy_axes(ax, max_steps=int(self.stages[-1]), log=log)
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
        """Return all measures in one line."""
        records = f"{self.n_records:,} record{'s' if self.n_records > 1 else ''}"
        return (
            f"avg {self.avg:.1%}, max {self.max:.1%}, mon {self.mon:.1%} "
            f"(normalised {self.mon_normalised:.1%}), area {self.area:.1%}, "
            f"log area {self.log_area:.1%}; {records}"
        )

    def __repr__(self) -> str:
        return f"AnytimeCurve({_range(self.stages)} steps, avg={self.avg:.4f}, max={self.max:.4f}, mon={self.mon:.4f})"

    # -- implementation ------------------------------------------------------------------------------------------------

    def _counted(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the accuracies at the steps 1 to r, and for how many steps each of them holds."""
        if self.stages[-1] == 0:
            return self.accuracy, np.ones(1, dtype=np.int64)
        starts = np.maximum(self.stages, 1)
        steps = np.append(starts[1:], self.stages[-1] + 1) - starts
        return self.accuracy[steps > 0], steps[steps > 0]

    def _lost_area(self) -> float:
        """Return the sum in `mon`, divided by r."""
        accuracy, steps = self._counted()
        # The term is the same for all steps of a stage, and including acc(n) itself in A(n) does not change any term.
        return float(np.average(np.maximum.accumulate(accuracy) - accuracy, weights=steps))


def anytime_curve(
    model: Any, X: Any, y: ArrayLike, *, stages: Sequence[int] | None = None, budget: int | None = None
) -> AnytimeCurve:
    """Measure the accuracy of a fitted anytime classifier after each of `stages` steps, in one pass over the records.

    Parameters
    ----------
    model : classifier
        A fitted classifier with `staged_predict`. Scikit-learn's boosting classifiers, whose `staged_predict` does not
        take stages, work as well; one step is then one round of boosting.
    X : array-like of shape (n_records, n_features)
        Records that the model was not fitted on.
    y : array-like of shape (n_records,)
        The class of each record. A class that the model was not fitted on counts as an error.
    stages : sequence of int, optional
        Ascending numbers of steps. Default: every step from 0 to `budget`.
    budget : int, optional
        The last step, r; instead of `stages`. Default: `model.budget`, or 200, as in the paper, if there is none. The
        curve ends at `model.max_steps_` if no record takes more steps.

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
    labels = check_labels(X, y)
    n_records = len(labels)
    if n_records == 0:
        raise ValueError("there are no records; a curve needs at least one")
    steps = _choose_stages(model, X, stages, budget)

    n_correct = np.zeros(steps.size, dtype=np.int64)
    batch_size = max(1, _MAX_CELLS // (steps.size * max(1, len(model.classes_))))
    for batch in gen_batches(n_records, batch_size):
        staged = _staged_labels(model, _safe_indexing(X, batch), steps)
        n_correct += [_count_equal(predicted, labels[batch]) for predicted in staged]
    return AnytimeCurve(steps, n_correct / n_records, n_records)


def check_labels(X: Any, y: ArrayLike) -> NDArray[Any]:
    """Check that `y` has one label per record of `X`; return the labels as an array."""
    labels = np.asarray(column_or_1d(y))
    n_records = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_records != len(labels):
        raise ValueError(f"there are {n_records} records and {len(labels)} labels; give one label per record")
    return labels


def _choose_stages(model: Any, X: Any, stages: Sequence[int] | None, budget: int | None) -> NDArray[np.int64]:
    if stages is not None:
        if budget is not None:
            raise TypeError("both stages and budget are given, and both set the end of the curve; give one of them")
        return check_stages(stages)
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, Integral) or budget < 0):
        raise ValueError(f"budget is {budget!r}; use the number of steps at which the curve ends, at least 0")
    if _takes_stages(model):
        last = int(getattr(model, "budget", PUBLISHED_STEPS) if budget is None else budget)
        last = min(last, getattr(model, "max_steps_", last))
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
            f"{type(model).__name__} predicts after 1 to {done} steps, not after {sorted(wanted)}; "
            "choose stages in that range"
        )


def _count_equal(predicted: NDArray[Any], labels: NDArray[Any]) -> int:
    if (predicted.dtype.kind in "US") != (labels.dtype.kind in "US"):  # comparable only as objects
        predicted, labels = predicted.astype(object), labels.astype(object)
    return int(np.count_nonzero(predicted == labels))


def _mean_height(x: NDArray[np.float64], height: NDArray[np.float64]) -> float:
    if x.size == 1:
        return float(height[0])
    return float(np.sum(np.diff(x) * (height[1:] + height[:-1]) / 2) / (x[-1] - x[0]))


def _range(stages: NDArray[np.int64]) -> str:
    return f"{stages[0]} to {stages[-1]}"
