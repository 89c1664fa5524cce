"""Choice of what the parameters leave open, on training data alone: metric, bandwidth, decision, root weight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream._native import BayesForest, Counter, StopToken
from anystream.bayes_tree.building import (
    SHAPED_WITHOUT_BANDWIDTH,
    build_forest,
    build_with_bandwidth,
    train_root_model,
)
from anystream.bayes_tree.metric import Metric, map_records
from anystream.bayes_tree.metric_learning import learn_metric
from anystream.bayes_tree.recipe import (
    DECISIONS,
    DEFAULT_BANDWIDTH,
    EVEN_HAND_OVER,
    HAND_OVER_STEPS,
    MAX_FULL_FEATURES,
    ForestRecipe,
    QueryRecipe,
)
from anystream.estimators.calibration import Calibration, fit_calibration
from anystream.estimators.held_out import MIN_RECORDS, split_in_quarters
from anystream.progress import run_with_progress

T = TypeVar("T")

METRIC_CANDIDATES = (None, "whiten", "diagonal", "quantile", "quantile+whiten", "quantile+diagonal")
"""The metrics that ``metric="auto"`` tries; those that whiten up to 256 features only, as their cost is cubic."""

_BANDWIDTHS = (DEFAULT_BANDWIDTH, "f0.015")  # that every metric is tried with
_FURTHER_BANDWIDTHS = {DEFAULT_BANDWIDTH: "f0.15", "f0.015": "f0.005"}  # next to the better of the two, on its far side
_MAX_CANDIDATES = len(METRIC_CANDIDATES) * len(_BANDWIDTHS)
_DECISIONS = DECISIONS[:2]
_ROOT_WEIGHTS = (0.0, 0.1, 0.3, 1.0, 3.0)
_SHARES = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0)  # candidates for the share of the trees at one stage
_MAX_SCORES = 8_000_000  # records x stages x classes that are weighed at once
_STAGES = np.array([0, 1, 2, 5, 10, 20, 50, 100])
_CUTS = (0, 100, 200, 500, 1000, 2000)  # of the first quarter: after each part, clearly worse candidates are out
_FIRST_JUDGED = 500  # records, or one quarter, after which only the best candidates stay
_MAX_JUDGED = _CUTS[-1]  # records of one quarter
_MAX_COPIES = 0.1  # share of records like the one before from which on none leaves before `_FIRST_JUDGED`
_ENOUGH_JUDGED = 2000  # records of all quarters; once reached, no further quarter is held out
_MAX_CLASSES = 1000  # judging a record costs as much as there are classes
_MAX_BUILT, _MIN_BUILT = 20_000, 2000  # records of a forest that is only judged
_MAX_BUILT_VALUES = 1_500_000  # records x features of such a forest
_FINALISTS = 4  # candidates that are judged by all records
_CLEAR_GAP = 3.0  # standard errors by which a candidate is clearly worse than the best one
_MARGIN_ITERATIONS = 12  # most of the gain comes in the first ten
_SCORED_WORK = 4  # judging a part once is 1 in the progress bar, scoring one is this


class Choice(NamedTuple):
    """What `choose` returns: a recipe in which nothing is undecided, and the calibration of its probabilities."""

    recipe: ForestRecipe
    calibration: Calibration | None


def choose(
    recipe: ForestRecipe,
    points: NDArray[np.float64],
    numbers: NDArray[np.int32],
    query: QueryRecipe,
    *,
    calibrate: bool = True,
    threads: int = 0,
) -> Choice:
    """Return the recipe, decided, with the values that classify held-out quarters of the data best; and a calibration.

    Recipes are judged by the mean accuracy over the first 100 steps. The values are chosen one after another: metric
    together with one of two bandwidths, the bandwidth beyond the better of the two, decision, then the root weight
    together with the share of the trees at each of `HAND_OVER_STEPS`. A candidate replaces an earlier one only if it is
    better. Each of the four quarters is held out in turn until enough records have been judged. All candidates are
    judged by the first records, the best of them by the others; one that is worse than the best by three standard
    errors, after 100 records or later, is judged no further. With too few records, one class or more than 1,000, the
    defaults stay.

    Parameters
    ----------
    recipe : ForestRecipe
        Its `undecided` fields are chosen, the others stay.
    points : array of shape (n_points, n_features)
        Training data, not mapped.
    numbers : array of shape (n_points,)
        Their class numbers.
    query : QueryRecipe
        How the queries descend that judge a recipe.
    calibrate : bool, default=True
        Whether to calibrate probabilities on the same records; without anything to choose there is no calibration.
    threads : int, default=0
        Threads; 0 means one per core. The choice does not depend on it.
    """
    default = recipe.decided()
    if not recipe.undecided or not 1 <= numbers.max() < _MAX_CLASSES or len(numbers) < MIN_RECORDS:
        return Choice(default, None)
    is_open = recipe.undecided.__contains__
    metrics = _affordable_metrics(points.shape[1]) if is_open("metric") else (recipe.metric,)
    bandwidths = _BANDWIDTHS if is_open("bandwidth") else (recipe.bandwidth,)
    decisions = _DECISIONS if is_open("decision") else (recipe.decision,)

    quarters = split_in_quarters(points, numbers, recipe.seed)
    parts = _held_out_parts(points, numbers, quarters)

    def choose_in_turn(done: Counter, stop: StopToken) -> Choice:
        trial = _Trial(points, numbers, quarters, parts, query, recipe.seed, threads, done, stop)
        # A metric changes the meaning of the bandwidth: each metric is tried with two of them.
        best = trial.best([replace(default, metric=m, bandwidth=b) for m in metrics for b in bandwidths])
        if is_open("bandwidth"):
            best = trial.best([best, replace(best, bandwidth=_FURTHER_BANDWIDTHS[best.bandwidth])])
        best = trial.best([replace(best, decision=d) for d in decisions])
        if is_open("root_weight"):
            best = trial.with_root_vote(best)
        return Choice(best, trial.calibration(best) if calibrate else None)

    work = sum(
        _judging_work(n_candidates, len(parts))
        for n_candidates in (len(metrics) * len(bandwidths), len(bandwidths), len(decisions))
    )
    if is_open("root_weight"):
        work += _SCORED_WORK * len(parts) + _MARGIN_ITERATIONS * len({part.quarter for part in parts})
    if calibrate:
        work += _SCORED_WORK * len(parts) + len(HAND_OVER_STEPS) + 1
    return run_with_progress(choose_in_turn, total=work, description="choosing by held-out records")


def _judging_work(n_candidates: int, n_parts: int) -> int:
    """Return how many parts `_Trial.best` judges, or need not judge because a candidate is out."""
    return 0 if n_candidates == 1 else n_candidates * n_parts


def _affordable_metrics(n_features: int) -> tuple[str | None, ...]:
    if n_features <= MAX_FULL_FEATURES:
        return METRIC_CANDIDATES
    return tuple(metric for metric in METRIC_CANDIDATES if metric is None or "whiten" not in metric)


@dataclass(frozen=True)
class _Part:
    """Records of a held-out quarter to judge by, and their class numbers."""

    quarter: int
    records: NDArray[np.float64]
    numbers: NDArray[np.int32]
    max_left: int  # candidates that may stay after it


def _held_out_parts(
    points: NDArray[np.float64], numbers: NDArray[np.int32], quarters: list[NDArray[np.int64]]
) -> list[_Part]:
    """Return the parts to judge by; the first one judges all candidates, the last one leaves the best."""
    parts: list[_Part] = []
    n_judged = 0
    n_early = min(_FIRST_JUDGED, len(quarters[0]))  # fewer do not tell which candidates are the best
    for quarter in range(4):
        cuts = (0, _MAX_JUDGED) if quarter > 0 else _cuts(points[quarters[0][:_FIRST_JUDGED]])
        for first, last in pairwise(cuts):
            chosen = quarters[quarter][first:last]
            if len(chosen) > 0:
                n_judged += len(chosen)
                max_left = _MAX_CANDIDATES if n_judged < n_early else _FINALISTS
                parts.append(_Part(quarter, points[chosen], numbers[chosen], max_left))
        if n_judged >= _ENOUGH_JUDGED:
            break
    parts[-1] = replace(parts[-1], max_left=1)
    return parts


def _cuts(records: NDArray[np.float64]) -> tuple[int, ...]:
    """Return the cuts of the first quarter, which begins with these records.

    Weights make copies that follow each other: one hundred of them may be a few records, too few to judge by.
    """
    same = (records[1:] == records[:-1]) | (np.isnan(records[1:]) & np.isnan(records[:-1]))
    if same.all(axis=1).mean() <= _MAX_COPIES:
        return _CUTS
    return (0, *(cut for cut in _CUTS if cut >= _FIRST_JUDGED))


class _Scores(NamedTuple):
    """Both parts of every decision on held-out records, as logarithms to the base 2."""

    numbers: NDArray[np.int32]  # (records,) classes
    trees: NDArray[np.float64]  # (records, stages, classes)
    votes: NDArray[np.float64]  # (records, classes) of the root model
    exhausted: NDArray[np.bool_]  # (records, stages)

    def weighed(self, stage: int, share: float, weight: float) -> NDArray[np.float64]:
        """Return what decides at a stage, with this share of the trees and this weight of the root model."""
        if stage == 0:
            return self.votes
        return _weighed(self.trees[:, stage], self.votes, self.exhausted[:, stage], share, weight)


def _weighed(
    trees: NDArray[np.float64],
    votes: NDArray[np.float64],
    exhausted: NDArray[np.bool_],
    share: float,
    weight: float,
) -> NDArray[np.float64]:
    """Return what decides about records by the scores of the trees and the votes of the root model."""
    shares = np.where(exhausted, 1.0, share)[:, np.newaxis]
    return np.asarray(shares * trees + (1 - shares + shares * weight) * votes)


class _Dispute(NamedTuple):
    """The records about which the trees and the root model disagree at one stage.

    About any other record every share and weight decides the same.
    """

    n_agreed: int  # how many other records are classified correctly
    numbers: NDArray[np.int32]  # (records,) classes
    trees: NDArray[np.float64]  # (records, classes)
    votes: NDArray[np.float64]  # (records, classes)
    exhausted: NDArray[np.bool_]  # (records,)

    @classmethod
    def at(cls, scores: _Scores, stage: int, vote_labels: NDArray[np.intp]) -> Self:
        """Return the dispute at a stage; `vote_labels` are those of the root model."""
        labels = scores.trees[:, stage].argmax(axis=1)
        split = labels != vote_labels
        n_agreed = int(np.count_nonzero((labels == scores.numbers) & ~split))
        arrays = scores.numbers, scores.trees[:, stage], scores.votes, scores.exhausted[:, stage]
        return cls(n_agreed, *(each[split] for each in arrays))

    def n_correct(self, share: float, weight: float) -> int:
        """Return how many of all records are classified correctly with this share of the trees and this weight."""
        scores = _weighed(self.trees, self.votes, self.exhausted, share, weight)
        return self.n_agreed + int(np.count_nonzero(scores.argmax(axis=1) == self.numbers))


def _disputes(scores: _Scores) -> list[_Dispute]:
    """Return the disputes at all of `HAND_OVER_STEPS`."""
    vote_labels = scores.votes.argmax(axis=1)
    return [_Dispute.at(scores, stage, vote_labels) for stage in range(1, len(HAND_OVER_STEPS) + 1)]


def _best_hand_over(disputes: list[_Dispute], n: int, weight: float) -> tuple[float, tuple[float, ...]]:
    """Return the mean accuracy on `n` records over `HAND_OVER_STEPS` and the shares of the trees that reach it.

    Shares never fall from one stage to the next and end at 1. Of nearly equal ones those nearest to the even hand-over
    are taken: a share that differs by 1 must classify one more record correctly.
    """
    accuracy = np.array(
        [
            [dispute.n_correct(share, weight) / n - abs(share - even) / n for share in _SHARES]
            for dispute, even in zip(disputes, EVEN_HAND_OVER, strict=True)
        ]
    )
    widths = np.diff([0, *HAND_OVER_STEPS])
    total = np.full(len(_SHARES), 0.0)  # of the best shares so far, by the share of the last stage
    chosen = []
    for stage, width in enumerate(widths):
        before = [int(total[: last + 1].argmax()) for last in range(len(_SHARES))]
        chosen.append(before)
        total = total[before] + width * accuracy[stage]
    place = len(_SHARES) - 1
    shares = [_SHARES[place]]
    for before in reversed(chosen[1:]):
        place = before[place]
        shares.append(_SHARES[place])
    return float(total[-1] / widths.sum()), tuple(reversed(shares))


def _over_steps(accuracy: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean over the first 100 steps of what the last axis has for each of `_STAGES`."""
    return np.asarray(np.trapezoid(accuracy.astype(np.float64), _STAGES) / _STAGES[-1])


def _is_clearly_worse(correct: NDArray[np.bool_], best: NDArray[np.bool_]) -> bool:
    """Whether a candidate is worse than another one on the same records by more than `_CLEAR_GAP` standard errors."""
    gap = _over_steps(best) - _over_steps(correct)
    return bool(gap.mean() > _CLEAR_GAP * gap.std() / np.sqrt(len(gap)))


class _Trial:
    """Forests of three quarters of the data, judged by the fourth; each is built once."""

    def __init__(
        self,
        points: NDArray[np.float64],
        numbers: NDArray[np.int32],
        quarters: list[NDArray[np.int64]],
        parts: list[_Part],
        query: QueryRecipe,
        seed: int,
        threads: int,
        done: Counter,
        stop: StopToken,
    ) -> None:
        self._points, self._numbers, self._n_classes = points, numbers, int(numbers.max()) + 1
        self._query, self._seed, self._threads, self._done, self._stop = query, seed, threads, done, stop
        self._quarters, self._parts = quarters, parts
        self._built_from: dict[int, tuple[NDArray[np.float64], NDArray[np.int32]]] = {}
        self._metrics: dict[tuple[int, str | None], Metric | None] = {}
        self._forests: dict[tuple[int, str | None, str], BayesForest] = {}
        self._judged: dict[tuple[int, ForestRecipe], NDArray[np.bool_]] = {}
        self._scored: dict[ForestRecipe, _Scores] = {}

    def best(self, recipes: list[ForestRecipe]) -> ForestRecipe:
        """Return the recipe of the highest score, the first of equal ones."""
        if len(recipes) == 1:
            return recipes[0]
        left = recipes
        for number, part in enumerate(self._parts):
            self._done.add(len(recipes) - len(left))  # those that are out
            if len(left) == 1:
                self._done.add(1)
                continue
            for recipe in left:
                self._count(1, self._judge(number, recipe))
            left = self._still_open(left, number + 1, part.max_left)
        return left[0]

    def _still_open(self, recipes: list[ForestRecipe], n_parts: int, max_left: int) -> list[ForestRecipe]:
        """Return at most `max_left` recipes that may be the best by the first parts, in their order."""
        correct = [np.concatenate([self._judge(number, recipe) for number in range(n_parts)]) for recipe in recipes]
        scores = np.array([_over_steps(each.mean(axis=0)) for each in correct])
        ranked = np.argsort(-scores, kind="stable")[:max_left].tolist()
        best = correct[ranked[0]]
        return [recipes[place] for place in sorted(ranked) if not _is_clearly_worse(correct[place], best)]

    def with_root_vote(self, recipe: ForestRecipe) -> ForestRecipe:
        """Return the recipe with the root weight and the hand-over of the highest score."""
        scores = self._scores(replace(recipe, root_weight=_ROOT_WEIGHTS[0]))
        disputes, n = _disputes(scores), len(scores.numbers)
        found = [_best_hand_over(disputes, n, weight) for weight in _ROOT_WEIGHTS]
        best = int(np.argmax([score for score, _ in found]))
        return replace(recipe, root_weight=_ROOT_WEIGHTS[best], hand_over=found[best][1])

    def calibration(self, recipe: ForestRecipe) -> Calibration:
        """Return the calibration of a decided recipe."""
        scores = self._scores(recipe)
        weight = None if recipe.root_weight is None else recipe.root_weight
        shares = (0.0, *(recipe.hand_over or EVEN_HAND_OVER))
        log_scores = (
            np.log(2)
            * self._count(1, scores.trees[:, stage] if weight is None else scores.weighed(stage, share, weight))
            for stage, share in enumerate(shares)
        )
        return fit_calibration((0, *HAND_OVER_STEPS), log_scores, scores.numbers)

    def _scores(self, recipe: ForestRecipe) -> _Scores:
        """Return the scores of the trees and the votes of the root model for the records of all parts.

        They do not depend on the root weight and the hand-over, but on whether there is a root model.
        """
        key = replace(recipe, root_weight=None if recipe.root_weight is None else 0.0, hand_over=())
        if key in self._scored:
            return self._count(_SCORED_WORK * len(self._parts), self._scored[key])
        stages = np.array([0, *HAND_OVER_STEPS])
        left = max(1, _MAX_SCORES // (len(stages) * self._n_classes))
        query = self._query._replace(refine_for="accuracy")
        found: list[_Scores] = []
        for part in self._parts:
            if self._stop.is_set():
                raise KeyboardInterrupt
            records, numbers = part.records[:left], part.numbers[:left]
            if len(records) == 0:
                break
            left -= len(records)
            shape = len(records), len(stages), self._n_classes
            trees, votes, exhausted = np.empty(shape), np.empty((shape[0], shape[2])), np.empty(shape[:2], np.uint8)
            forest, metric = self._forest(part.quarter, recipe, self._done), self._metric(part.quarter, recipe)
            forest.log2_scores_in_stages(
                query.settings(recipe.decision, recipe.root_weight),
                records,
                stages,
                self._threads,
                trees.reshape(-1),
                votes,
                exhausted,
                metric=None if metric is None else metric.native,
            )
            found.append(self._count(_SCORED_WORK, _Scores(numbers, trees, votes, exhausted.astype(np.bool_))))
        self._scored[key] = _Scores(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))
        return self._scored[key]

    def _count(self, work: int, result: T) -> T:
        """Return the result of some work, which the progress bar counts."""
        self._done.add(work)
        return result

    def _judge(self, number: int, recipe: ForestRecipe) -> NDArray[np.bool_]:
        """Return whether each record of a part is classified correctly at each stage."""
        if (number, recipe) not in self._judged:
            if self._stop.is_set():
                raise KeyboardInterrupt
            part = self._parts[number]
            found = np.empty((len(part.records), len(_STAGES)), dtype=np.int32)
            forest, metric = self._forest(part.quarter, recipe), self._metric(part.quarter, recipe)
            settings = self._query.settings(recipe.decision, recipe.root_weight)
            native_metric = None if metric is None else metric.native
            forest.label_in_stages(settings, part.records, _STAGES, self._threads, found, metric=native_metric)
            self._judged[number, recipe] = np.asarray(found == part.numbers[:, np.newaxis])
        return self._judged[number, recipe]

    def _outside(self, quarter: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the points to build from when this quarter is held out, and their class numbers."""
        if quarter not in self._built_from:
            chosen = np.concatenate([self._quarters[other] for other in range(4) if other != quarter])
            max_built = min(_MAX_BUILT, max(_MIN_BUILT, _MAX_BUILT_VALUES // self._points.shape[1]))
            if len(chosen) > max_built:
                chosen = np.random.default_rng(self._seed).permutation(chosen)[:max_built]
            chosen.sort()
            self._built_from[quarter] = self._points[chosen], self._numbers[chosen]
        return self._built_from[quarter]

    def _metric(self, quarter: int, recipe: ForestRecipe) -> Metric | None:
        key = quarter, recipe.metric
        if key not in self._metrics:
            points, numbers = self._outside(quarter)
            self._metrics[key] = learn_metric(recipe.metric, points, numbers, self._seed, self._threads)
        return self._metrics[key]

    def _forest(self, quarter: int, recipe: ForestRecipe, done: Counter | None = None) -> BayesForest:
        """Return the forest of all but one quarter; `done` counts the iterations of its root model."""
        key = quarter, recipe.metric, recipe.bandwidth
        if key not in self._forests:
            self._forests[key] = self._trees(quarter, replace(recipe, root_weight=None))
        forest = self._forests[key]
        if recipe.root_weight is not None and not forest.has_root_model:
            train_root_model(
                recipe,
                forest,
                threads=self._threads,
                iterations=_MARGIN_ITERATIONS,
                done=done,
                stop=self._stop,
            )
        return forest

    def _trees(self, quarter: int, recipe: ForestRecipe) -> BayesForest:
        """Return the forest of all but one quarter; trees of another bandwidth are used again if they are the same."""
        if recipe.construction in SHAPED_WITHOUT_BANDWIDTH:
            for (other_quarter, metric, _), forest in self._forests.items():
                if (other_quarter, metric) == (quarter, recipe.metric):
                    return build_with_bandwidth(
                        recipe,
                        forest,
                        threads=self._threads,
                        margin_iterations=_MARGIN_ITERATIONS,
                        stop=self._stop,
                    )
        points, numbers = self._outside(quarter)
        return build_forest(
            recipe,
            map_records(self._metric(quarter, recipe), points, self._threads),
            numbers,
            self._n_classes,
            threads=self._threads,
            margin_iterations=_MARGIN_ITERATIONS,
            stop=self._stop,
        )
