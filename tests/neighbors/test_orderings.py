"""The native orderings equal the plain references."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbors_cases import squared_distances

from anystream import _native
from anystream.anytime import anytime_curve
from anystream.neighbors import AnytimeNeighborsClassifier, best_drop_curve
from anystream.neighbors.orderings import ORDERINGS
from reference.neighbors_orderings import drop, simple_rank


def native_order(name, X, y, n_classes, threads=1, **options):
    metric = _native.NeighborsMetric("euclidean", X.shape[1])
    borders = np.arange(len(X) + 1) * X.shape[1]
    y = y.astype(np.int32)
    return _native.neighbors_order(name, metric, X.reshape(-1), borders, y, n_classes, threads=threads, **options)


@st.composite
def labelled_points(draw):
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    n_classes = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_values = draw(st.sampled_from([1, 2, 8, None]))  # few: identical records and equal distances
    X = rng.normal(size=(n, d)) if n_values is None else rng.integers(0, n_values, (n, d)).astype(float)
    return X, rng.integers(0, n_classes, n), n_classes


@settings(max_examples=80)
@given(case=labelled_points())
def test_simple_rank_equals_the_reference(case):
    X, y, n_classes = case
    assert native_order("simple_rank", X, y, n_classes).tolist() == simple_rank(squared_distances(X, X), y, n_classes)


def test_simple_rank_breaks_ties_by_the_nearest_exemplar_of_the_class_that_remains():
    X = np.array([[0.0], [1.0], [4.0], [6.0]])
    # 1 is removed first. Then 0 is 4 away from its nearest remaining one, 4 and 6 are 2 away from each other: 6 is
    # removed next, although 0 was only 1 away from the one that is gone.
    assert native_order("simple_rank", X, np.zeros(4, dtype=int), 1).tolist() == [0, 2, 3, 1]


@settings(max_examples=60)
@given(case=labelled_points(), variant=st.integers(1, 3))
def test_drop_equals_the_reference(case, variant):
    X, y, n_classes = case
    assert native_order(f"drop{variant}", X, y, n_classes).tolist() == drop(squared_distances(X, X), y, variant)


@settings(max_examples=40)
@given(case=labelled_points(), name=st.sampled_from(["greedy", "simple_rank", "drop3"]))
def test_an_order_is_the_same_permutation_on_any_number_of_threads(case, name):
    X, y, n_classes = case
    order = native_order(name, X, y, n_classes)
    assert sorted(order.tolist()) == list(range(len(X)))
    assert order.tolist() == native_order(name, X, y, n_classes, threads=2).tolist()


def test_identical_records_of_two_classes_are_compared_a_quadratic_number_of_times():
    n = 600
    y = np.random.default_rng(0).integers(0, 2, n)
    compared = _native.Counter()
    native_order("simple_rank", np.zeros((n, 2)), y, 2, compared=compared)
    assert 0 < compared.value < 3 * n**2  # 1.2 n^2 by SimpleRank; n^3 / 20 if every list that runs out cost a scan


@pytest.mark.parametrize("name", list(ORDERINGS))
def test_good_orders_beat_a_random_one_and_all_orders_end_with_the_same_labels(name):
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    y = (((X - 0.5) ** 2).sum(axis=1) < 0.09).astype(int)
    model = AnytimeNeighborsClassifier(ordering=name).fit(X[:600], y[:600])
    at_random = AnytimeNeighborsClassifier(ordering="random").fit(X[:600], y[:600])
    early = {each: (each.predict(X[600:], budget=40) == y[600:]).mean() for each in (model, at_random)}
    if name in ("greedy", "simple_rank"):
        assert early[model] > early[at_random] + 0.02
    assert np.array_equal(model.predict(X[600:], budget=10**6), at_random.predict(X[600:], budget=10**6))


def test_the_curve_of_best_drop_is_the_highest_of_three_at_each_size():
    rng = np.random.default_rng(0)
    X = rng.random((900, 2))
    y = (((X - 0.5) ** 2).sum(axis=1) < 0.09).astype(int) ^ (rng.random(900) < 0.1)
    train, test, stages = (X[:300], y[:300]), (X[300:], y[300:]), [0, 5, 20, 80, 298]
    best = best_drop_curve(*train, *test, stages=stages, k=3)
    each = [
        anytime_curve(AnytimeNeighborsClassifier(ordering=name, k=3).fit(*train), *test, stages=stages).accuracy
        for name in ("drop1", "drop2", "drop3")
    ]
    assert best.accuracy.tolist() == np.maximum.reduce(each).tolist()
    assert all((accuracy < best.accuracy).any() for accuracy in each)  # no single order is best everywhere
    with pytest.raises(ValueError, match="ordering is 'greedy'"):
        best_drop_curve(*train, *test, stages=stages, ordering="greedy")


def test_ordering_can_be_stopped():
    rng = np.random.default_rng(0)
    stop = _native.StopToken()
    stop.set()
    metric = _native.NeighborsMetric("euclidean", 2)
    with pytest.raises(RuntimeError, match="stopped"):
        _native.neighbors_order(
            "simple_rank",
            metric,
            rng.random(400),
            np.arange(201) * 2,
            rng.integers(0, 2, 200).astype(np.int32),
            2,
            stop=stop,
        )
