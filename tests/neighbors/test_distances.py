"""Every distance is what its definition says, early abandoning or not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier
from tests.reference import neighbors_distances as reference

from anystream.neighbors import AnytimeNeighborsClassifier


def data(seed, n=30, d=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * rng.random(d) * 3, rng.integers(0, 3, n), rng.normal(size=(8, d))


def nearest_of(model, x):
    return model.query(x).refine().nearest[0]


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), search=st.sampled_from(["ordered", "inverted"]))
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine", "correlation", "mahalanobis"])
def test_vector_distances_are_scipys(metric, seed, k, search):
    X, y, Q = data(seed)
    y[:3] = range(3)
    model = AnytimeNeighborsClassifier(metric=metric, k=k, search=search, ordering="random").fit(X, y)
    named = {"manhattan": "cityblock"}.get(metric, metric)
    more = {"VI": np.linalg.inv(np.cov(X, rowvar=False))} if metric == "mahalanobis" else {}
    plain = cdist(Q, X, named, **more)
    for x, row in zip(Q, plain, strict=True):
        found = model.query(x).refine().nearest
        assert_allclose([distance for _, distance in found], np.sort(row)[:k], rtol=1e-7, atol=1e-12)
        assert [serial for serial, _ in found] == np.argsort(row, kind="stable")[:k].tolist()


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), whole=st.booleans(), search=st.sampled_from(["ordered", "inverted"]))
@pytest.mark.parametrize("k", [1, 3])
def test_exhausted_answers_are_scikit_learns(k, seed, whole, search):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(k, 80)), int(rng.integers(1, 6))
    draw = (lambda size: rng.integers(0, 4, size).astype(float)) if whole else (lambda size: rng.normal(size=size))
    X, y, Q = draw((n, d)), rng.integers(0, 3, n), draw((20, d))
    ours = AnytimeNeighborsClassifier(k=k, search=search, ordering="simple_rank").fit(X, y)
    theirs = KNeighborsClassifier(k, algorithm="brute").fit(X, y)
    plain = ((Q[:, None] - X[None]) ** 2).sum(axis=2)
    lowest = np.argsort(plain, axis=1, kind="stable")[:, :k]  # ties in distance by the lowest index
    votes = np.array([np.bincount(y[row], minlength=3) for row in lowest])[:, np.unique(y)]
    assert_allclose(ours.predict_proba(Q, budget=10**6), votes / k)
    clear = np.sort(plain, axis=1)[:, k - 1] < np.append(np.sort(plain, axis=1), np.full((20, 1), np.inf), axis=1)[:, k]
    assert np.array_equal(ours.predict(Q, budget=10**6)[clear], theirs.predict(Q)[clear])


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), band=st.sampled_from([0, 1, 3, 0.2, 1.0]))
def test_time_warping_is_the_plain_one(seed, band):
    X, y, Q = data(seed, n=12, d=15)
    model = AnytimeNeighborsClassifier(metric="dtw", metric_params={"band": band}, ordering="random").fit(X, y)
    places = band if isinstance(band, int) else int(np.ceil(band * 15))
    for x in Q[:3]:
        plain = [reference.dtw(x, e, places) for e in X]
        serial, distance = nearest_of(model, x)
        assert serial == int(np.argmin(plain))
        assert_allclose(distance, min(plain), rtol=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 17), search=st.sampled_from(["ordered", "inverted"]))
def test_rotation_is_the_plain_one(seed, d, search):
    X, y, Q = data(seed, n=12, d=d)
    model = AnytimeNeighborsClassifier(metric="rotation", ordering="random", search=search).fit(X, y)
    for x in Q[:3]:
        plain = [reference.rotation(x, e) for e in X]
        serial, distance = nearest_of(model, x)
        assert_allclose(plain[serial], min(plain), rtol=1e-9)
        assert_allclose(distance, min(plain), rtol=1e-9)


@settings(max_examples=100)
@given(
    texts=st.lists(st.text("abcé\U0001f600", max_size=90), min_size=1, max_size=12),
    x=st.text("abcdé", max_size=90),
    search=st.sampled_from(["ordered", "inverted"]),
)
def test_edit_distance_is_the_plain_one(texts, x, search):
    model = AnytimeNeighborsClassifier(metric="edit", ordering="random", search=search).fit(texts, range(len(texts)))
    plain = [reference.edit(x, text) for text in texts]
    assert nearest_of(model, x) == (int(np.argmin(plain)), min(plain))


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), search=st.sampled_from(["ordered", "inverted"]))
def test_gower_is_the_plain_one(seed, search):
    X, y, Q = data(seed)
    categorical = [3, 1]
    X[:, categorical] = np.round(X[:, categorical])
    Q[:, categorical] = np.round(Q[:, categorical])
    model = AnytimeNeighborsClassifier(
        metric="gower", metric_params={"categorical": categorical}, ordering="random", search=search
    ).fit(X, y)
    for x in Q:
        plain = [reference.gower(x, e, np.ptp(X, axis=0), categorical) for e in X]
        serial, distance = nearest_of(model, x)
        assert_allclose(plain[serial], min(plain), rtol=1e-9)
        assert_allclose(distance, min(plain), rtol=1e-9)


def test_hamming_is_the_share_of_unequal_features():
    model = AnytimeNeighborsClassifier(metric="hamming").fit([[1, 2, 3, 4], [9, 9, 9, 9]], [0, 1])
    assert model.query([1, 2, 0, 0]).refine().nearest == [(0, 0.5)]


def test_categories_may_be_texts():
    pd = pytest.importorskip("pandas")
    rows = [["red", 1.0, "s"], ["red", 2.0, None], ["blue", 9.0, "m"], ["blue", 8.0, "m"]]
    params = {"categorical": [0, 2]}
    asked = [["blue", 5.0, "s"], ["green", 1.5, "s"], [None, 9.0, "m"]]
    forms = {
        "lists": lambda table: table,
        "objects": lambda table: np.array(table, dtype=object),
        "frame": lambda table: pd.DataFrame(table, columns=["colour", "size", "cut"]).convert_dtypes(),
    }
    for name, form in forms.items():
        model = AnytimeNeighborsClassifier(metric="gower", metric_params=params).fit(form(rows), ["a", "a", "b", "b"])
        query = model.query(asked[0]).refine()
        assert query.nearest == [(3, pytest.approx((0 + 3 / 8 + 1) / 3))], name
        assert model.predict(form(asked)).tolist() == ["b", "a", "b"], name
    with pytest.raises(ValueError, match="column 2 holds what is no number"):
        AnytimeNeighborsClassifier(metric="gower", metric_params={"categorical": [0]}).fit(rows, [0, 0, 1, 1])
    river = AnytimeNeighborsClassifier(metric="hamming")
    river.learn_one({"colour": "red", "cut": "s"}, "a")
    river.learn_one({"colour": "blue", "cut": "m"}, "b")
    assert river.predict_one({"colour": "red", "cut": "l"}) == "a"
    assert river.predict_proba_one({"colour": "blue", "cut": "l"}) == {"a": 0.0, "b": 1.0}


def test_any_callable_on_any_objects():
    sets = [{1, 2}, {2, 3}, {7, 8}, {8, 9}]

    def jaccard(a, b):
        return 1 - len(a & b) / len(a | b)

    for ordering in ("greedy", "simple_rank", "random"):
        model = AnytimeNeighborsClassifier(metric=jaccard, ordering=ordering).fit(sets, ["low", "low", "high", "high"])
        assert model.predict([{1, 3}, {9}]).tolist() == ["low", "high"]
        query = model.query({9, 10}).refine(1)
        again = model.query(state=query.state).refine()
        assert again.label == query.refine().label == "high"
        model.partial_fit([{20}], ["new"])
        assert model.predict([{20, 21}]).tolist() == ["new"]


def test_a_callable_gives_the_same_answers_as_the_named_metric():
    X, y, Q = data(1, n=60)
    named = AnytimeNeighborsClassifier(ordering="simple_rank").fit(X, y)
    called = AnytimeNeighborsClassifier(
        metric=lambda a, b: float(np.sqrt(((a - b) ** 2).sum())), ordering="simple_rank"
    )
    called.fit(list(X), y)
    for budget in (0, 3, 17, 1000):
        assert np.array_equal(named.predict(Q, budget=budget), called.predict(list(Q), budget=budget))


@pytest.mark.parametrize("value", [float("nan"), -1.0, "far", None])
def test_a_callable_that_is_no_distance_is_refused(value):
    model = AnytimeNeighborsClassifier(metric=lambda a, b: abs(a - b)).fit([1, 2, 30, 31], [0, 0, 1, 1])
    before = model.predict([3, 29]).tolist()
    model.set_params(metric=lambda a, b: value)
    with pytest.raises(ValueError, match=f"the metric returned {value!r}"):
        model.fit([1, 2, 3], [0, 1, 1])
    assert model.predict([3, 29]).tolist() == before


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"metric": "euclid"}, [[1.0], [2.0]], "metric is 'euclid'; use one of"),
        ({"metric": "euclidean"}, ["one", "two"], "compares numbers: use metric='edit' for texts"),
        ({"metric": "euclidean"}, [["one"], ["two"]], "'gower' or 'hamming' for categories"),
        ({"metric": "dtw"}, [[1.0, 2.0], [2.0]], "records differ in length"),
        ({"metric": "edit"}, {"one", "two"}, "records are a set; give a list of texts"),
        ({"metric": "dtw", "metric_params": {"band": True}}, [[1.0], [2.0]], "band is True"),
        ({"metric": "gower", "metric_params": {"categorical": ["a"]}}, [[1.0], [2.0]], "use column numbers"),
        ({"seed": -1}, [[1.0], [2.0]], "seed is -1"),
        ({"n_jobs": 0}, [[1.0], [2.0]], "n_jobs is 0"),
        ({"metric": "edit"}, [[1.0], [2.0]], "compares texts"),
        ({"metric": "dtw"}, [[1.0, np.nan], [2.0, 1.0]], "missing value"),
        ({"metric": "dtw", "metric_params": {"band": 2.5}}, [[1.0], [2.0]], "band is 2.5"),
        ({"metric": "dtw", "metric_params": {"width": 1}}, [[1.0], [2.0]], "takes others, or none"),
        ({"metric": "gower", "metric_params": {"categorical": [5]}}, [[1.0], [2.0]], "categorical is"),
        ({"metric": "mahalanobis"}, [[1.0, 1.0], [2.0, 2.0]], "has no inverse"),
        ({"scaling": "log"}, [[1.0], [2.0]], "scaling is 'log'"),
        ({"ordering": "best"}, [[1.0], [2.0]], "ordering is 'best'; use one of"),
        ({"search": "tree"}, [[1.0], [2.0]], "search is 'tree'"),
        ({"trim": True}, [[1.0], [2.0]], "trim is True"),
        ({"k": 0}, [[1.0], [2.0]], "k is 0"),
        ({"window": 0}, [[1.0], [2.0]], "window is 0"),
        ({"max_bytes": 10}, [[1.0], [2.0]], "max_bytes is 10"),
        ({"max_bytes": 1000, "search": "inverted"}, [[1.0], [2.0]], "max_bytes is 1000; use [0-9]+ at least"),
    ],
)
def test_nonsense_is_refused_before_anything_changes(parameters, X, message):
    model = AnytimeNeighborsClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, [0, 1])
    assert not hasattr(model, "classes_")


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y, Q = data(1)
    model = AnytimeNeighborsClassifier().fit(X, y)
    before = model.predict(Q)
    model.set_params(metric="mahalanobis")
    with pytest.raises(ValueError, match="has no inverse"):
        model.fit(np.ones((4, 2)), [0, 0, 1, 1])
    model.set_params(metric="euclidean")
    assert np.array_equal(model.predict(Q), before)


def test_unequal_lengths_are_refused_and_the_model_stays():
    model = AnytimeNeighborsClassifier(metric="dtw").fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit([[1.0, 2.0, 3.0]], [1])
    with pytest.raises(ValueError, match="3 values, fit saw 2"):
        model.query([1.0, 2.0, 3.0])
    assert model.predict([[1.0, 2.0]]).tolist() == [0]


def test_scaling_is_that_of_the_training_data():
    X, y, Q = data(3)
    X[:, 0] *= 1e4
    Q[:, 0] *= 1e4
    for scaling, shift, unit in (
        ("minmax", X.min(axis=0), np.ptp(X, axis=0)),
        ("standard", X.mean(axis=0), X.std(axis=0)),
    ):
        model = AnytimeNeighborsClassifier(scaling=scaling).fit(X, y)
        plain = cdist((Q - shift) / unit, (X - shift) / unit)
        assert [nearest_of(model, x)[0] for x in Q] == plain.argmin(axis=1).tolist()
        halves = [
            AnytimeNeighborsClassifier(scaling=scaling).fit(X[part], y[part]) for part in (slice(0, 15), slice(15, 30))
        ]
        whole = AnytimeNeighborsClassifier.merge(halves)
        assert [nearest_of(whole, x)[0] for x in Q] == plain.argmin(axis=1).tolist()
