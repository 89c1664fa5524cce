"""Every classifier keeps scikit-learn's contract, river's and ours."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import river.checks
import river.datasets
import river.evaluate
import river.metrics
import river.preprocessing
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from anystream import BayesTreeClassifier
from anystream.anytime.checks import yield_anytime_checks

CLASSIFIERS = [
    BayesTreeClassifier(),
    BayesTreeClassifier.bt_star(),
]


def name(estimator):
    return f"{type(estimator).__name__}-{CLASSIFIERS.index(estimator)}"


@parametrize_with_checks(CLASSIFIERS)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check", [c for e in CLASSIFIERS for c in yield_anytime_checks(e)], ids=lambda c: c.func.__name__
)
def test_it_keeps_the_anytime_contract(check):
    check()


def river_checks():
    for estimator in CLASSIFIERS:
        model = estimator.clone()
        for check in river.checks.yield_checks(model):
            if check.__name__ not in model._unit_test_skips():
                yield pytest.param(estimator, check, id=f"{type(estimator).__name__}-{check.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(river_checks()))
def test_river_accepts_it(estimator, check):
    check(estimator.clone())


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name)
def test_it_works_in_river_pipelines(estimator):
    model = river.preprocessing.StandardScaler() | estimator.clone()
    metric = river.evaluate.progressive_val_score(river.datasets.Phishing(), model, river.metrics.Accuracy())
    assert metric.get() > 0.8


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name)
def test_it_works_in_scikit_learn_pipelines_and_searches(estimator):
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(make_pipeline(StandardScaler(), estimator), X, y, cv=3).mean() > 0.9
    search = GridSearchCV(estimator, {"budget": [0, 20]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_are_accepted(frame):
    X, y = load_iris(return_X_y=True)
    columns = {f"feature {j}": X[:, j] for j in range(4)}
    model = BayesTreeClassifier().fit(frame(columns), y)
    assert model.feature_names_in_.tolist() == list(columns)
    assert np.array_equal(model.predict(frame(columns)), BayesTreeClassifier().fit(X, y).predict(X))
    assert model.predict_one({name: values[0] for name, values in columns.items()}) == 0


class CapyMoaLike:
    """What CapyMOA's SKClassifier does with an estimator, without its Java."""

    def __init__(self, estimator, classes):
        self.estimator, self.classes, self.trained = estimator, classes, False

    def train(self, x, y):
        self.estimator.partial_fit([x], [y], classes=self.classes)
        self.trained = True

    def predict(self, x):
        return self.estimator.predict([x])[0] if self.trained else None


def test_it_learns_row_by_row_behind_an_adapter():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    learner = CapyMoaLike(BayesTreeClassifier(), classes=[0, 1, 2])
    right = 0
    for i in order:
        right += learner.predict(X[i]) == y[i]
        learner.train(X[i], y[i])
    assert right / len(X) > 0.85
