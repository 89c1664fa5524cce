"""Learning on: the order stays one, windows forget, lists stay exact."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anystream import Budget, load
from anystream.model_file import ModelFileError, read_model
from anystream.neighbors import AnytimeNeighborsClassifier


def stream(seed, n, d=2, classes=3):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, d)) * 2
    y = rng.integers(0, classes, n)
    return centres[y] + rng.normal(size=(n, d)), y


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    first=st.integers(1, 60),
    more=st.integers(0, 120),
    window=st.sampled_from([None, 1, 7, 50]),
    search=st.sampled_from(["ordered", "inverted"]),
)
def test_exemplars_are_those_learned_and_answers_exact(seed, first, more, window, search):
    X, y = stream(seed, first + more)
    model = AnytimeNeighborsClassifier(window=window, search=search, ordering="simple_rank").fit(X[:first], y[:first])
    if more:
        model.partial_fit(X[first:], y[first:])
    rows, labels, serials = model.exemplars_.stored()
    size = len(X) if window is None else min(window, len(X))
    kept = np.sort(serials)
    assert len(kept) == size
    assert np.array_equal(np.diff(kept), np.ones(size - 1))  # the newest, without a gap
    shift = len(X) - 1 - kept[-1]  # a window drops the oldest of a fit before they get a number
    assert np.array_equal(rows, X[serials + shift])
    assert np.array_equal(model.classes_[labels], y[serials + shift])
    setup = model.exemplars_.setup
    assert sorted(labels[:setup]) == sorted(set(labels.tolist()))  # one of each class in front
    Q, _ = stream(seed + 1, 20)
    newest = X[len(X) - size :]
    plain = ((Q[:, None] - newest[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(model.predict(Q, budget=10**6), y[len(X) - size :][plain])


def test_a_new_exemplar_goes_where_it_helps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 5).astype(int)
    X[:4], y[:4] = [[30.0, 0.0], [31.0, 0.0], [0.0, 0.0], [0.1, 0.0]], [1, 1, 0, 0]
    model = AnytimeNeighborsClassifier(ordering="simple_rank").fit(X, y)
    island = np.array([[9.0, 9.0], [9.1, 9.0], [9.0, 9.1], [9.1, 9.1], [9.2, 9.0], [9.0, 9.2]])
    model.partial_fit(island, np.ones(6, int))
    serials = model.exemplars_.stored()[2].tolist()
    assert min(serials.index(400 + i) for i in range(6)) < 40  # not behind all 400
    assert model.predict([[9.05, 9.05]], budget=40).tolist() == [1]


def test_a_stream_is_ordered_as_it_grows():
    X, y = stream(3, 700, classes=8)
    Q, truth = stream(3, 3000, classes=8)
    early = {}
    for ordering in ("simple_rank", "random"):
        model = AnytimeNeighborsClassifier(ordering=ordering)
        for first in range(0, 700, 100):
            model.partial_fit(X[first : first + 100], y[first : first + 100])
        early[ordering] = (model.predict(Q, budget=16) == truth).mean()
        at_once = AnytimeNeighborsClassifier(ordering=ordering).partial_fit(X, y)
        for mine, other in zip(model.exemplars_.stored(), at_once.exemplars_.stored(), strict=True):
            assert np.array_equal(mine, other)  # however the stream was cut
    assert early["simple_rank"] > early["random"] + 0.02


def test_certificates_come_early_and_never_lie():
    X, y = stream(1, 1500, d=3)
    model = AnytimeNeighborsClassifier(search="inverted").fit(X, y)
    Q, _ = stream(2, 200, d=3)
    end = model.classify(Q, budget=Budget())
    assert end.certified.all()
    assert end.steps.mean() < len(X) / 4
    plain = ((Q[:, None] - X[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(end.labels, y[plain])


def test_trimming_drops_noise_and_keeps_clean_data():
    rng = np.random.default_rng(0)
    X = rng.random((800, 2))
    y = (X[:, 0] > 0.5).astype(int)
    noisy = np.where(rng.random(800) < 0.2, 1 - y, y)
    whole = AnytimeNeighborsClassifier(ordering="simple_rank").fit(X, noisy)
    trimmed = AnytimeNeighborsClassifier(ordering="simple_rank", trim="auto").fit(X, noisy)
    Q = rng.random((2000, 2))
    truth = (Q[:, 0] > 0.5).astype(int)
    assert (trimmed.predict(Q) == truth).mean() > (whole.predict(Q) == truth).mean() + 0.05
    clean = AnytimeNeighborsClassifier(ordering="simple_rank", trim="auto").fit(X, y)
    assert (clean.predict(Q) == truth).mean() > 0.97


def test_the_profile_of_a_trimmed_model_counts_what_was_dropped(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.random((900, 2))
    y = ((X[:, 0] > 0.5) ^ (rng.random(900) < 0.2)).astype(int)
    model = AnytimeNeighborsClassifier(trim="auto").fit(X[:600], y[:600])
    assert len(model.exemplars_) < 500
    profile = model.performance_profile()
    assert profile.n_records == 600
    truth = (model.predict(X[600:]) == y[600:]).mean()
    assert abs(profile.expected(600) - truth) < 0.06
    model.save(tmp_path / "model.safetensors")
    loaded = AnytimeNeighborsClassifier._from_file(read_model(tmp_path / "model.safetensors"), mapped=False)
    for twin in (loaded, pickle.loads(pickle.dumps(model)), AnytimeNeighborsClassifier.merge([model])):
        assert np.array_equal(twin.performance_profile().accuracy, profile.accuracy)


def test_the_profile_is_the_leave_one_out_accuracy():
    X, y = stream(5, 60)
    model = AnytimeNeighborsClassifier().fit(X, y)
    accuracy = model.performance_profile([10**6]).accuracy
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2) + np.diag(np.full(60, np.inf))
    assert accuracy[0] == (y[D.argmin(axis=1)] == y).mean()
    profile = model.performance_profile()
    assert profile.stages[0] == 0
    assert profile.expected(10**6) == accuracy[0]


@pytest.mark.parametrize("parameters", [{}, {"metric": "rotation"}, {"search": "inverted"}])
def test_memory_stays_within_max_bytes(parameters):
    model = AnytimeNeighborsClassifier(max_bytes=200_000, **parameters)
    for seed in range(6):
        model.partial_fit(*stream(seed, 400, d=4))
        assert model.memory_bytes_ <= 200_000
    assert len(model.exemplars_) > 150


@pytest.mark.parametrize("metric", ["euclidean", "gower", "dtw", "rotation", "edit", "mahalanobis"])
@pytest.mark.parametrize("mmap", [False, True])
def test_files_and_pickles_keep_every_metric(metric, mmap, tmp_path):
    X, y = stream(4, 40, d=6)
    X = X.astype(object) if metric == "edit" else X
    texts = ["".join("abcdefgh"[int(abs(v)) % 8] for v in row) for row in X]
    given_X, Q = (texts, texts[::3]) if metric == "edit" else (X, X[::3] + 0.1)
    params = {"categorical": [1]} if metric == "gower" else None
    model = AnytimeNeighborsClassifier(metric=metric, metric_params=params, search="inverted").fit(given_X, y)
    model.save(tmp_path / "model.safetensors")
    loaded = AnytimeNeighborsClassifier._from_file(read_model(tmp_path / "model.safetensors", mmap=mmap), mapped=mmap)
    for twin in (loaded, pickle.loads(pickle.dumps(model))):
        for budget in (0, 7, 10**6):
            assert np.array_equal(twin.predict(Q, budget=budget), model.predict(Q, budget=budget))
        twin.partial_fit(given_X[:2], y[:2])
        assert len(twin.exemplars_) == 42


def test_damaged_files_are_refused(tmp_path):
    from anystream.model_file import write_model

    model = AnytimeNeighborsClassifier(metric="gower", metric_params={"categorical": [1]}, scaling="minmax")
    metadata, arrays = model.fit(*stream(4, 40))._to_file()
    for name, change in (
        ("label", lambda a: a + 5),
        ("layout", lambda a: a + 1000),
        ("rows", lambda a: a[:-1]),
        ("blocks", lambda a: a[:-16]),
        ("list", lambda a: np.array([0, 5], dtype=np.int64)),
        ("learned.width", lambda a: a + 1),
        ("learned.unit", lambda a: a * 0),
        ("learned.shift", lambda a: a[:-1]),
        ("learned.columns", lambda a: a * 0),
        ("learned.ranges", lambda a: a[:-1]),
        ("learned.n_categorical", lambda a: a + 0.5),
    ):
        damaged = {**arrays, name: change(arrays[name])}
        write_model(tmp_path / "m.safetensors", kind="neighbors", version=1, metadata=metadata, arrays=damaged)
        with pytest.raises(ModelFileError):
            AnytimeNeighborsClassifier._from_file(read_model(tmp_path / "m.safetensors"), mapped=False)


def test_a_file_keeps_a_bound_on_memory(tmp_path):
    model = AnytimeNeighborsClassifier(max_bytes=30_000).fit(*stream(4, 40))
    model.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    assert loaded.exemplars_.capacity == model.exemplars_.capacity > 0


def test_a_python_metric_has_no_file(tmp_path):
    model = AnytimeNeighborsClassifier(metric=lambda a, b: abs(a - b)).fit([1, 2, 3], [0, 1, 1])
    with pytest.raises(TypeError, match="pickle it, or use a named metric"):
        model.save(tmp_path / "m.safetensors")


@pytest.mark.parametrize("metric", ["euclidean", lambda a, b: float(np.abs(a - b).max())])
def test_the_state_of_a_query_is_three_numbers_and_checked(metric):
    X, y = stream(6, 60)
    model = AnytimeNeighborsClassifier(metric=metric).fit(list(X), y)
    query = model.query(X[0] + 0.1).refine(20)
    record, (best, distance, position) = pickle.loads(pickle.dumps(query.state))
    _, labels, serials = model.exemplars_.stored()
    assert model.classes_[labels[best]] == query.label
    assert (serials[best], distance) == query.nearest[0]
    assert position == 20 + model.exemplars_.setup
    again = model.query(state=(record, (best, distance, position)))
    assert (again.steps, again.nearest) == (20, query.nearest)
    for damaged in ((best, distance, 10**6), (10**6, distance, position), (best, distance), (best, "far", position)):
        with pytest.raises(ValueError, match="not the state of a query"):
            model.query(state=(record, damaged))


def test_a_query_keeps_the_model_it_was_opened_on():
    X, y = stream(6, 60)
    model = AnytimeNeighborsClassifier(metric="cosine").fit(X, np.array(["a", "b", "c"])[y])
    query = model.query(X[0] + 0.1).refine(5)
    before = (query.label, query.nearest)
    model.set_params(metric="euclidean").fit(X[:, :1], y + 10)
    assert (query.label, query.nearest) == before
    assert query.refine().label in ("a", "b", "c")


def test_the_state_must_be_of_this_model():
    X, y = stream(6, 60)
    model = AnytimeNeighborsClassifier().fit(X, y)
    other = AnytimeNeighborsClassifier(ordering="random", seed=3).fit(X, y)
    with pytest.raises(ValueError, match="not the state of a query of this model"):
        other.query(state=model.query(X[0] + 0.1).refine(20).state)


@pytest.mark.parametrize("parameters", [{"k": 3}, {"search": "inverted"}, {"search": "inverted", "k": 3}, {}])
def test_ties_are_decided_alike_after_resuming(parameters):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (200, 2)).astype(float), rng.integers(0, 3, 200)
    model = AnytimeNeighborsClassifier(**parameters).fit(X, y)
    for x in X[:9]:
        query = model.query(x)
        for _ in range(12):
            query = pickle.loads(pickle.dumps(query)).refine(17)
        assert query.nearest == model.query(x).refine(12 * 17).nearest


def test_lists_that_forget_stay_quick_and_small(tmp_path):
    model = AnytimeNeighborsClassifier(search="inverted", window=600)
    for part in range(30):
        model.partial_fit(*stream(part, 3000 if part == 0 else 100))
        assert len(model.exemplars_) == 600
        assert model.exemplars_.gallery.positions <= 600 + 64 + 600 // 7
    Q, _ = stream(99, 100)
    rows, labels, _ = model.exemplars_.stored()
    end = model.classify(Q, budget=Budget())
    plain = ((Q[:, None] - rows[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(end.labels, model.classes_[labels[plain]])
    assert end.steps.mean() < 300
    assert model.performance_profile().n_records == 600
    assert model.exemplars_.gallery.positions > 600  # some have left and still have their place
    model.save(tmp_path / "model.safetensors")
    loaded = AnytimeNeighborsClassifier._from_file(read_model(tmp_path / "model.safetensors"), mapped=False)
    for twin in (loaded, pickle.loads(pickle.dumps(model))):
        assert len(twin.exemplars_) == 600
        assert np.array_equal(twin.predict(Q, budget=30), model.predict(Q, budget=30))
        twin.partial_fit(*stream(77, 90))
        assert len(twin.exemplars_) == 600
