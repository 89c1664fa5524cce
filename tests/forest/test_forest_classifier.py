"""The classifier over imported and trained ensembles: exact at full budget, ordered on data, merged."""

import warnings

import catboost_cases
import lightgbm_cases
import numpy as np
import pytest
import sklearn_cases
import xgboost_cases
from forest_cases import fitted, hard_records, import_all_ways, installed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

from anystream import AnytimeForestClassifier, BayesTreeClassifier, Budget
from anystream.forest.evaluation import score_records

CASES = [
    case
    for cases in (sklearn_cases.CASES, lightgbm_cases.CASES, xgboost_cases.CASES, catboost_cases.CASES)
    for case in cases
    if installed(case.framework)
]


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_all_trees_give_the_labels_and_probabilities_of_the_framework(case, tmp_path):
    model = fitted(case)
    for ensemble in import_all_ways(case, model, tmp_path):
        records = hard_records(case, ensemble)
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            proba, labels = case.answer(model, records)
        imported = AnytimeForestClassifier.from_model(ensemble)
        imported.__dict__.pop("feature_names_in_", None)
        answer = imported.classify(records, budget=Budget())
        assert_array_equal(answer.proba.argmax(axis=1), labels)
        if ensemble.link.kind == "one_vs_all":  # the contract's probabilities sum to 1
            proba = proba / proba.sum(axis=1, keepdims=True)
        found = answer.proba[:, 1] if proba.ndim == 1 else answer.proba
        tiny = np.finfo(np.float32 if case.single else np.float64).tiny
        assert_allclose(found, proba, rtol=1e-6 if case.single else 1e-12, atol=tiny * 1e-6)
        assert_array_equal(ensemble.link.labels(score_records(ensemble, records)), labels)
        early = imported.classify(records, budget=max(imported.max_steps_ // 2, 1))
        assert_array_equal(early.labels[early.certified], answer.labels[early.certified])


@pytest.mark.parametrize("order", ["gain", "squirrel"])
def test_measured_orders_reach_all_leaves_and_beat_breadth_first(digits, order):
    X, y = digits
    forest = RandomForestClassifier(15, random_state=0).fit(X[:900], y[:900])
    model = AnytimeForestClassifier.from_model(forest, order=order)
    assert_array_equal(model.order_, AnytimeForestClassifier.from_model(forest).order_)  # until there are data
    model.order_on(X[900:1300], y[900:1300])
    assert_array_equal(np.sort(model.order_), AnytimeForestClassifier.from_model(forest).order_)
    assert_array_equal(model.predict_proba(X[1300:]), forest.predict_proba(X[1300:]))
    wide = AnytimeForestClassifier.from_model(forest, order="breadth_first")
    right = [(each.predict(X[1300:], budget=30) == y[1300:]).mean() for each in (model, wide)]
    assert right[0] > right[1]


@pytest.mark.parametrize("base", ["random_forest", "hist_gradient_boosting"])
def test_fit_orders_on_held_out_data_and_trains_on_all(digits, base):
    X, y = digits
    parameters = {"base": base, "n_estimators": 5, "random_state": 1}
    ordered = AnytimeForestClassifier(order="gain", **parameters).fit(X[:600], y[:600])
    plain = AnytimeForestClassifier(**parameters).fit(X[:600], y[:600])
    assert (ordered.order_ != plain.order_).any()
    assert_array_equal(ordered.predict_proba(X[600:]), plain.predict_proba(X[600:]))


def test_unread_trees_do_not_outvote_those_that_were_read():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = (X[:, 0] + X[:, 1] > 1.6).astype(int)  # one record of eight
    model = AnytimeForestClassifier(n_estimators=60, base="random_forest").fit(X[:1000], y[:1000])
    rare = X[1000:][model.predict(X[1000:]) == 1]
    assert (model.predict(rare, budget=model.max_steps_ // 10) == 1).mean() > 0.8


def test_merged_forests_average_by_their_data(digits):
    X, y = digits
    parts = [
        AnytimeForestClassifier(n_estimators=n, base="random_forest").fit(X[rows], y[rows])
        for n, rows in ((4, slice(0, 300)), (8, slice(300, 1200)))
    ]
    whole = AnytimeForestClassifier.merge(parts)
    few, many = (part.predict_proba(X[1200:]) for part in parts)
    assert_allclose(whole.predict_proba(X[1200:]), 0.25 * few + 0.75 * many, rtol=1e-9, atol=1e-12)
    assert_allclose(whole.predict_proba(X[1200:], budget=20).sum(axis=1), 1)


def test_boosted_ensembles_cannot_be_merged(digits):
    X, y = digits
    boosted = GradientBoostingClassifier(n_estimators=2).fit(X[:300], y[:300] % 2)
    model = AnytimeForestClassifier.from_model(boosted)
    with pytest.raises(ValueError, match="trained one upon another, which cannot be merged"):
        AnytimeForestClassifier.merge([model, model])


def test_learning_is_named_where_it_is_missing(digits):
    model = AnytimeForestClassifier(n_estimators=2)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="use BayesTreeClassifier or LocustClassifier for a stream"):
        model.partial_fit(*digits)
    assert hasattr(BayesTreeClassifier(), "partial_fit")


def test_order_on_rejects_labels_that_the_model_does_not_have(digits):
    X, y = digits
    model = AnytimeForestClassifier(n_estimators=2, order="gain").fit(X[:200], y[:200] % 3)
    with pytest.raises(ValueError, match="label 7 is no class of the model"):
        model.order_on(X[:3], [0, 1, 7])


def test_a_model_with_names_predicts_river_records(digits):
    import pandas as pd

    X, y = digits
    frame = pd.DataFrame(X[:300], columns=[f"pixel {j}" for j in range(64)])
    model = AnytimeForestClassifier.from_model(RandomForestClassifier(5, random_state=0).fit(frame, y[:300]))
    assert model.feature_names_in_.tolist() == list(frame.columns)
    record = frame.iloc[7].to_dict()
    assert model.predict_one(record) == model.predict(frame[7:8])[0]
    assert_allclose(list(model.predict_proba_one(record).values()), model.predict_proba(frame[7:8])[0], rtol=0)
