"""Queries on graphs equal the reference step by step, and end when no further vertex can change the answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from anystream import _native
from anystream.graph import KAOGClassifier
from reference.kaog import class_scores, find_nearest

GRID = st.integers(-5, 5).map(float)


@st.composite
def graphs(draw, missing=False):
    """Draw one or two parts of points on a grid, with arbitrary components, and a query."""
    d, parts, classes = draw(st.integers(1, 3)), [], 3
    for _ in range(draw(st.integers(1, 2))):
        n = draw(st.integers(1, 60))
        points = draw(arrays(np.float64, (n, d), elements=GRID))
        if missing:
            points[draw(arrays(np.bool_, (n, d), elements=st.booleans()))] = np.nan
        m = draw(st.integers(1, n))
        owner = np.concatenate([np.arange(m), draw(arrays(np.int64, n - m, elements=st.integers(0, m - 1)))])
        k = draw(arrays(np.int32, m, elements=st.integers(1, 9)))
        purity = draw(arrays(np.float64, m, elements=st.sampled_from([0.125, 0.5, 1.0])))
        label = draw(arrays(np.int32, m, elements=st.integers(0, classes - 1)))
        parts.append((points, owner.astype(np.int32), k, purity, label))
    query = draw(arrays(np.float64, d, elements=st.integers(-6, 6).map(float)))
    if missing:
        query[draw(arrays(np.bool_, d, elements=st.booleans()))] = np.nan
    return parts, query, classes, draw(st.integers(1, 6))


def build_native_graph(parts, classes, min_k):
    graph = _native.AssociatedGraph(np.ones(parts[0][0].shape[1]), classes)
    for part in parts:
        graph = graph.with_part(min_k, *part)
    return graph


def concatenate_parts(parts):
    offset = np.cumsum([0, *(len(part[2]) for part in parts)])
    points = np.concatenate([part[0] for part in parts])
    owner = np.concatenate([part[1] + first for part, first in zip(parts, offset, strict=False)])
    return points, owner, *(np.concatenate([part[i] for part in parts]) for i in (2, 3, 4))


def compute_exact_proba(parts, query, classes, min_k):
    points, owner, k, purity, label = concatenate_parts(parts)
    k = np.maximum(k, min_k)
    nearest = find_nearest(query[np.newaxis], points, int(k.max()))[0]
    scores = class_scores(owner[nearest], k, purity, label, classes)
    return nearest, scores / scores.sum()


@given(case=graphs())
def test_an_exhausted_query_equals_the_reference(case):
    parts, x, classes, min_k = case
    nearest, expected = compute_exact_proba(*case)
    query = build_native_graph(parts, classes, min_k).query(x)
    query.refine()
    assert query.exhausted
    assert np.array_equal(query.nearest(), nearest)
    np.testing.assert_allclose(query.proba(), expected, rtol=1e-12)
    assert query.steps <= len(concatenate_parts(parts)[0])


@given(case=graphs(missing=True))
def test_missing_values_are_left_out_of_queries(case):
    parts, x, classes, min_k = case
    nearest, expected = compute_exact_proba(*case)
    query = build_native_graph(parts, classes, min_k).query(x)
    query.refine()
    assert np.array_equal(query.nearest(), nearest)
    np.testing.assert_allclose(query.proba(), expected, rtol=1e-12)


@given(case=graphs(), steps=st.lists(st.integers(0, 20), max_size=6))
def test_steps_add_up_and_count_vertices(case, steps):
    parts, x, classes, min_k = case
    graph = build_native_graph(parts, classes, min_k)
    split, whole = graph.query(x), graph.query(x)
    for number in steps:
        split.refine(number)
    whole.refine(sum(steps))
    assert split.steps == whole.steps
    assert whole.steps == sum(steps) or whole.exhausted
    assert np.array_equal(split.proba(), whole.proba())
    assert len(whole.nearest()) == min(whole.steps, max(min_k, *(int(part[2].max()) for part in parts)))


def test_budget_0_classifies_by_the_nearest_representatives():
    # Two clusters of one class each: the vertices of the nearer cell fill the neighbourhood.
    random = np.random.default_rng(3)
    points = np.concatenate([random.normal(size=(16, 2)), random.normal(size=(16, 2)) + 9.0])
    owner = np.repeat(np.arange(2, dtype=np.int32), 16)
    graph = _native.AssociatedGraph(np.ones(2), 2).with_part(
        1, points, owner, np.array([16, 16], np.int32), np.ones(2), np.array([0, 1], np.int32)
    )
    assert graph.query(np.array([1.0, 1.0])).proba().tolist() == [1.0, 0.0]
    assert graph.query(np.array([8.0, 8.0])).proba().tolist() == [0.0, 1.0]
    assert graph.query(np.array([8.0, 8.0])).steps == 0


def test_queries_skip_vertices_that_cannot_change_the_answer():
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 2))
    model = KAOGClassifier().fit(X, (X[:, 0] > 0).astype(int))
    answer = model.classify(random.normal(size=(200, 2)), budget=4000)
    assert answer.certified.all()
    assert answer.steps.mean() < 400


def test_an_invalid_state_is_rejected():
    model = KAOGClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="state is a int"):
        model.query(state=7)
    with pytest.raises(ValueError, match="not the state of a query of a graph"):
        model.query(state=b"something else")
    state = model.query([0.5]).state
    with pytest.raises(ValueError, match="records have 2 features, fit saw 1"):
        model.query(state=state + bytes(8))
    assert len(state) < 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": np.array([0], np.int32)}, "component 0 has no valid K"),
        ({"purity": np.array([0.0])}, "component 0 has no valid K"),
        ({"label": np.array([2], np.int32)}, "component 0 has no valid K"),
        ({"component": np.array([1], np.int32)}, "component 1 is not below 1"),
        ({"points": np.array([[np.inf]])}, "infinite value"),
        ({"points": np.zeros((1, 2))}, "records have 2 features, fit saw 1"),
    ],
)
def test_invalid_parts_are_rejected(change, message):
    part = {
        "points": np.zeros((1, 1)),
        "component": np.zeros(1, np.int32),
        "k": np.ones(1, np.int32),
        "purity": np.ones(1),
        "label": np.zeros(1, np.int32),
    }
    with pytest.raises(ValueError, match=message):
        _native.AssociatedGraph(np.ones(1), 2).with_part(1, **(part | change))
