"""Inverted search: lists certify early, and stay small when exemplars are evicted."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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


def arrays_of(model):
    """Return the bits of the exemplars and lists; the coarse copy that a scan reads may be scaled otherwise."""
    arrays = model.exemplars_.gallery.arrays()
    return {
        name: array.tobytes() for name, array in arrays.items() if name not in ("blocks", "slack", "origin", "scale")
    }


@settings(max_examples=12)
@pytest.mark.filterwarnings("ignore:The number of unique classes")
@given(
    seed=st.integers(0, 10**6),
    first=st.integers(1, 150),
    window=st.sampled_from([None, 20, 150]),
    classes=st.sampled_from([1, 3, 25]),
    stops=st.lists(st.integers(0, 400), min_size=1, max_size=4),
)
def test_a_copy_made_while_lists_are_built_learns_the_same_bits(seed, first, window, classes, stops):
    X, y = make_stream(seed, first + 400, classes=classes)
    y[first:] += np.arange(400) // 60  # new classes now and then
    first_batch = X[:first], y[:first], np.unique(y)  # the order of the first records depends on the number of classes
    model = AnytimeNeighborsClassifier(search="inverted", window=window).partial_fit(*first_batch)
    twin = pickle.loads(pickle.dumps(model))
    for i in range(first, first + 400):
        for each in (model, twin):
            each.partial_fit(X[i : i + 1], y[i : i + 1])
        if i - first in stops:
            twin = pickle.loads(pickle.dumps(twin))
    assert arrays_of(model) == arrays_of(twin)
    at_once = AnytimeNeighborsClassifier(search="inverted", window=window).partial_fit(*first_batch)
    assert arrays_of(at_once.partial_fit(X[first:], y[first:])) == arrays_of(model)  # whatever the batches


def test_lists_are_built_again_while_records_are_learned_one_by_one():
    X, y = make_stream(5, 6000, d=3)
    model = AnytimeNeighborsClassifier(search="inverted").fit(X[:3000], y[:3000])
    late = []
    for first in range(3000, 6000, 10):
        model.partial_fit(X[first : first + 10], y[first : first + 10])
        arrays = model.exemplars_.gallery.arrays()
        late.append(len(arrays["useful"]) / len(arrays["label"]))
    assert max(late) < 1 / 8 + 64 / 3000
    assert sum(np.diff(late) < 0) >= 5  # times that new lists replaced the old ones
    end = model.classify(make_stream(6, 200, d=3)[0], budget=Budget())
    assert end.certified.all()
    assert end.steps.mean() < len(X) / 4


@pytest.mark.parametrize("window", [None, 60])
def test_budget_zero_knows_every_class_at_any_moment(window):
    X, y = make_stream(8, 900, classes=12)
    y[450:] += 7  # seven classes end, seven begin
    model = AnytimeNeighborsClassifier(search="inverted", window=window).fit(X[:100], y[:100])
    for i in range(100, 900):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        seen = set((y[: i + 1] if window is None else y[i + 1 - window : i + 1]).tolist())
        _, labels, _ = model.exemplars_.export()
        assert sorted(model.classes_[labels[: model.exemplars_.setup]].tolist()) == sorted(seen)
