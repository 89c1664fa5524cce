"""Sampling of LOCUST stops early when more samples cannot change the label, or hardly can."""

import numpy as np
import pytest
from locust_cases import FORMS, blobs

from anystream import Budget
from anystream.subspace import BlockLocustClassifier, LocustClassifier


@pytest.mark.parametrize("form", FORMS)
def test_a_certified_label_is_that_of_all_samples(form):
    X, y = blobs()
    stops = form(max_samples=120).fit(X, y).classify(X, budget=Budget())
    unlimited = form(max_samples=100_000).fit(X, y).classify(X, budget=120)
    assert stops.certified.all()
    assert np.array_equal(stops.labels, unlimited.labels)
    assert (unlimited.steps == 120).all()
    assert (stops.steps < 120).any()


def tied(form, n=40, **parameters):
    """Return a model and records for which two classes have exactly equal chances: each feature votes for one.

    The last feature was constant in training and is never drawn; it only gives each record different samples.
    """
    a, b = np.tile([0.0, 1.0, 0.0], (n, 1)), np.tile([1.0, 0.0, 0.0], (n, 1))
    model = form(max_samples=4000, **parameters).fit(np.vstack([a, b]), [0] * n + [1] * n)
    return model, np.column_stack([np.zeros((1500, 2)), np.arange(1500.0)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("confidence", [0.6, 0.9])
def test_without_a_winning_class_the_sequential_test_stops_no_more_often_than_its_error_rate(form, confidence):
    extra = {"n_levels": 1} if form is LocustClassifier else {"bias": "proportional"}
    model, records = tied(form, confidence=confidence, **extra)
    assert model.predict_proba(records, budget=500).mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.02)
    stopped = (model.classify(records, budget=500).steps < 500).mean()  # the other records take all samples
    assert 0.0 < stopped < 1.0 - confidence
    model.set_params(confidence=None)
    assert set(model.predict(records, budget=Budget(steps=5))) == {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_sequential_test_errs_no_more_often_than_its_confidence_allows(form):
    X, y = blobs(800, classes=2, seed=1)
    X[:, 1:] = 0.3 * X[:, 1:]
    limit = form(max_samples=3000).fit(X, y).predict(X, budget=Budget())
    early = form(max_samples=3000, confidence=0.8).fit(X, y).classify(X, budget=Budget())
    assert (early.labels != limit).mean() < 0.2
    assert early.steps.mean() < 1500
    surer = form(max_samples=3000, confidence=0.99).fit(X, y).classify(X, budget=Budget())
    assert (surer.labels != limit).mean() < 0.01
    assert surer.steps.mean() > early.steps.mean()


@pytest.mark.parametrize("form", FORMS)
def test_one_class_is_certified_without_a_step(form):
    model = form().partial_fit(np.ones((5, 2)), ["only"] * 5, classes=["only", "other"])
    answer = model.classify([[7.0, 7.0]])
    assert (answer.labels[0], answer.steps[0], answer.certified[0]) == ("only", 0, True)


def test_a_confidence_needs_bounded_votes():
    with pytest.raises(ValueError, match="use plain votes"):
        BlockLocustClassifier(confidence=0.9, votes="gamma").fit(*blobs(20))
