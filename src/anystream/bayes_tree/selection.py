"""What the parameters leave open, chosen on training data alone: metric, kernel width, decision, the roots' vote."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anystream.bayes_tree.bandwidth import parse_bandwidth
from anystream.bayes_tree.metric import Metric, learn_metric
from anystream.progress import run_with_progress

if TYPE_CHECKING:
    from anystream._native import BayesForest, Counter, StopToken
    from anystream.bayes_tree.classifier import BayesTreeClassifier

CANDIDATES = (None, "whiten", "diagonal", "quantile", "quantile+whiten", "quantile+diagonal")
"""The metrics that ``metric="auto"`` tries."""

_FACTORS = (1.0, 0.3, 0.1, 3.0)  # of the kernel's variance
_WEIGHTS = (0.1, 0.3, 1.0, 3.0)  # of the roots' vote
_STAGES = np.array([0, 1, 2, 5, 10, 20, 50, 100, 200])
_FIRST_JUDGED, _MOST_JUDGED, _ENOUGH_JUDGED, _MOST_BUILT = 500, 2000, 1000, 20_000
_FINALISTS = 4  # candidates that are judged by more than the first objects
_ITERATIONS = 12  # of margin maximisation: most of the gain comes with the first ten
_MOST_FEATURES = 128  # more make the root model's covariances too large to be worth it
_LEAST_JUDGED = 30  # fewer say nothing


@dataclass(frozen=True)
class Plan:
    """What a model is built and asked with."""

    metric: str | None
    factor: float  # times the kernel variance of the parameter `bandwidth`
    decision: str
    root_weight: float | None  # None: there is no root model; 0: it answers before the first step only


def choose(model: BayesTreeClassifier, points: NDArray[np.float64], labels: NDArray[np.int32]) -> Plan:
    """The plan that answers held-out quarters of the data best.

    Judged by the mean accuracy over the first 200 steps. One thing is chosen after the other: the metric, the width,
    the decision, the vote; a candidate replaces an earlier one only if it is better. Each of the four quarters is held
    out in turn until enough objects have been judged; only the best after the first ones are judged by all.
    """
    open_metric = model.metric == "auto"
    open_vote = model.root_model == "auto" and points.shape[1] <= _MOST_FEATURES
    vote = float(model.root_model) if isinstance(model.root_model, Real) else None
    start = Plan(None if open_metric else model.metric, 1.0, model.decision, vote)
    quarters = _quarters(labels, model.seed)
    if not (open_metric or open_vote) or labels.max() < 1 or len(quarters[0]) < _LEAST_JUDGED:
        return start
    widths = _FACTORS if parse_bandwidth(model.bandwidth)[0] == "factor" else (1.0,)

    def judge(done: Counter, stop: StopToken) -> Plan:
        trial = _Trial(model, points, labels, quarters, done, stop)
        best = start
        if open_metric:
            # A metric changes what the width means: it is tried with two of them.
            pairs = [(metric, width) for metric in CANDIDATES for width in widths[:2]]
            best = trial.best([replace(best, metric=metric, factor=width) for metric, width in pairs])
            best = trial.best([best, *(replace(best, factor=width) for width in widths[2:])])
            best = trial.best([best, *(replace(best, decision=decision) for decision in _others(best.decision))])
        if open_vote:
            best = trial.best([replace(best, root_weight=weight) for weight in (0.0, *_WEIGHTS)])
        return best

    candidates = len(CANDIDATES) * len(widths[:2]) + len(widths) + len(_DECISIONS) + len(_WEIGHTS)
    return run_with_progress(judge, total=candidates, what="choosing by held-out objects")


_DECISIONS = ("ensemble", "mixture")


def _others(decision: str) -> tuple[str, ...]:
    return tuple(other for other in _DECISIONS if other != decision)


def _quarters(labels: NDArray[np.int32], seed: int) -> list[NDArray[np.int64]]:
    """Four parts with equal shares of every class."""
    order = np.random.default_rng(seed).permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    return [np.random.default_rng(seed).permutation(by_class[part::4]) for part in range(4)]


@dataclass(frozen=True)
class _Part:
    """Objects of a held-out quarter to judge by."""

    quarter: int
    queries: NDArray[np.float64]
    answers: NDArray[np.int32]


class _Trial:
    """Forests of three quarters of the data, judged on the fourth; each is built once."""

    def __init__(
        self,
        model: BayesTreeClassifier,
        points: NDArray[np.float64],
        labels: NDArray[np.int32],
        quarters: list[NDArray[np.int64]],
        done: Counter,
        stop: StopToken,
    ) -> None:
        self._model, self._points, self._labels, self._quarters = model, points, labels, quarters
        self._classes, self._done, self._stop = int(labels.max()) + 1, done, stop
        self._parts: list[_Part] = []  # the first is for the first heat
        judged = 0
        for quarter in range(4):
            cuts = (0, _FIRST_JUDGED, _MOST_JUDGED) if quarter == 0 else (0, _MOST_JUDGED)
            for first, last in pairwise(cuts):
                chosen = quarters[quarter][first:last]
                if len(chosen) > 0:
                    self._parts.append(_Part(quarter, points[chosen], labels[chosen]))
                    judged += len(chosen)
            if judged >= _ENOUGH_JUDGED:
                break
        self._built: dict[int, tuple[NDArray[np.float64], NDArray[np.int32]]] = {}
        self._metrics: dict[tuple[int, str], Metric] = {}
        self._forests: dict[tuple[int, str | None, float], BayesForest] = {}
        self._judged: dict[tuple[int, Plan], NDArray[np.bool_]] = {}

    def best(self, plans: list[Plan]) -> Plan:
        """The plan of the highest score; of equals the first."""
        if len(plans) == 1:
            return plans[0]
        heat = []
        for plan in plans:
            heat.append(self._score(plan, 1))
            self._done.add()
        ranked = np.argsort(-np.array(heat), kind="stable")
        finalists = [plans[place] for place in sorted(ranked[:_FINALISTS])]
        return max(finalists, key=lambda plan: self._score(plan, len(self._parts)))

    def _score(self, plan: Plan, parts: int) -> float:
        """Mean accuracy over the first 200 steps on the first parts."""
        right = np.concatenate([self._right(part, plan) for part in range(parts)])
        return float(np.trapezoid(right.mean(axis=0), _STAGES) / _STAGES[-1])

    def _right(self, number: int, plan: Plan) -> NDArray[np.bool_]:
        """Whether each object of a part is classified rightly at each stage."""
        if (number, plan) not in self._judged:
            if self._stop.is_set():
                raise KeyboardInterrupt
            part = self._parts[number]
            labels = np.empty((len(part.queries), len(_STAGES)), dtype=np.int32)
            forest, queries = self._forest(part.quarter, plan), self._mapped(part.quarter, plan.metric, part.queries)
            forest.label_in_stages(self._model._query_settings(plan), queries, _STAGES, self._model._threads(), labels)
            self._judged[number, plan] = np.asarray(labels == part.answers[:, np.newaxis])
        return self._judged[number, plan]

    def _outside(self, quarter: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Objects to build from when this quarter is held out, and their classes."""
        if quarter not in self._built:
            build = np.concatenate([self._quarters[other] for other in range(4) if other != quarter])
            if len(build) > _MOST_BUILT:
                build = np.random.default_rng(self._model.seed).permutation(build)[:_MOST_BUILT]
            build.sort()
            self._built[quarter] = self._points[build], self._labels[build]
        return self._built[quarter]

    def _mapped(self, quarter: int, metric: str | None, points: NDArray[np.float64]) -> NDArray[np.float64]:
        if metric is None:
            return points
        if (quarter, metric) not in self._metrics:
            self._metrics[quarter, metric] = learn_metric(metric, *self._outside(quarter), self._model.seed)
        return self._metrics[quarter, metric].apply(points, self._model._threads())

    def _forest(self, quarter: int, plan: Plan) -> BayesForest:
        key = quarter, plan.metric, plan.factor
        if key not in self._forests:
            points, labels = self._outside(quarter)
            mapped, trees_alone = self._mapped(quarter, plan.metric, points), replace(plan, root_weight=None)
            self._forests[key] = self._model._build(
                trees_alone, mapped, labels, self._classes, stop=self._stop, margin_iterations=_ITERATIONS
            )
        if plan.root_weight is not None and not self._forests[key].has_root_model:
            self._model._train_root_model(self._forests[key], self._stop, _ITERATIONS)
        return self._forests[key]


def scaled_alpha(alpha: float, factor: float) -> float:
    """Alpha times factor, to six digits: it is written into parameters and files."""
    return float(f"{alpha * factor:.6g}") if math.isfinite(alpha) else alpha
