"""What the parameters leave open, chosen on training data alone: metric, kernel width, decision, the roots' vote."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from anystream.bayes_tree.metric import Metric, learn_metric
from anystream.progress import run_with_progress

if TYPE_CHECKING:
    from anystream._native import BayesForest, Counter, StopToken
    from anystream.bayes_tree.classifier import BayesTreeClassifier

CANDIDATES = (None, "whiten", "diagonal", "quantile", "quantile+whiten", "quantile+diagonal")
"""The metrics that ``metric="auto"`` tries."""

MANY_FEATURES = 256
"""More make full covariances too large to be worth it."""

_WIDTHS = ("f0.05", "f0.015", "f0.005", "f0.15")  # of the kernels
_DECISIONS = ("ensemble", "mixture")
_VOTES = (0.0, 0.1, 0.3, 1.0, 3.0)  # of the root model
_STAGES = np.array([0, 1, 2, 5, 10, 20, 50, 100])
_FIRST_JUDGED, _MOST_JUDGED, _ENOUGH_JUDGED = 500, 2000, 2000
_MOST_BUILT, _MOST_VALUES = 20_000, 1_500_000  # objects of a tree that is only judged, and their features
_FINALISTS = 4  # candidates that are judged by more than the first objects
_ITERATIONS = 12  # of margin maximisation: most of the gain comes with the first ten
_LEAST_JUDGED = 30  # fewer say nothing


@dataclass(frozen=True)
class Plan:
    """What a model is built and asked with where its parameters say ``"auto"``."""

    metric: str | None
    bandwidth: str
    decision: str
    root_weight: float | None  # None: there is no root model; 0: it is silent once the trees took over

    @classmethod
    def unjudged(cls, model: BayesTreeClassifier) -> Self:
        """What the parameters say; ``"auto"`` as it is when there is nothing to choose by."""
        return cls(
            None if model.metric == "auto" else model.metric,
            _WIDTHS[0] if model.bandwidth == "auto" else model.bandwidth,
            _DECISIONS[0] if model.decision == "auto" else model.decision,
            float(model.root_model) if isinstance(model.root_model, Real) else None,
        )


def choose(model: BayesTreeClassifier, points: NDArray[np.float64], labels: NDArray[np.int32]) -> Plan:
    """The plan that answers held-out quarters of the data best.

    Judged by the mean accuracy over the first 100 steps. One thing is chosen after the other: the metric, the width,
    the decision, the vote; a candidate replaces an earlier one only if it is better. Each of the four quarters is held
    out in turn until enough objects have been judged; only the best after the first ones are judged by all.
    """
    start = Plan.unjudged(model)
    open_metric = model.metric == "auto"
    open_vote = model.root_model == "auto" and points.shape[1] <= MANY_FEATURES
    quarters = _quarters(labels, model.seed)
    if not (open_metric or open_vote) or labels.max() < 1 or len(quarters[0]) < _LEAST_JUDGED:
        return start
    metrics = CANDIDATES if open_metric else (start.metric,)
    widths = _WIDTHS if open_metric and model.bandwidth == "auto" else (start.bandwidth,)
    decisions = _DECISIONS if open_metric and model.decision == "auto" else (start.decision,)
    votes = _VOTES if open_vote else (start.root_weight,)

    def judge(done: Counter, stop: StopToken) -> Plan:
        trial = _Trial(model, points, labels, quarters, done, stop)
        # A metric changes what the width means: it is tried with two of them.
        best = trial.best(
            [replace(start, metric=metric, bandwidth=width) for metric in metrics for width in widths[:2]]
        )
        best = trial.best([best, *(replace(best, bandwidth=width) for width in widths[2:])])
        best = trial.best([replace(best, decision=decision) for decision in decisions])
        return trial.best([replace(best, root_weight=vote) for vote in votes])

    plans = len(metrics) * len(widths[:2]) + len(widths[1:]) + len(decisions) + len(votes)
    return run_with_progress(judge, total=plans, what="choosing by held-out objects")


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
        self._forests: dict[tuple[int, str | None, str], BayesForest] = {}
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
        finalists: list[Plan] = [plans[place] for place in sorted(ranked[:_FINALISTS].tolist())]
        scores = [self._score(plan, len(self._parts)) for plan in finalists]
        return finalists[int(np.argmax(scores))]

    def _score(self, plan: Plan, parts: int) -> float:
        """Mean accuracy over the first 100 steps on the first parts."""
        right = np.concatenate([self._right(part, plan) for part in range(parts)])
        return float(np.trapezoid(right.mean(axis=0), _STAGES) / _STAGES[-1])

    def _right(self, number: int, plan: Plan) -> NDArray[np.bool_]:
        """Whether each object of a part is classified rightly at each stage."""
        if (number, plan) not in self._judged:
            if self._stop.is_set():
                raise KeyboardInterrupt
            part = self._parts[number]
            labels = np.empty((len(part.queries), len(_STAGES)), dtype=np.int32)
            forest, metric = self._forest(part.quarter, plan), self._metric(part.quarter, plan.metric)
            forest.label_in_stages(
                self._model._query_settings(plan),
                part.queries,
                _STAGES,
                self._model._threads(),
                labels,
                None if metric is None else metric.native,
            )
            self._judged[number, plan] = np.asarray(labels == part.answers[:, np.newaxis])
        return self._judged[number, plan]

    def _outside(self, quarter: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Objects to build from when this quarter is held out, and their classes."""
        if quarter not in self._built:
            build = np.concatenate([self._quarters[other] for other in range(4) if other != quarter])
            most = min(_MOST_BUILT, max(2000, _MOST_VALUES // self._points.shape[1]))
            if len(build) > most:
                build = np.random.default_rng(self._model.seed).permutation(build)[:most]
            build.sort()
            self._built[quarter] = self._points[build], self._labels[build]
        return self._built[quarter]

    def _metric(self, quarter: int, name: str | None) -> Metric | None:
        """The metric learned from what is outside a quarter."""
        if name is None:
            return None
        if (quarter, name) not in self._metrics:
            self._metrics[quarter, name] = learn_metric(
                name, *self._outside(quarter), self._model.seed, self._model._threads()
            )
        return self._metrics[quarter, name]

    def _forest(self, quarter: int, plan: Plan) -> BayesForest:
        key = quarter, plan.metric, plan.bandwidth
        if key not in self._forests:
            points, labels = self._outside(quarter)
            metric, trees_alone = self._metric(quarter, plan.metric), replace(plan, root_weight=None)
            mapped = points if metric is None else metric.apply(points, self._model._threads())
            self._forests[key] = self._model._build(
                trees_alone, mapped, labels, self._classes, stop=self._stop, margin_iterations=_ITERATIONS
            )
        if plan.root_weight is not None and not self._forests[key].has_root_model:
            self._model._train_root_model(self._forests[key], self._stop, _ITERATIONS)
        return self._forests[key]
