"""Inverted search: lists certify early, and stay small when exemplars are evicted."""

import pickle

import numpy as np
from neighbors_cases import make_stream, squared_distances

from anystream import Budget, load
from anystream.neighbors import AnytimeNeighborsClassifier


def test_certified_labels_come_early_and_are_exact():
    X, y = make_stream(1, 1500, d=3)
    model = AnytimeNeighborsClassifier(search="inverted").fit(X, y)
    Q, _ = make_stream(2, 200, d=3)
    end = model.classify(Q, budget=Budget())
    assert end.certified.all()
    assert end.steps.mean() < len(X) / 4
    plain = squared_distances(Q, X).argmin(axis=1)
    assert np.array_equal(end.labels, y[plain])


def test_lists_of_which_exemplars_are_evicted_stay_fast_and_small(tmp_path):
    model = AnytimeNeighborsClassifier(search="inverted", window=600)
    for part in range(30):
        model.partial_fit(*make_stream(part, 3000 if part == 0 else 100))
        assert len(model.exemplars_) == 600
        assert model.exemplars_.gallery.positions <= 600 + 64 + 600 // 7
    Q, _ = make_stream(99, 100)
    records, labels, _ = model.exemplars_.export()
    end = model.classify(Q, budget=Budget())
    plain = squared_distances(Q, records).argmin(axis=1)
    assert np.array_equal(end.labels, model.classes_[labels[plain]])
    assert end.steps.mean() < 300
    assert model.leave_one_out_profile().n_records == 600
    assert model.exemplars_.gallery.positions > 600  # some are evicted and still have their positions
    model.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    for twin in (loaded, pickle.loads(pickle.dumps(model))):
        assert len(twin.exemplars_) == 600
        assert np.array_equal(twin.predict(Q, budget=30), model.predict(Q, budget=30))
        twin.partial_fit(*make_stream(77, 90))
        assert len(twin.exemplars_) == 600
