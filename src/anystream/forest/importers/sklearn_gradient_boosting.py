"""`GradientBoostingClassifier` of scikit-learn: leaf values times the learning rate, added to a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.importers.sklearn_names import feature_names
from anystream.forest.importers.sklearn_trees import convert_tree
from anystream.forest.joining import join_trees
from anystream.forest.link import Link
from anystream.model_file.errors import InvalidContent

_CONSTANT = ("prior", "most_frequent", "uniform", "constant")


def import_gradient_boosting(model: Any) -> TreeEnsemble:
    """Return the ensemble of a `GradientBoostingClassifier` whose init is a constant."""
    check_is_fitted(model)
    init = model.init_
    if not (isinstance(init, str) or (isinstance(init, DummyClassifier) and init.strategy in _CONSTANT)):
        raise InvalidContent(f"its init is {init!r}, which is not a constant", "train with init=None or init='zero'")
    n_outputs = model.n_trees_per_iteration_
    trees = [convert_tree(tree, model.learning_rate * tree.tree_.value[:, 0, :]) for tree in model.estimators_.ravel()]
    sigmoid = Link(
        "sigmoid", scale=2.0 if model.loss == "exponential" else 1.0, label_from_scores=True, zero_is_positive=True
    )
    return TreeEnsemble(
        **join_trees(trees),
        output=np.tile(np.arange(n_outputs, dtype=np.int32), len(model.estimators_)),
        base=model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0].astype(np.float64),
        divisor=1.0,
        link=sigmoid if n_outputs == 1 else Link("softmax", label_from_scores=True),
        single_records=True,
        single_sums=False,
        accepts_missing=False,
        classes=model.classes_,
        n_features=model.n_features_in_,
        feature_names=feature_names(model),
        categories={},
        min_category=0.0,
        source="scikit-learn GradientBoostingClassifier",
    )
