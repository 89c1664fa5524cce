"""Importing a fitted model of any framework, as an object."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from anystream.forest.ensemble import TreeEnsemble
from anystream.model_file.errors import InvalidContent

_PACKAGE = "anystream.forest.importers"
_SKLEARN = {
    "DecisionTreeClassifier": "sklearn_trees.import_averaged_trees",
    "RandomForestClassifier": "sklearn_trees.import_averaged_trees",
    "ExtraTreesClassifier": "sklearn_trees.import_averaged_trees",
    "BaggingClassifier": "sklearn_trees.import_averaged_trees",
    "GradientBoostingClassifier": "sklearn_gradient_boosting.import_gradient_boosting",
    "HistGradientBoostingClassifier": "sklearn_hist_gradient_boosting.import_hist_gradient_boosting",
}
_OTHERS = {
    "lightgbm": "lightgbm.import_booster",
    "xgboost": "xgboost.import_booster",
    "catboost": "catboost.import_classifier",
}


def import_model(model: Any) -> TreeEnsemble:
    """Return the ensemble of a fitted model of scikit-learn, LightGBM, XGBoost or CatBoost.

    Raises
    ------
    ValueError
        When the model is of another kind, or contains what an ensemble cannot represent, such as linear leaves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> ensemble = import_model(ExtraTreesClassifier(10).fit(*load_iris(return_X_y=True)))
    >>> ensemble.n_trees, ensemble.n_outputs
    (10, 3)
    """
    try:
        ensemble: TreeEnsemble = _find_importer(type(model))(model)
    except InvalidContent as problem:
        raise ValueError(f"{type(model).__name__} cannot be imported: {problem}") from None
    return ensemble


def _find_importer(model_type: type) -> Callable[[Any], TreeEnsemble]:
    """Return the importer of a class or of one that it derives from; frameworks are not imported for it."""
    for base in model_type.__mro__:
        framework = base.__module__.partition(".")[0]
        place = _SKLEARN.get(base.__name__) if framework == "sklearn" else _OTHERS.get(framework)
        if place is not None:
            module, _, function = place.partition(".")
            importer: Callable[[Any], TreeEnsemble] = getattr(import_module(f"{_PACKAGE}.{module}"), function)
            return importer
    known = f"{', '.join(_SKLEARN)}, or a classifier of LightGBM, XGBoost or CatBoost"
    raise InvalidContent("it is no known ensemble of trees", f"pass a fitted {known}")
