"""The root model: it decides alone before the first step and votes beside the trees afterwards."""

import pickle

import numpy as np
from sklearn.datasets import load_digits, load_iris

from anystream import load
from bayes_tree.plain import plain


def test_the_trees_take_over_from_the_root_model_in_eight_steps():
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 2]
    trees_only, voting = (plain(root_model=weight, decision="mixture").fit(X[::2], y[::2]) for weight in (None, 0.3))
    first = [(model.predict(X[1::2], budget=0) == y[1::2]).mean() for model in (trees_only, voting)]
    assert first[1] > first[0]
    vote = voting.predict_proba(X[:50], budget=0)
    for steps in (1, 4, 8, 20, 10**6):
        trees, share = trees_only.predict_proba(X[:50], budget=steps), min(1, steps / 8)
        with np.errstate(divide="ignore"):
            product = share * np.log(trees) + (1 - share + share * 0.3) * np.log(vote)
        product = np.exp(product - product.max(axis=1, keepdims=True))
        product /= product.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(voting.predict_proba(X[:50], budget=steps), product, rtol=1e-4, atol=1e-6)


def test_without_weight_the_root_model_has_no_vote_in_the_end():
    X, y = load_iris(return_X_y=True)
    weightless, trees_only, voting = (plain(root_model=weight).fit(X, y) for weight in (0.0, None, 1.0))
    assert np.array_equal(weightless.predict_proba(X, budget=0), voting.predict_proba(X, budget=0))
    assert not np.array_equal(weightless.predict_proba(X, budget=3), trees_only.predict_proba(X, budget=3))
    assert np.array_equal(weightless.predict_proba(X, budget=8), trees_only.predict_proba(X, budget=8))


def test_the_root_model_is_kept_by_files_pickles_and_resumed_queries(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = plain(root_model=1.0).fit(X, y)
    assert model.forest_.has_root_model
    model.save(tmp_path / "model.safetensors")
    for twin in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.safetensors", mmap=True)):
        for budget in (0, 5):
            assert np.array_equal(twin.predict_proba(X, budget=budget), model.predict_proba(X, budget=budget))
    query = model.query(X[70]).refine(2)
    resumed = model.query(state=query.state)
    assert np.array_equal(query.refine(3).proba, resumed.refine(3).proba)


def test_the_root_model_is_kept_until_a_class_or_a_feature_appears():
    X, y = load_iris(return_X_y=True)
    model = plain(root_model=1.0).fit(X[::2], y[::2])
    vote = model.predict_proba(X, budget=0)
    model.partial_fit(X[1::2], y[1::2])
    assert np.array_equal(model.predict_proba(X, budget=0), vote)
    model.partial_fit(X[:1] + 9, [7])
    assert not model.forest_.has_root_model
    assert model.score(X, y) > 0.9


def test_a_record_with_a_missing_value_is_classified_by_the_trees_alone():
    X, y = load_iris(return_X_y=True)
    Q = X.copy()
    Q[:, 1] = np.nan
    voting = plain(root_model=1.0).fit(X, y)
    trees_only = plain().fit(X, y)
    assert np.array_equal(voting.predict_proba(Q, budget=4), trees_only.predict_proba(Q, budget=4))
