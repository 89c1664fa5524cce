"""Building of forests and of their root models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anystream._native import BayesForest, Counter, StopToken
from anystream.bayes_tree.metric import Metric, map_records
from anystream.bayes_tree.recipe import ForestRecipe

MARGIN_ITERATIONS = 30
"""Maximum number of iterations of margin maximisation."""

_ROOT_MODEL_WORK = 300_000_000  # approximate number of products per evaluation of the root model's objective
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
        Maximum number of iterations of margin maximisation.
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
    )
    if recipe.margin_levels > 0:
        forest.maximise_margin(
            recipe.margin_levels,
            recipe.margin_kappa,
            recipe.margin_lambda,
            margin_iterations,
            threads=threads,
            stop=stop,
        )
    if recipe.root_weight is not None:
        train_root_model(recipe, forest, threads=threads, margin_iterations=margin_iterations, stop=stop)
    return forest


def train_root_model(
    recipe: ForestRecipe,
    forest: BayesForest,
    *,
    threads: int = 0,
    margin_iterations: int = MARGIN_ITERATIONS,
    stop: StopToken | None = None,
) -> None:
    """Train the root model of a forest in place; parameters as in `build_forest`."""
    work_per_record = max(1, forest.classes) * max(8, forest.dimensions) ** 2 // 2
    max_records = max(_MIN_ROOT_MODEL_RECORDS, _ROOT_MODEL_WORK // work_per_record)
    forest.train_root_model(
        recipe.margin_kappa,
        recipe.margin_lambda,
        max_records=max_records,
        iterations=margin_iterations,
        seed=recipe.seed,
        threads=threads,
        stop=stop,
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
    arrays = forest.arrays()
    points = arrays["points"].reshape(-1, forest.dimensions)
    records = points if own_metric is None else own_metric.undo(points)
    return build_forest(
        replace(recipe, root_weight=None),
        map_records(metric, records, threads),
        arrays["point_class"],
        forest.classes,
        threads=threads,
    )
