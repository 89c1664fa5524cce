"""Micro-clusters equal a plain reference that stores the points, and stay within their bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anystream import ModelFileError, _native, load
from anystream.microclusters import MicroClusterClassifier
from anystream.model_file import read_model, write_model
from reference.microclusters import MicroClusters


def drifting(seed, n, d, classes, missing=0.0):
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    X = random.normal(size=(n, d)) + 2 * y[:, None] + np.linspace(0, 6, n)[:, None]
    X[:, 1:][random.random((n, d - 1)) < missing] = np.nan  # the first feature prevents ties
    return X, y


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(3, 110),
    d=st.integers(1, 4),
    classes=st.integers(1, 4),
    clusters=st.sampled_from([1, 4, 12, 40]),
    stale_after=st.sampled_from([20, 10_000]),
    missing=st.sampled_from([0.0, 0.15]),
    choose_within=st.sampled_from([0, 1, 7, 15, 30]),
)
def test_clusters_horizons_and_labels_equal_those_of_the_reference(
    seed, n, d, classes, clusters, stale_after, missing, choose_within
):
    X, y = drifting(seed, n, d, classes, missing)
    times = {"stale_after": stale_after, "snapshot_every": 10, "choose_every": 30, "hold_back": 3}
    times["choose_within"] = choose_within
    model = MicroClusterClassifier(n_clusters=clusters, budget=10**6, **times)
    model.partial_fit(X, y, classes=range(classes))
    plain = MicroClusters(d, clusters, **times)
    for x, label in zip(X, y, strict=True):
        plain.learn(x, label)
    arrays = model.model_.arrays()
    assert arrays["cluster_id"].tolist() == [c.number for c in plain.clusters]
    assert arrays["cluster_moments"].reshape(-1, 3)[:, 0].tolist() == [len(c.points) for c in plain.clusters]
    known = arrays["cluster_observed"].reshape(-1, d) > 0
    mean = np.where(known, arrays["cluster_mean"].reshape(-1, d), np.nan)
    np.testing.assert_allclose(mean, [c.mean for c in plain.clusters], rtol=1e-9, atol=1e-9)
    assert arrays["state"][3] == (-1 if plain.chosen is None else plain.chosen)
    assert model.predict(X[:10]).tolist() == [plain.predict(x) for x in X[:10]]


@given(seed=st.integers(0, 10_000), blocks=st.integers(1, 5), missing=st.sampled_from([0.0, 0.3, 1.0]))
def test_the_distance_leaves_missing_values_out(seed, blocks, missing):
    random = np.random.default_rng(seed)
    x, centroid = random.normal(size=(2, 16 * blocks)).astype(np.float32)
    x[random.random(x.shape) < missing] = np.nan
    found = _native.microcluster_distance(x, centroid)
    np.testing.assert_allclose(found, np.nansum((x.astype(float) - centroid) ** 2), rtol=1e-5)


def test_a_horizon_follows_a_change_of_concept():
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 2))
    y = (X[:, 0] > 0).astype(int)
    y[15_000:] = 1 - y[15_000:]
    model = MicroClusterClassifier(n_clusters=100).fit(X, y)
    assert model.model_.horizon_points <= 6_000
    assert model.score(X[19_000:], y[19_000:]) > 0.85


def test_accuracy_rises_with_the_clusters_compared():
    X, y = drifting(1, 4000, 6, 5)
    model = MicroClusterClassifier(n_clusters=300).fit(X, y)
    accuracy = [np.mean(p == y) for p in model.staged_predict(X, stages=[1, 20, 300])]
    assert accuracy[0] < accuracy[1] < accuracy[2]
    assert (model.classify(X[:20], budget=10**6).steps <= model.model_.n_clusters).all()


def test_clusters_stay_within_their_number_and_memory_is_reported():
    X, y = drifting(2, 5000, 5, 3)
    model = MicroClusterClassifier(n_clusters=50).fit(X, y)
    assert model.model_.n_clusters <= 50
    assert 50 * 5 * 8 < model.memory_bytes_ < 10**6


def test_a_loaded_model_learns_the_same(tmp_path):
    X, y = drifting(3, 3000, 4, 3)
    model = MicroClusterClassifier(n_clusters=60, snapshot_every=100, choose_every=300).fit(X[:2000], y[:2000])
    model.save(tmp_path / "model.safetensors")
    twin = load(tmp_path / "model.safetensors")
    for each in (model, twin):
        each.partial_fit(X[2000:], y[2000:])
    assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))


def test_damaged_arrays_are_rejected(tmp_path):
    X, y = drifting(4, 3000, 4, 3)
    path = tmp_path / "model.safetensors"
    MicroClusterClassifier(n_clusters=60).fit(X, y).save(path)
    sound = read_model(path)
    changes = [
        ("cluster_class", lambda a: a + 9),
        ("cluster_moments", lambda a: -a),
        ("cluster_id", lambda a: a + 10**6),
        ("snapshot", lambda a: a[::-1].copy() * 3),
        ("past_count", lambda a: a[:-1]),
        ("state", lambda a: a * 0),
        ("state", lambda a: np.append(a[:2], [2**63 - 1, a[3]])),
        ("state", lambda a: np.append([2**63 - 1], a[1:])),
    ]
    for name, change in changes:
        damaged = sound.arrays | {name: change(sound.arrays[name])}
        write_model(path, kind=sound.kind, version=sound.version, metadata=sound.metadata, arrays=damaged)
        with pytest.raises(ModelFileError):
            load(path)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters is 0"),
        ({"boundary": -1.0}, "boundary is -1"),
        ({"hold_back": 1}, "hold_back is 1"),
        ({"choose_every": 10, "choose_within": 11}, "choose_within is 11"),
        ({"snapshot_every": 0}, "snapshot_every is 0"),
    ],
)
def test_invalid_parameters_are_rejected_before_anything_changes(parameters, message):
    model = MicroClusterClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(model, "model_")


def test_a_state_with_distances_that_are_not_numbers_is_rejected():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = MicroClusterClassifier().fit(X, np.arange(60) % 2)
    state = model.query(X[0]).refine(3).state
    model.query(state=state)
    with pytest.raises(ValueError, match="its distances are damaged"):
        model.query(state=state[:-4] + np.float32("nan").tobytes())
