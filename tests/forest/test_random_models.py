"""Models trained on random data, imported: every label and probability is that of the framework."""

import warnings

import numpy as np
import pytest
from forest_cases import Case, differences, native_answer, numpy_answer
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from anystream.forest import import_model
from anystream.forest.evaluation import score_records

pytestmark = pytest.mark.slow

VALUES = [0.0, -0.0, 0.1, 0.3, np.float32(0.1), 1 / 3, 16777217.0, 1e-30, -1e30, 1e-40, 5.0, 7.0, -2.0]
"""Numbers that float32 rounds up, down, to zero, or not at all."""


@st.composite
def tables(draw, *, missing=True):
    """Return records and labels to train on, and records to classify, of few and many different values."""
    n_records, n_classes = draw(st.integers(12, 60)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    grid = rng.choice(np.array(VALUES, float), (2 * n_records, 2))
    records = np.column_stack([grid, rng.normal(size=2 * n_records), rng.integers(0, 6, 2 * n_records)])
    labels = np.where(
        rng.random(n_records) < 0.6, records[:n_records, 3] % n_classes, rng.integers(0, n_classes, n_records)
    )
    labels[:n_classes] = np.arange(n_classes)
    if missing and draw(st.booleans()):
        records[rng.random(records.shape) < 0.2] = np.nan
    return records[:n_records], labels.astype(int), records


def check(model, answer, records, *, single=False):
    case = Case("", "", lambda: model, answer, single=single)
    for way in (numpy_answer, native_answer):
        wrong_labels, difference = differences(case, model, import_model(model), records, way)
        assert wrong_labels == 0
        assert difference <= (1e-6 if single else 1e-12)


def sklearn_answer(model, records):
    return model.predict_proba(records), np.searchsorted(model.classes_, model.predict(records))


def fit_quietly(model, records, labels, **options):
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return model.fit(records, labels, **options)


@given(table=tables(), depth=st.integers(1, 6), seed=st.integers(0, 99))
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier])
def test_trees_and_forests(kind, table, depth, seed):
    records, labels, queries = table
    options = {} if kind is DecisionTreeClassifier else {"n_estimators": 5}
    model = fit_quietly(kind(max_depth=depth, random_state=seed, **options), records, labels)
    check(model, sklearn_answer, queries)


@given(table=tables(), share=st.floats(0.3, 1), seed=st.integers(0, 99))
def test_bags_of_trees(table, share, seed):
    records, labels, queries = table
    tree = DecisionTreeClassifier(max_depth=4)
    model = BaggingClassifier(tree, 5, max_samples=share, max_features=share, random_state=seed)
    check(fit_quietly(model, records, labels), sklearn_answer, queries)


@given(table=tables(missing=False), rate=st.floats(0.01, 1), seed=st.integers(0, 99))
def test_gradient_boosting(table, rate, seed):
    records, labels, queries = table
    model = GradientBoostingClassifier(n_estimators=4, learning_rate=rate, random_state=seed)
    check(fit_quietly(model, records, labels), sklearn_answer, queries)


@given(table=tables(), categories=st.booleans())
def test_hist_gradient_boosting(table, categories):
    records, labels, queries = table
    options = {"categorical_features": [3]} if categories else {}
    model = HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=2, early_stopping=False, **options)
    check(fit_quietly(model, records, labels), sklearn_answer, queries)


@given(
    table=tables(),
    options=st.fixed_dictionaries(
        {
            "zero_as_missing": st.booleans(),
            "use_missing": st.booleans(),
            "boosting_type": st.sampled_from(["gbdt", "dart", "rf"]),
            "num_leaves": st.integers(2, 8),
            "linear_tree": st.just(False),
        }
    ),
    categories=st.booleans(),
)
def test_lightgbm(table, options, categories):
    lightgbm = pytest.importorskip("lightgbm")
    records, labels, queries = table
    if options["boosting_type"] == "rf":
        options = options | {"bagging_freq": 1, "bagging_fraction": 0.7}
    options = options | {"min_child_samples": 2, "min_data_per_group": 1, "cat_smooth": 1.0, "verbose": -1, "n_jobs": 1}
    model = lightgbm.LGBMClassifier(n_estimators=4, **options)
    fit_quietly(model, records, labels, categorical_feature=[3] if categories else [])
    check(model, sklearn_answer, queries)


@given(
    table=tables(),
    options=st.fixed_dictionaries(
        {
            "booster": st.sampled_from(["gbtree", "dart"]),
            "tree_method": st.sampled_from(["hist", "exact", "approx"]),
            "max_depth": st.integers(1, 5),
            "num_parallel_tree": st.integers(1, 3),
            "base_score": st.none() | st.floats(0.01, 0.99),
            "learning_rate": st.floats(0.01, 1),
        }
    ),
    categories=st.booleans(),
)
def test_xgboost(table, options, categories):
    xgboost = pytest.importorskip("xgboost")
    records, labels, queries = table
    if categories and options["tree_method"] != "exact":
        options = options | {"feature_types": ["q", "q", "q", "c"], "enable_categorical": True, "max_cat_to_onehot": 2}
    model = xgboost.XGBClassifier(n_estimators=4, n_jobs=1, rate_drop=0.3, min_child_weight=0.1, **options)

    def answer(model, records):
        proba = model.predict_proba(records)
        return proba[:, 1] if proba.shape[1] == 2 else proba, model.predict(records)

    check(fit_quietly(model, records, labels), answer, queries, single=True)
    scores = model.predict(queries, output_margin=True).reshape(len(queries), -1)
    # The score without trees of two classes is a logarithm, whose last bit depends on the machine's library.
    rounding = 2.0**-22 if scores.shape[1] == 1 else 0.0
    np.testing.assert_allclose(score_records(import_model(model), queries), scores, rtol=rounding, atol=rounding)
