"""Training of ensembles with scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.import_model import import_model
from anystream.forest.recipe import ForestRecipe


def train_ensemble(recipe: ForestRecipe, records: NDArray[np.float64], numbers: NDArray[np.int32]) -> TreeEnsemble:
    """Train the ensemble of a recipe; its classes are the numbers that occur."""
    return import_model(_new_model(recipe, one_class=bool((numbers == numbers[0]).all())).fit(records, numbers))


def _new_model(recipe: ForestRecipe, *, one_class: bool) -> Any:
    from sklearn import ensemble

    if recipe.base == "hist_gradient_boosting" and not one_class:  # scikit-learn boosts two classes or more
        return ensemble.HistGradientBoostingClassifier(
            **{"max_iter": recipe.n_estimators, "random_state": recipe.random_state} | recipe.base_parameters
        )
    if one_class:
        return ensemble.ExtraTreesClassifier(1, random_state=recipe.random_state)
    names = {"extra_trees": ensemble.ExtraTreesClassifier, "random_forest": ensemble.RandomForestClassifier}
    common = {
        "n_estimators": recipe.n_estimators,
        "n_jobs": recipe.threads or -1,
        "random_state": recipe.random_state,
    }
    return names[recipe.base](**common | recipe.base_parameters)
