"""A pipeline that ends in an anytime classifier keeps the contract."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from anystream import AnytimePipeline, BayesTreeClassifier, Budget, LocustClassifier, anytime_curve, performance_profile
from anystream.anytime import AnytimeClassifier
from bayes_tree.plain import plain

X, y = load_iris(return_X_y=True)


@pytest.fixture
def fitted():
    return AnytimePipeline(make_pipeline(StandardScaler(), plain())).fit(X[::2], y[::2])


def test_a_pipeline_classifies_as_its_classifier_on_transformed_records(fitted):
    scaler = StandardScaler().fit(X[::2])
    alone = plain().fit(scaler.transform(X[::2]), y[::2])
    for budget in (0, 3, None):
        expected = alone.classify(scaler.transform(X), budget=budget)
        found = fitted.classify(X, budget=budget)
        assert np.array_equal(found.proba, expected.proba)
        assert np.array_equal(found.steps, expected.steps)
    assert isinstance(fitted, AnytimeClassifier)
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.n_features_in_ == 4
    assert fitted.score(X, y) > 0.9


def test_curves_profiles_and_stages_go_through_a_pipeline(fitted):
    assert anytime_curve(fitted, X[1::2], y[1::2], stages=[0, 5, 20]).accuracy[-1] > 0.9
    assert performance_profile(fitted, X, y, stages=[0, 5], cv=2).accuracy[-1] > 0.9
    labels = [staged.tolist() for staged in fitted.staged_predict(X, stages=[0, 4])]
    assert labels == [fitted.predict(X, budget=budget).tolist() for budget in (0, 4)]


def test_a_query_goes_through_a_pipeline_and_is_resumed(fitted):
    query = fitted.query(X[60])
    query.refine(2)
    again = fitted.query(state=pickle.loads(pickle.dumps(query.state)))
    assert np.array_equal(query.refine(3).proba, again.refine(3).proba)
    assert np.array_equal(query.proba, fitted.predict_proba(X[60:61], budget=5)[0])


def test_the_time_of_the_transformers_counts(fitted):
    class Slow(StandardScaler):
        def transform(self, X):
            nonlocal started
            started = True
            return super().transform(X)

    started = False
    model = AnytimePipeline(make_pipeline(Slow(), plain())).fit(X, y)
    answer = model.classify(X, budget=Budget(until=0.0))  # long past
    assert started
    assert not answer.steps.any()


def test_tables_with_texts_are_encoded_on_the_way():
    table = pd.DataFrame({"size": X[:, 0], "colour": np.array(["red", "blue", "green"])[y]})
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = AnytimePipeline(make_pipeline(encode, LocustClassifier())).fit(table, y)
    assert model.score(table, y) == 1.0
    assert model.query(table.iloc[[0]]).refine(5).label == 0
    with pytest.raises(ValueError, match="takes one record, these are 2"):
        model.query(table.iloc[:2])


def test_the_classifier_learns_on_and_the_transformers_stay(fitted):
    before = fitted.pipeline_[0].mean_.copy()
    fitted.partial_fit(X[1::2] + 100, np.full(75, 7))
    assert fitted.classes_.tolist() == [0, 1, 2, 7]
    assert fitted.predict(X[:1] + 100).tolist() == [7]
    assert np.array_equal(fitted.pipeline_[0].mean_, before)


def test_other_classifiers_are_an_error():
    with pytest.raises(TypeError, match="the last step of the pipeline is LogisticRegression"):
        AnytimePipeline(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    with pytest.raises(TypeError, match="pass a scikit-learn Pipeline"):
        AnytimePipeline(BayesTreeClassifier()).fit(X, y)
