"""The work of choosing a horizon is spread over the points that follow, and changes nothing else."""

import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anystream import load
from anystream.microclusters import MicroClusterClassifier

TIMES = {"n_clusters": 60, "snapshot_every": 40, "choose_every": 100, "hold_back": 3, "calibrate": False}


def drifting(seed, n):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    return random.normal(size=(n, 4)) + y[:, None] + np.linspace(0, 6, n)[:, None], y


def learn_in(model, X, y, sizes):
    start = 0
    for size in sizes:
        model.partial_fit(X[start : start + size], y[start : start + size], classes=range(3))
        start += size
    return model.partial_fit(X[start:], y[start:], classes=range(3))


def all_arrays(model):
    return {name: array.tobytes() for name, array in model.model_.arrays().items()}


@settings(max_examples=10)
@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.sampled_from([1, 1, 2, 5, 17, 60]), min_size=1, max_size=40),
    choose_within=st.sampled_from([1, 13, 50, 100]),
)
def test_any_division_into_batches_gives_the_same_bits(seed, sizes, choose_within):
    X, y = drifting(seed, 700)
    pieces = learn_in(MicroClusterClassifier(**TIMES, choose_within=choose_within), X, y, sizes)
    whole = learn_in(MicroClusterClassifier(**TIMES, choose_within=choose_within), X, y, [])
    assert all_arrays(pieces) == all_arrays(whole)


@settings(max_examples=6)
@given(seed=st.integers(0, 10_000), stop=st.integers(401, 499), by_file=st.booleans())
def test_a_model_saved_in_the_middle_of_a_choice_learns_on_with_the_same_bits(seed, stop, by_file, tmp_path_factory):
    X, y = drifting(seed, 700)
    model = MicroClusterClassifier(**TIMES, choose_within=100)
    for i in range(stop):
        model.learn_one(dict(enumerate(X[i])), int(y[i]))
    assert model.model_.arrays()["state"][4] == 400  # a choice is in progress
    if by_file:
        path = tmp_path_factory.mktemp("models") / "model.safetensors"
        model.save(path)
        twin = load(path)
    else:
        twin = pickle.loads(pickle.dumps(model))
    for i in range(stop, 700):
        for each in (model, twin):
            each.learn_one(dict(enumerate(X[i])), int(y[i]))
        if i % 20 == 0:
            assert all_arrays(twin) == all_arrays(model)
    assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))


def test_new_features_in_the_middle_of_a_choice_leave_its_outcome():
    X, y = drifting(1, 500)
    outcomes = []
    for wider in (False, True):
        model = MicroClusterClassifier(**TIMES, choose_within=100)
        learn_in(model, X[:420], y[:420], [])
        if wider:
            model.learn_one(dict(enumerate([*X[420], 1.0])), int(y[420]))
        outcomes.append(model.model_.arrays()["state"][4:6].tolist())
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == 400


def distances_per_call(model, X, y):
    counts = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        before = model.model_.distances if hasattr(model, "model_") else 0
        model.learn_one(dict(enumerate(row)), label)
        counts.append(model.model_.distances - before)
    return np.array(counts)


def test_no_call_does_more_than_its_share_of_a_choice():
    X, y = drifting(2, 4000)
    times = {"n_clusters": 100, "snapshot_every": 250, "choose_every": 500, "calibrate": False}
    spread = distances_per_call(MicroClusterClassifier(**times), X, y)
    at_once = distances_per_call(MicroClusterClassifier(**times, choose_within=0), X, y)
    scan = 100  # a point is compared with every cluster
    held, horizons = 500 // 16 + 10, 3 * 5 + 2
    share = -(-held * horizons // 250) * scan
    assert spread.max() <= scan + share
    assert at_once.max() > 20 * (scan + share)


def test_fit_makes_every_choice_at_once_and_learning_on_spreads_them():
    X, y = drifting(3, 700)
    fitted = MicroClusterClassifier(**TIMES, choose_within=100).fit(X[:400], y[:400])
    at_once = MicroClusterClassifier(**TIMES, choose_within=0).fit(X[:400], y[:400])
    assert all_arrays(fitted) == all_arrays(at_once)
    fitted.partial_fit(X[400:550], y[400:550])
    assert fitted.model_.arrays()["state"][4] == 500
    assert fitted.choose_within == 100
