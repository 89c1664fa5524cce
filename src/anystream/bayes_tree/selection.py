"""Choosing what the parameters leave open, on training data alone: metric, kernel width, decision and the roots' vote."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
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

_FACTORS = (0.1, 0.3, 1.0, 3.0)  # of the kernel's variance
_WEIGHTS = (0.1, 0.3, 1.0)  # of the roots' vote
_STAGES = np.array([0, 1, 2, 5, 10, 20, 50, 100, 200])
_MOST_JUDGED, _MOST_BUILT = 2000, 20_000
_MOST_FEATURES = 128  # more make the root model's covariances too large to be worth it
_LEAST_JUDGED = 30  # fewer say nothing


@dataclass(frozen=True)
class Plan:
    """What a model is built and asked with."""

    metric: str | None
    factor: float  # times the kernel variance of the parameter `bandwidth`
    decision: str
    root_weight: float


def choose(model: BayesTreeClassifier, points: NDArray[np.float64], labels: NDArray[np.int32]) -> Plan:
    """The plan that answers a held-out quarter of the data best.

    Judged by the mean accuracy over the first 200 steps. One thing is chosen after the other, the metric first; a
    candidate replaces an earlier one only if it is better.
    """
    open_metric = model.metric == "auto"
    open_vote = model.root_model == "auto" and points.shape[1] <= _MOST_FEATURES
    vote = _WEIGHTS[1] if open_vote else 0.0
    if not isinstance(model.root_model, str):
        vote = float(model.root_model or 0.0)
    start = Plan(None if open_metric else model.metric, 1.0, model.decision, vote)
    classes = int(labels.max()) + 1
    judged, built = _split(labels, model.seed)
    if not (open_metric or open_vote) or classes < 2 or len(judged) < _LEAST_JUDGED:
        return replace(start, root_weight=0.0) if open_vote and len(judged) < _LEAST_JUDGED else start
    trial = _Trial(model, points[built], labels[built], points[judged], labels[judged])
    best = start
    if open_metric:
        best = trial.best(best, (replace(best, metric=metric) for metric in CANDIDATES))
        if parse_bandwidth(model.bandwidth)[0] == "factor":
            best = trial.best(best, (replace(best, factor=factor) for factor in _FACTORS))
        best = trial.best(best, (replace(best, decision=decision) for decision in ("ensemble", "mixture")))
    if open_vote:
        best = trial.best(best, (replace(best, root_weight=weight) for weight in (0.0, *_WEIGHTS)))
    return best


def _split(labels: NDArray[np.int32], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every fourth object of each class, and the others; both cut to what is worth looking at."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(labels))
    rank = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        own = order[labels[order] == label]
        rank[own] = np.arange(len(own))
    judged, built = order[rank[order] % 4 == 3], order[rank[order] % 4 != 3]
    return judged[:_MOST_JUDGED], np.sort(built[:_MOST_BUILT])


class _Trial:
    """Forests of one part of the data, judged on another; each is built once."""

    def __init__(
        self,
        model: BayesTreeClassifier,
        points: NDArray[np.float64],
        labels: NDArray[np.int32],
        queries: NDArray[np.float64],
        answers: NDArray[np.int32],
    ) -> None:
        self._model, self._points, self._labels, self._queries, self._answers = model, points, labels, queries, answers
        self._metrics: dict[str, Metric] = {}
        self._forests: dict[tuple[str | None, float], BayesForest] = {}
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
            labels = np.empty((len(self._queries), len(_STAGES)), dtype=np.int32)
            queries = self._mapped(plan.metric, self._queries)
            settings = self._model._query_settings(plan)
            self._forest(plan).label_in_stages(settings, queries, _STAGES, self._model._threads(), labels)
            accuracy = (labels == self._answers[:, np.newaxis]).mean(axis=0)
            self._scores[plan] = float(np.trapezoid(accuracy, _STAGES) / _STAGES[-1])
        return self._scores[plan]

    def _mapped(self, metric: str | None, points: NDArray[np.float64]) -> NDArray[np.float64]:
        if metric is None:
            return points
        if metric not in self._metrics:
            self._metrics[metric] = learn_metric(metric, self._points, self._labels, self._model.seed)
        return self._metrics[metric].apply(points)

    def _forest(self, plan: Plan) -> BayesForest:
        key = plan.metric, plan.factor
        if key not in self._forests:
            points = self._mapped(plan.metric, self._points)
            self._forests[key] = self._model._build(plan, points, self._labels, int(self._labels.max()) + 1)
        return self._forests[key]


def scaled_alpha(alpha: float, factor: float) -> float:
    """alpha times factor, to six digits: it is written into parameters and files."""
    return float(f"{alpha * factor:.6g}") if math.isfinite(alpha) else alpha
