"""The values of inner nodes, computed here, agree with what frameworks store where they store the same."""

import numpy as np
import pytest
from forest_cases import data
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier

from anystream.forest import import_model
from anystream.forest.evaluation import score_records


def test_shares_of_a_forest_are_those_of_the_training_records_below_a_node():
    records, labels = data(3, missing=True)
    forest = RandomForestClassifier(5, max_depth=5, class_weight="balanced", random_state=0).fit(records, labels)
    ensemble = import_model(forest)
    for tree, first in zip(forest.estimators_, ensemble.first_node, strict=False):
        assert_allclose(ensemble.value[first], tree.tree_.value[0, 0], rtol=1e-12)
        assert ensemble.cover[first] == pytest.approx(tree.tree_.weighted_n_node_samples[0])
    stored = np.sort(np.concatenate([tree.tree_.value[:, 0, 0] for tree in forest.estimators_]))
    assert_allclose(np.sort(ensemble.value[:, 0]), stored, atol=1e-12)


def test_the_roots_of_boosted_trees_add_up_to_the_mean_score_of_the_training_records():
    lightgbm = pytest.importorskip("lightgbm")
    records, labels = data(missing=True)
    model = lightgbm.LGBMClassifier(n_estimators=9, verbose=-1, n_jobs=1, min_child_samples=3).fit(records, labels)
    ensemble = import_model(model)
    mean = score_records(ensemble, records).mean()
    assert ensemble.value[ensemble.first_node[:-1], 0].sum() == pytest.approx(mean, rel=1e-9)


def test_values_of_splits_are_those_that_lightgbm_stores():
    lightgbm = pytest.importorskip("lightgbm")
    parameters = {"objective": "binary", "verbose": -1, "num_threads": 1, "lambda_l2": 0.0, "boost_from_average": False}
    records, labels = data()
    booster = lightgbm.train(parameters, lightgbm.Dataset(records, labels), 1)  # one tree: all records weigh alike
    text = booster.model_to_string()
    stored = next(line for line in text.splitlines() if line.startswith("internal_value=")).partition("=")[2].split()
    ensemble = import_model(booster)
    ours = ensemble.value[ensemble.left >= 0, 0]
    assert_allclose(np.sort(ours), np.sort(np.array(stored, float)), rtol=1e-4, atol=1e-6)  # stored with six digits
