"""The leave-one-out profile."""

import pickle

import numpy as np
from neighbors_cases import make_stream, squared_distances

from anystream import load
from anystream.neighbors import AnytimeNeighborsClassifier


def test_the_profile_of_a_trimmed_model_counts_the_records_that_were_dropped(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.random((900, 2))
    y = ((X[:, 0] > 0.5) ^ (rng.random(900) < 0.2)).astype(int)
    model = AnytimeNeighborsClassifier(trim="auto").fit(X[:600], y[:600])
    assert len(model.exemplars_) < 500
    profile = model.leave_one_out_profile()
    assert profile.n_records == 600
    assert model.trimmed_profile_.n_records == 600 - len(model.exemplars_)
    truth = (model.predict(X[600:]) == y[600:]).mean()
    assert abs(profile.expected(600) - truth) < 0.06
    model.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    for twin in (loaded, pickle.loads(pickle.dumps(model)), AnytimeNeighborsClassifier.merge([model])):
        assert np.array_equal(twin.leave_one_out_profile().accuracy, profile.accuracy)


def test_the_profile_equals_the_plain_leave_one_out_accuracy():
    X, y = make_stream(5, 60)
    model = AnytimeNeighborsClassifier().fit(X, y)
    accuracy = model.leave_one_out_profile([10**6]).accuracy
    D = squared_distances(X, X) + np.diag(np.full(60, np.inf))
    assert accuracy[0] == (y[D.argmin(axis=1)] == y).mean()
    profile = model.leave_one_out_profile()
    assert profile.stages[0] == 0
    assert profile.expected(10**6) == accuracy[0]
