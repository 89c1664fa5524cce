"""Fitting and learning: from training records to ordered exemplars."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.profile import PerformanceProfile
from anystream.anytime.stages import doubling_stages
from anystream.estimators.calibration import Calibration
from anystream.estimators.held_out import MAX_HELD_OUT, calibrate_on_quarter
from anystream.neighbors.callable_exemplars import CallableExemplars
from anystream.neighbors.exemplars import Exemplars
from anystream.neighbors.orderings.random import random
from anystream.neighbors.recipe import NeighborsRecipe
from anystream.neighbors.training_set import (
    AnyExemplars,
    EncodedTrainingSet,
    Positions,
    TrainingSet,
    make_training_set,
)
from anystream.neighbors.trimming import choose_share

Labels = NDArray[np.int32]

MIN_REORDERED = 64
"""Minimum number of exemplars that `insert_records` orders again."""
MAX_REORDERED = {"vectors": 1024, "series": 256, "texts": 256}
"""Maximum number of exemplars that `insert_records` orders again: a few milliseconds of work."""


CALIBRATION_SHARE = 0.1
"""Maximum number of comparisons of a calibration, relative to those of all pairs of records, which an order takes;"""
MAX_CALIBRATION_WORK = 2e9
"""or, if they are more, those that combine so many pairs of values: a few seconds."""
MIN_HELD_OUT = 40
"""Minimum number of records to calibrate on."""


class FittedExemplars(NamedTuple):
    """What `fit_exemplars` returns.

    Parameters
    ----------
    exemplars : Exemplars or CallableExemplars
        The exemplars.
    trimmed_profile : PerformanceProfile or None
        Accuracy of the exemplars on the training records that trimming dropped; None if it dropped none.
    calibration : Calibration or None
        Of the shares of votes.
    """

    exemplars: AnyExemplars
    trimmed_profile: PerformanceProfile | None
    calibration: Calibration | None


def fit_exemplars(
    recipe: NeighborsRecipe, records: Any, labels: Labels, n_classes: int, threads: int, *, calibrate: bool = True
) -> FittedExemplars:
    """Order the training records, build the exemplars and calibrate.

    Parameters
    ----------
    recipe : NeighborsRecipe
        The parameters.
    records : array or list
        Validated training records.
    labels : array of shape (n_records,)
        Class numbers.
    n_classes : int
        Number of classes.
    threads : int
        Threads for native work; 0 for one per core.
    calibrate : bool, default=True
        Whether to calibrate: on a quarter of the records, classified by the others in the order of all.
    """
    if recipe.capacity and len(labels) > recipe.capacity:  # the oldest are dropped before any work
        records, labels = records[-recipe.capacity :], labels[-recipe.capacity :]
    training: TrainingSet[Any] = make_training_set(recipe, records, labels, n_classes, threads)
    order = training.order_all()
    if not recipe.trim:
        calibration = _calibrate(training, order) if calibrate else None
        return FittedExemplars(training.build(order), None, calibration)
    share = choose_share(
        labels, lambda train, held, shares: _evaluate_shares(training, train, held, shares), recipe.seed
    )
    order, setup = _one_of_each_class_first(order, labels)
    n_kept = max(setup, round(share * len(order)))
    exemplars = training.build(order[:n_kept])
    calibration = _calibrate(training, order[:n_kept]) if calibrate else None
    if n_kept == len(order):
        return FittedExemplars(exemplars, None, calibration)
    stages = doubling_stages(n_kept)
    correct = training.evaluate(exemplars, order[n_kept:], stages)
    profile = PerformanceProfile(stages, correct.mean(axis=0), len(correct))
    return FittedExemplars(exemplars, profile, calibration)


def _calibrate(training: TrainingSet[Any], order: Positions) -> Calibration | None:
    def staged_proba(held_out: Positions, stages: NDArray[np.int64]) -> NDArray[np.float64]:
        others = training.build(order[~np.isin(order, held_out)])
        return training.classify_held_out(others, held_out, stages).swapaxes(0, 1)

    records, labels = training.stored.records, training.stored.labels
    vectors = records if isinstance(records, np.ndarray) and records.dtype == np.float64 else None
    held_out, last_stage = bound_comparisons(len(order), _max_comparisons(training))
    stages = np.unique(np.minimum(doubling_stages(last_stage), last_stage))
    return calibrate_on_quarter(vectors, labels, training.recipe.seed, stages, staged_proba, held_out)


def bound_comparisons(n_exemplars: int, max_comparisons: float) -> tuple[int, int]:
    """Return how many held-out records are classified, and with how many exemplars each is compared at most.

    There are fewer of them first; once they are few, they are compared with the first exemplars only.

    Examples
    --------
    >>> bound_comparisons(400, 1e9), bound_comparisons(400, 40_000), bound_comparisons(400, 4_000)
    ((2000, 400), (100, 400), (40, 100))
    """
    held_out = int(min(max(max_comparisons // max(n_exemplars, 1), MIN_HELD_OUT), MAX_HELD_OUT))
    return held_out, int(min(max(max_comparisons // held_out, 1), n_exemplars))


def _max_comparisons(training: TrainingSet[Any]) -> float:
    """Return how many comparisons calibration may take: a share of those that ordered the records, or little work."""
    n = len(training.stored.labels)
    ordering = 0.0 if training.recipe.ordering is random else n * (n - 1) / 2
    return max(CALIBRATION_SHARE * ordering, MAX_CALIBRATION_WORK / training.comparison_work())


def start_exemplars(recipe: NeighborsRecipe, record: Any, label: Labels, n_classes: int, threads: int) -> AnyExemplars:
    """Return the exemplars of a stream that starts with one record: `record` and `label` have the length 1."""
    return make_training_set(recipe, record, label, n_classes, threads).build(np.zeros(1, dtype=np.int64))


def count_until_reordered(exemplars: Exemplars) -> float:
    """Return the number of insertions after which `insert_records` orders the exemplars again; infinity for never."""
    size = len(exemplars)
    doubled = max(MIN_REORDERED, 2 ** size.bit_length())
    max_reordered = min(MAX_REORDERED[exemplars.record_type], exemplars.capacity or doubled)
    return math.inf if doubled > max_reordered else doubled - size


def insert_records(
    recipe: NeighborsRecipe, exemplars: AnyExemplars, records: Any, labels: Labels, n_classes: int, threads: int
) -> None:
    """Insert records one by one; while there are few exemplars, order them again whenever their number doubles."""
    if isinstance(exemplars, CallableExemplars):
        exemplars.insert(records, labels, n_classes)
        return
    distance = exemplars.distance
    encoded = distance.transform(records)
    start = 0
    while start < len(labels):
        until_reordered = count_until_reordered(exemplars)
        end = int(min(len(labels), start + until_reordered))
        exemplars.insert(encoded[start:end], labels[start:end], n_classes)
        if end - start == until_reordered:
            training = EncodedTrainingSet(recipe, exemplars.export(), n_classes, threads, distance)
            exemplars.gallery = training.build(training.order_all()).gallery
        start = end


def _evaluate_shares(
    training: TrainingSet[Any], train: Positions, held_out: Positions, shares: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return whether held-out records are classified correctly when the order of `train` ends at each share."""
    order, setup = _one_of_each_class_first(training.order(train), training.stored.labels)
    stages = np.maximum(0, np.round(shares * len(order)).astype(np.int64) - setup)
    return training.evaluate(training.build(order, lists=False), held_out, stages)


def _one_of_each_class_first(order: Positions, labels: Labels) -> tuple[Positions, int]:
    """Return the order in which queries compare exemplars, and how many they compare at budget 0."""
    front = np.sort(np.unique(labels[order], return_index=True)[1])
    return np.concatenate([order[front], np.delete(order, front)]), len(front)
