"""Merged models classify as a model of all the data would."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from anystream import BayesTreeClassifier, Budget
from bayes_tree.blobs import blobs
from bayes_tree.plain import plain


def test_merged_parts_end_at_the_probabilities_of_a_model_of_the_whole():
    X, y = blobs(300)
    names = np.array(["x", "y", "z"])[y]
    same = {"decision": "mixture", "root_model": 0.3}  # a weight chosen on a part may differ
    parts = [plain(**same).fit(X[i::3], names[i::3]) for i in range(3)]
    merged = BayesTreeClassifier.merge(parts)
    whole = plain(**same).fit(X, names)
    assert merged.classes_.tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(
        merged.predict_proba(X, budget=Budget()), whole.predict_proba(X, budget=Budget()), rtol=1e-4, atol=1e-8
    )
    merged.partial_fit(X, names)


def test_models_of_different_features_cannot_be_merged():
    X, y = blobs()
    with pytest.raises(ValueError, match="different features"):
        BayesTreeClassifier.merge([BayesTreeClassifier().fit(X, y), BayesTreeClassifier().fit(X[:, :2], y)])


@pytest.mark.parametrize("metrics", [("whiten", "whiten"), (None, "quantile"), ("quantile+diagonal", None)])
def test_parts_with_different_metrics_merge_in_the_space_of_the_first(metrics):
    X, y = load_iris(return_X_y=True)
    names = np.array(["b", "a", "c"])[y]
    first, second = (plain(metric=name, decision="mixture") for name in metrics)
    first.fit(X[::2], names[::2])
    second.fit(X[1::2][y[1::2] != 1], names[1::2][y[1::2] != 1])  # one class less
    merged = BayesTreeClassifier.merge([first, second])
    assert merged.metric_ == first.metric_
    again = first.clone().fit(X[::2], names[::2]).partial_fit(X[1::2][y[1::2] != 1], names[1::2][y[1::2] != 1])
    inserted = again.predict_proba(X, budget=10**6)
    assert np.abs(merged.predict_proba(X, budget=10**6) - inserted).mean() < 0.02  # the scale of the kernels differs
    assert merged.score(X, names) > 0.9
