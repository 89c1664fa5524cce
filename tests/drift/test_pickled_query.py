"""A query of an ensemble can be pickled after the ensemble has learned further chunks."""

import pickle

import numpy as np

from anystream import LocustClassifier
from anystream.drift import WCEA, GaussianNaiveBayes


def test_a_pickled_query_keeps_the_members_of_the_time_it_was_opened():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 3)), np.arange(400) % 2
    X[:, 0] += 2 * y
    for estimator in (LocustClassifier(), GaussianNaiveBayes()):
        model = WCEA(estimator, chunk_size=100, folds=2).fit(X[:200], y[:200])
        query, expected = model.query(X[300]).refine(3), model.query(X[300]).refine(8)
        model.partial_fit(X[200:], 1 - y[200:])
        resumed = pickle.loads(pickle.dumps(query)).refine(5)
        assert np.array_equal(resumed.proba, expected.proba)
        assert resumed.steps == expected.steps
