"""Class weights multiply the priors, and nothing else."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

from anystream import BayesTreeClassifier, load

RAW = {"metric": None, "root_model": None, "calibrate": False}
FORMS = {
    "trees": RAW,
    "nearest": RAW | {"decision": "nearest"},
    "root model": RAW | {"root_model": 0.3},
    "published": {"bandwidth": "langley"} | RAW,
}


def overlapping(n=400, seed=0):
    random = np.random.default_rng(seed)
    y = random.choice(["many", "some", "few"], n, p=[0.8, 0.15, 0.05])
    centre = np.select([y == "many", y == "some"], [0.0, 1.0], 2.0)
    return centre[:, None] + random.normal(size=(n, 3)), y


@pytest.mark.parametrize("form", FORMS)
def test_probabilities_are_multiplied_by_the_weights_at_every_budget(form):
    X, y = overlapping()
    weights = {"few": 20.0, "many": 0.25}
    plain = BayesTreeClassifier(**FORMS[form]).fit(X, y)
    model = BayesTreeClassifier(class_weight=weights, **FORMS[form]).fit(X, y)
    factors = np.array([weights.get(label, 1.0) for label in plain.classes_])
    Q = np.vstack([X[:60], np.where(np.random.default_rng(1).random((20, 3)) < 0.4, np.nan, X[:20]), [[np.nan] * 3]])
    for budget in (0, 1, 7, 50, None):
        expected = plain.predict_proba(Q, budget=budget) * factors
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(Q, budget=budget), expected, rtol=1e-9, atol=1e-300)
        queries = [model.query(x).refine(budget) for x in Q[:5]]
        assert [query.label for query in queries] == model.predict(Q[:5], budget=budget).tolist()


def test_certificates_prove_the_weighted_label():
    X, y = overlapping()
    weighted = RAW | {"class_weight": {"few": 20.0, "many": 0.25}, "decision": "mixture"}
    model = BayesTreeClassifier(refine_for="certificate", **weighted).fit(X, y)
    exact = BayesTreeClassifier(**weighted).fit(X, y).classify(X, budget=None)
    proven = model.classify(X, budget=None)
    assert proven.certified.all()
    assert proven.steps.mean() < exact.steps.mean()
    assert np.array_equal(proven.labels, exact.labels)
    assert not np.array_equal(exact.labels, BayesTreeClassifier(**RAW).fit(X, y).predict(X, budget=None))


def test_balanced_makes_the_priors_equal():
    X, y = overlapping()
    model = BayesTreeClassifier(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[np.nan] * 3]), [[1 / 3] * 3], rtol=1e-12)
    Q, labels = overlapping(600, 1)
    recall = [
        (BayesTreeClassifier(class_weight=w).fit(X, y).predict(Q) == "few")[labels == "few"].mean()
        for w in (None, "balanced")
    ]
    assert recall[1] > recall[0]


def test_class_weights_stay_with_files_pickles_copies_merging_and_learning(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = BayesTreeClassifier(class_weight={np.int64(2): 9, 0: 0.5}).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    twins = [
        load(tmp_path / "model.safetensors"),
        pickle.loads(pickle.dumps(model)),
        BayesTreeClassifier.merge([model]),
    ]
    for twin in twins:
        assert twin.recipe_.class_weights == (0.5, 1.0, 9.0)
        assert twin.class_weight == {2: 9.0, 0: 0.5}
    for twin in twins[:2]:
        assert np.array_equal(twin.predict_proba(X, budget=9), model.predict_proba(X, budget=9))
    unknown = np.full((1, 4), np.nan)
    np.testing.assert_allclose(twins[2].predict_proba(unknown), [[0.5 / 10.5, 1 / 10.5, 9 / 10.5]], rtol=1e-12)
    model.partial_fit(X[:50] + 9, np.full(50, 3))  # a class that fit has not seen
    np.testing.assert_allclose(model.predict_proba(unknown), [np.array([0.5, 1, 9, 1]) / 11.5], rtol=1e-12)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("even", "class_weight is 'even'; use a dict"),
        ({0: -1.0}, "the class weight of 0 is -1.0; use a number above 0"),
        ({7: 2.0}, "class_weight has the label 7, which no record has"),
        ([1.0], "use a dict"),
    ],
)
def test_invalid_class_weights_are_errors(weight, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        BayesTreeClassifier(class_weight=weight).fit(X, y)


def test_a_model_that_starts_empty_has_no_class_weights():
    with pytest.raises(ValueError, match="class_weight is 'balanced', which fit applies; call fit before partial_fit"):
        BayesTreeClassifier(class_weight="balanced").partial_fit([[0.0]], [0])
