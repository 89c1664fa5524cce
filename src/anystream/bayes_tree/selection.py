"""What the parameters leave open, chosen on training data alone: metric, kernel width, decision, the roots' vote."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anystream.bayes_tree.bandwidth import parse_bandwidth
from anystream.bayes_tree.metric import Metric, learn_metric

if TYPE_CHECKING:
    from anystream._native import BayesForest
    from anystream.bayes_tree.classifier import BayesTreeClassifier

CANDIDATES = (None, "whiten", "diagonal", "quantile", "quantile+whiten", "quantile+diagonal")
"""The metrics that ``metric="auto"`` tries."""

_FACTORS = (1.0, 0.3, 0.1, 3.0)  # of the kernel's variance
_WEIGHTS = (0.1, 0.3, 1.0, 3.0)  # of the roots' vote
_STAGES = np.array([0, 1, 2, 5, 10, 20, 50, 100, 200])
_MOST_JUDGED, _ENOUGH_JUDGED, _MOST_BUILT = 2000, 1000, 20_000
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

    Judged by the mean accuracy over the first 200 steps. One thing is chosen after the other, the metric first; a
    candidate replaces an earlier one only if it is better. Each of the four quarters is held out in turn until enough
    objects have been judged.
    """
    open_metric = model.metric == "auto"
    open_vote = model.root_model == "auto" and points.shape[1] <= _MOST_FEATURES
    vote = _WEIGHTS[1] if open_vote else None
    if isinstance(model.root_model, Real):
        vote = float(model.root_model)
    start = Plan(None if open_metric else model.metric, 1.0, model.decision, vote)
    quarters = _quarters(labels, model.seed)
    if not (open_metric or open_vote) or labels.max() < 1:
        return start
    if len(quarters[0]) < _LEAST_JUDGED:
        return replace(start, root_weight=None) if open_vote else start
    trial = _Trial(model, points, labels, quarters, start.root_weight)
    best = start
    if open_metric:
        factors = _FACTORS if parse_bandwidth(model.bandwidth)[0] == "factor" else (1.0,)
        # A metric changes what the width means: it is tried with two of them.
        pairs = ((metric, factor) for metric in CANDIDATES for factor in factors[:2])
        best = trial.best(best, (replace(best, metric=metric, factor=factor) for metric, factor in pairs))
        best = trial.best(best, (replace(best, factor=factor) for factor in factors[2:]))
        best = trial.best(best, (replace(best, decision=decision) for decision in ("ensemble", "mixture")))
    if open_vote:
        best = trial.best(best, (replace(best, root_weight=weight) for weight in (0.0, *_WEIGHTS)))
    return best


def _quarters(labels: NDArray[np.int32], seed: int) -> list[NDArray[np.int64]]:
    """Four parts with equal shares of every class."""
    order = np.random.default_rng(seed).permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    return [np.random.default_rng(seed).permutation(by_class[part::4]) for part in range(4)]


@dataclass
class _Part:
    """Objects to build from and objects to judge by."""

    points: NDArray[np.float64]
    labels: NDArray[np.int32]
    queries: NDArray[np.float64]
    answers: NDArray[np.int32]


class _Trial:
    """Forests of parts of the data, judged on the rest; each is built once."""

    def __init__(
        self,
        model: BayesTreeClassifier,
        points: NDArray[np.float64],
        labels: NDArray[np.int32],
        quarters: list[NDArray[np.int64]],
        root_weight: float | None,
    ) -> None:
        self._model, self._classes, self._root_weight = model, int(labels.max()) + 1, root_weight
        self._parts: list[_Part] = []
        judged = 0
        for held_out in range(4):
            if judged >= _ENOUGH_JUDGED:
                break
            judge = quarters[held_out][:_MOST_JUDGED]
            build = np.concatenate([quarters[q] for q in range(4) if q != held_out])
            if len(build) > _MOST_BUILT:
                build = np.random.default_rng(model.seed).permutation(build)[:_MOST_BUILT]
            build.sort()
            self._parts.append(_Part(points[build], labels[build], points[judge], labels[judge]))
            judged += len(judge)
        self._metrics: dict[tuple[int, str], Metric] = {}
        self._forests: dict[tuple[int, str | None, float], BayesForest] = {}
        self._scores: dict[Plan, float] = {}

    def best(self, present: Plan, others: Iterable[Plan]) -> Plan:
        """The plan of the highest score; the present one if no other is better."""
        for plan in others:
            if self.score(plan) > self.score(present):
                present = plan
        return present

    def score(self, plan: Plan) -> float:
        """Mean accuracy over the first 200 steps."""
        if plan not in self._scores:
            right = np.concatenate([self._right(number, plan) for number in range(len(self._parts))])
            self._scores[plan] = float(np.trapezoid(right.mean(axis=0), _STAGES) / _STAGES[-1])
        return self._scores[plan]

    def _right(self, number: int, plan: Plan) -> NDArray[np.bool_]:
        """Whether each judged object of a part is classified rightly at each stage."""
        part = self._parts[number]
        labels = np.empty((len(part.queries), len(_STAGES)), dtype=np.int32)
        forest, queries = self._forest(number, plan), self._mapped(number, plan.metric, part.queries)
        forest.label_in_stages(self._model._query_settings(plan), queries, _STAGES, self._model._threads(), labels)
        return np.asarray(labels == part.answers[:, np.newaxis])

    def _mapped(self, number: int, metric: str | None, points: NDArray[np.float64]) -> NDArray[np.float64]:
        if metric is None:
            return points
        if (number, metric) not in self._metrics:
            part = self._parts[number]
            learned = learn_metric(metric, part.points, part.labels, self._model.seed)
            self._metrics[number, metric] = learned
        return self._metrics[number, metric].apply(points)

    def _forest(self, number: int, plan: Plan) -> BayesForest:
        key = number, plan.metric, plan.factor
        if key not in self._forests:
            part = self._parts[number]
            points = self._mapped(number, plan.metric, part.points)
            with_roots = replace(plan, root_weight=self._root_weight)  # whichever plan comes first
            self._forests[key] = self._model._build(
                with_roots, points, part.labels, self._classes, margin_iterations=_ITERATIONS
            )
        return self._forests[key]


def scaled_alpha(alpha: float, factor: float) -> float:
    """Alpha times factor, to six digits: it is written into parameters and files."""
    return float(f"{alpha * factor:.6g}") if math.isfinite(alpha) else alpha
