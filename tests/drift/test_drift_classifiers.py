"""Every drift classifier learns batches like single records, learns new labels, and follows a change."""

import pickle
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest

from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, OnlineTree2, ResetOnDrift, SEAEnsemble
from anystream.streams import SEA, MovingGaussians, RandomRBF
from drift.models import MODELS, each_model


@each_model
def test_a_batch_gives_the_same_model_as_its_records_one_by_one(make):
    X, y = SEA(concepts=(7, 9), drifts=(90,), noise=0.1, seed=4).take(170)
    batch, one_by_one = make(), make()
    for model, cuts in ((batch, [0, 100, 160]), (one_by_one, range(161))):
        for first, last in pairwise(cuts):
            model.partial_fit(X[first:last], y[first:last], classes=[0, 1])
    assert np.array_equal(batch.predict_proba(X), one_by_one.predict_proba(X))


@each_model
def test_new_labels_are_learned_when_they_appear(make):
    X, y = RandomRBF(n_classes=3, seed=3, n_centers=6).take(900)
    words = np.array(["ant", "bee", "cat"])[y]
    model = make()
    early = y[:300] != 2
    model.partial_fit(X[:300][early], words[:300][early])
    assert model.classes_.tolist() == ["ant", "bee"]
    model.partial_fit(X[300:], words[300:])
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert "cat" in model.predict(X)
    assert model.predict_proba(X).shape == (900, 3)


@each_model
def test_records_that_are_not_reached_get_the_shares_of_the_classes(make):
    rng = np.random.default_rng(5)
    y = np.array(["rare", "frequent"])[(rng.random(1200) < 0.75).astype(int)]
    X = rng.normal(size=(1200, 2)) + 3 * (y == "rare")[:, np.newaxis]  # a missing value is on the side of the rare
    model = make().fit(X, y)
    frequent = model.classes_.tolist().index("frequent")
    answer = model.classify(np.tile(X, (40, 1)), budget=timedelta(0))
    assert not answer.reached.all()
    assert answer.proba[~answer.reached][:, frequent] == pytest.approx(0.75, abs=0.12)
    assert set(answer.labels[~answer.reached]) == {"frequent"}


@each_model
def test_an_unpickled_model_learns_further_like_the_original(make):
    X, y = SEA(seed=1, noise=0.1).take(250)
    model = make().fit(X[:120], y[:120])
    twin = pickle.loads(pickle.dumps(model))
    for each in (model, twin):
        each.partial_fit(X[120:], y[120:])
    assert np.array_equal(model.predict_proba(X), twin.predict_proba(X))
    assert model.memory_bytes_ > 0


@pytest.mark.parametrize("name", [name for name in MODELS if name != "naive-bayes"])
def test_a_swap_of_the_classes_is_followed(name):
    stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(600,), seed=2)
    model = MODELS[name]().fit(*stream.take(600))
    X, y = stream.take(500, start=2000)
    assert model.score(X, y) < 0.4
    model.partial_fit(*stream.take(1400, start=600))
    assert model.score(X, y) > 0.75


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GaussianNaiveBayes(smoothing=0), "smoothing is 0; use a number above 0"),
        (SEAEnsemble(capacity=0), "capacity is 0; use a whole number from 1 on"),
        (SEAEnsemble(rule="best"), "rule is 'best'; use one of 'worst', 'quality'"),
        (SEAEnsemble(chunk_size=2.5), "chunk_size is 2.5"),
        (WCEA(folds=1), "folds is 1; use a whole number from 2 on"),
        (WCEA(budget=-1), "budget is -1"),
        (WCEA(random_state=-1), "random_state is -1"),
        (DynamicWeightedMajority(beta=1.0), "beta is 1.0; use a number between 0 and 1"),
        (DynamicWeightedMajority(theta=2), "theta is 2; use a number from 0 to 1"),
        (DynamicWeightedMajority(period=0), "period is 0"),
        (OnlineTree2(decline="x"), "decline is 'x'"),
        (ResetOnDrift(keep=0), "keep is 0; use a whole number from 1 on"),
        (ResetOnDrift(detector="Oracle"), "river has no drift detector 'Oracle'"),
        (OnlineTree2(max_window=4), "max_window is 4; use a whole number from 8 on"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_parameters_raise_an_error_that_tells_what_to_use(model, message):
    X, y = SEA(seed=1).take(10)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError) as error:
            learn(X, y)
        assert message in str(error.value)
    assert not hasattr(model, "classes_")


def test_only_classifiers_that_can_be_merged_or_saved_have_the_methods():
    mergeable = {GaussianNaiveBayes, WCEA}
    for cls in (GaussianNaiveBayes, SEAEnsemble, DynamicWeightedMajority, WCEA, OnlineTree2, ResetOnDrift):
        assert hasattr(cls(), "merge") == (cls in mergeable)
        assert hasattr(cls(), "save") == (cls is not ResetOnDrift)
