"""Building of forests and of their root models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anystream._native import BayesForest, Counter, StopToken
from anystream.bayes_tree.metric import Metric, map_records
from anystream.bayes_tree.recipe import ForestRecipe
from anystream.progress import run_with_progress

SHAPED_WITHOUT_BANDWIDTH = ("em_top_down", "hilbert", "z_curve", "str")
"""Constructions whose trees are the same whatever the bandwidth."""

MARGIN_ITERATIONS = 30
"""Maximum number of iterations of margin maximisation in the upper levels."""

ROOT_MODEL_ITERATIONS = 20
"""Maximum number of iterations of training the root model: more of them do not classify other records better."""

_ROOT_MODEL_WORK = 300_000_000  # approximate number of products per evaluation of the root model's objective
_MAX_ROOT_MODEL_BYTES = 2**31
_MIN_ROOT_MODEL_RECORDS = 2000  # at least this many are used, whatever they cost


def build_forest(
    recipe: ForestRecipe,
    points: NDArray[np.float64],
    numbers: NDArray[np.int32],
    n_classes: int,
    *,
    threads: int = 0,
    margin_iterations: int = MARGIN_ITERATIONS,
    placed: Counter | None = None,
    stop: StopToken | None = None,
) -> BayesForest:
    """Return the trees of all points, with margin maximisation and the root model if the recipe has them.

    Parameters
    ----------
    recipe : ForestRecipe
        How to build.
    points : array of shape (n_points, n_features)
        Points in the space of the recipe's metric; NaN stands for a missing value.
    numbers : array of shape (n_points,)
        Their class numbers, below `n_classes`.
    n_classes : int
        Number of classes.
    threads : int, default=0
        Threads; 0 means one per core. The forest does not depend on it.
    margin_iterations : int, default=30
        Maximum number of iterations of margin maximisation; the root model gets `ROOT_MODEL_ITERATIONS` at most.
    placed : Counter, optional
        Counts the points that have their place in a tree.
    stop : StopToken, optional
        Ends the work with an exception when it is set.
    """
    forest = BayesForest.build(
        recipe.forest_settings(),
        points,
        numbers,
        n_classes,
        construction=recipe.construction,
        threads=threads,
        seed=recipe.seed,
        placed=placed,
        stop=stop,
        **recipe.construction_options,
    )
    if recipe.margin_levels > 0:
        maximise_margin(recipe, forest, threads=threads, margin_iterations=margin_iterations, stop=stop)
    if recipe.root_weight is not None:
        iterations = min(margin_iterations, ROOT_MODEL_ITERATIONS)
        train_root_model(recipe, forest, threads=threads, iterations=iterations, stop=stop)
    return forest


def build_with_bandwidth(
    recipe: ForestRecipe,
    forest: BayesForest,
    *,
    threads: int = 0,
    margin_iterations: int = MARGIN_ITERATIONS,
    stop: StopToken | None = None,
) -> BayesForest:
    """Return what `build_forest` returns for the records of a forest that differs in the bandwidth alone.

    The trees are taken from that forest, so the construction must be one of `SHAPED_WITHOUT_BANDWIDTH`.

    Parameters
    ----------
    recipe : ForestRecipe
        How to build; without a root model.
    forest : BayesForest
        Built by the same recipe with another bandwidth.
    threads, margin_iterations, stop
        As in `build_forest`.
    """
    found = forest.with_settings(recipe.forest_settings())
    if recipe.margin_levels > 0:
        maximise_margin(recipe, found, threads=threads, margin_iterations=margin_iterations, stop=stop)
    return found


def build_with_progress(
    recipe: ForestRecipe, points: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int, *, threads: int = 0
) -> BayesForest:
    """Return the same as `build_forest`, with a progress bar for each of its parts; Ctrl-C ends it."""
    trees_only = replace(recipe, margin_levels=0, root_weight=None)
    forest = run_with_progress(
        lambda placed, stop: build_forest(
            trees_only, points, numbers, n_classes, threads=threads, placed=placed, stop=stop
        ),
        total=len(points),
        description="building the trees",
    )
    if recipe.margin_levels > 0:
        run_with_progress(
            lambda done, stop: maximise_margin(recipe, forest, threads=threads, done=done, stop=stop),
            total=recipe.margin_levels * MARGIN_ITERATIONS + 1,  # iterations are counted when they start
            description="maximising the margin",
        )
    if recipe.root_weight is not None:
        run_with_progress(
            lambda done, stop: train_root_model(recipe, forest, threads=threads, done=done, stop=stop),
            total=ROOT_MODEL_ITERATIONS + 1,
            description="training the root model",
        )
    return forest


def maximise_margin(
    recipe: ForestRecipe,
    forest: BayesForest,
    *,
    threads: int = 0,
    margin_iterations: int = MARGIN_ITERATIONS,
    done: Counter | None = None,
    stop: StopToken | None = None,
) -> None:
    """Move the entries of the upper levels of a forest in place; parameters as in `build_forest`.

    `done` counts iterations as they start; they may end before `margin_iterations` of each level.
    """
    forest.maximise_margin(
        recipe.margin_levels,
        recipe.margin_kappa,
        recipe.margin_lambda,
        margin_iterations,
        **recipe.margin_options,
        threads=threads,
        stop=stop,
        done=done,
    )


def train_root_model(
    recipe: ForestRecipe,
    forest: BayesForest,
    *,
    threads: int = 0,
    iterations: int = ROOT_MODEL_ITERATIONS,
    done: Counter | None = None,
    stop: StopToken | None = None,
) -> None:
    """Train the root model of a forest in place; parameters as in `maximise_margin`."""
    max_records = _max_root_model_records(forest.classes, forest.dimensions)
    forest.train_root_model(
        recipe.margin_kappa,
        recipe.margin_lambda,
        max_records=max_records,
        iterations=iterations,
        seed=recipe.seed,
        threads=threads,
        stop=stop,
        done=done,
    )


def check_root_model_memory(root_model: object, n_records: int, n_classes: int, n_features: int) -> None:
    """Raise ValueError if training a root model needs more than 2 GiB.

    Training holds two densities of each of its records under each class, and four matrices of each class.
    """
    n_trained = min(n_records, _max_root_model_records(n_classes, n_features))
    needed = 8 * n_classes * (2 * n_trained + 4 * n_features**2)
    if needed > _MAX_ROOT_MODEL_BYTES:
        raise ValueError(
            f"root_model={root_model!r} of {n_classes} classes and {n_features} features needs {needed / 1e9:.1f} GB "
            "to train, and may need 2.1; use root_model=None, or 'auto', which has none with so many classes"
        )


def _max_root_model_records(n_classes: int, n_features: int) -> int:
    work_per_record = max(1, n_classes) * max(8, n_features) ** 2 // 2
    return max(_MIN_ROOT_MODEL_RECORDS, _ROOT_MODEL_WORK // work_per_record)


def build_from_parts(
    recipe: ForestRecipe,
    parts: Sequence[BayesForest],
    class_maps: Sequence[NDArray[np.int32]],
    n_classes: int,
    threads: int,
) -> BayesForest:
    """Return the trees of the newest records of several forests with a window, without a root model.

    What is recent in its own forest is recent in the whole; of records of the same age, the later forest's is newer.

    Parameters
    ----------
    recipe : ForestRecipe
        How to build, and the window.
    parts : sequence of BayesForest
        Trees in the same space.
    class_maps : sequence of array
        The class number in the whole of each class of each part.
    n_classes : int
        Number of classes of the whole.
    threads : int
        Threads; 0 means one per core.
    """
    points, numbers, ages = [], [], []
    for forest, class_map in zip(parts, class_maps, strict=True):
        own_points, own_numbers = _records_by_age(forest)
        points.append(own_points)
        numbers.append(class_map[own_numbers])
        ages.append(np.arange(len(own_numbers), 0, -1))
    newest = np.argsort(-np.concatenate(ages), kind="stable")[_newest(recipe.window)]
    return build_forest(
        replace(recipe, root_weight=None),
        np.concatenate(points)[newest],
        np.concatenate(numbers)[newest].astype(np.int32),
        n_classes,
        threads=threads,
    )


def rebuild_in_space(
    recipe: ForestRecipe, metric: Metric | None, forest: BayesForest, own_metric: Metric | None, *, threads: int = 0
) -> BayesForest:
    """Return the trees of another forest's points in the space of `metric`, without a root model.

    Parameters
    ----------
    recipe : ForestRecipe
        How to build.
    metric : Metric or None
        The space to build in.
    forest : BayesForest
        Trees whose points lie in the space of `own_metric`; they are returned if that is the same space.
    own_metric : Metric or None
        Metric of `forest`.
    threads : int, default=0
        Threads; 0 means one per core.
    """
    if own_metric == metric:
        return forest
    newest = _newest(recipe.window)
    records, numbers = records_of(forest, own_metric, newest)
    return build_forest(
        replace(recipe, root_weight=None),
        map_records(metric, records, threads),
        numbers,
        forest.classes,
        threads=threads,
    )


def records_of(
    forest: BayesForest, metric: Metric | None, which: slice = slice(None)
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the records of a forest before its metric, as far as it can be undone, and their class numbers.

    They are ordered by age, the oldest first; `which` selects some of them.
    """
    points, numbers = _records_by_age(forest)
    return (points[which] if metric is None else metric.undo(points[which])), numbers[which]


def _records_by_age(forest: BayesForest) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the points of a forest and their class numbers, the oldest first."""
    arrays = forest.arrays()
    points, numbers = arrays["points"].reshape(-1, forest.dimensions), arrays["point_class"]
    n_replaced = int(arrays["learned"][0] - len(numbers))
    if n_replaced == 0:
        return points, numbers
    oldest = n_replaced % len(numbers)
    return np.roll(points, -oldest, axis=0), np.roll(numbers, -oldest)


def _newest(window: int | None) -> slice:
    """Return where the newest records lie in a sequence by age."""
    return slice(None) if window is None else slice(-window, None)
