"""The native optimal graph equals the reference and a small example worked by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from anystream import _native
from anystream.graph.components import build_components
from anystream.graph.recipe import ComponentRecipe
from reference.kaog import build_optimal_graph, find_neighbours


@st.composite
def labelled_points(draw, missing=False):
    """Draw points on a small grid: many ties, and distances without rounding."""
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    points = draw(arrays(np.float64, (n, d), elements=st.integers(-4, 4).map(float)))
    if missing:
        holes = draw(arrays(np.bool_, (n, d), elements=st.booleans()))
        points[holes] = np.nan
    return points, draw(arrays(np.int32, n, elements=st.integers(0, 2)))


def build_native(points, labels, max_k):
    owner, k, edges, vertices = _native.optimal_graph(points, labels, max_k, 1)
    return owner, k, edges, edges / (vertices * k)


@given(data=labelled_points(), max_k=st.integers(1, 12))
def test_the_native_optimal_graph_equals_the_reference(data, max_k):
    points, labels = data
    expected = build_optimal_graph(find_neighbours(points, max_k), labels)
    owner, k, edges, purity = build_native(points, labels, max_k)
    assert np.array_equal(owner, expected.component)
    assert np.array_equal(k, expected.k)
    assert np.array_equal(edges, expected.edges)
    assert np.array_equal(purity, expected.purity)


@given(data=labelled_points(missing=True))
def test_missing_values_are_left_out_of_the_graph(data):
    points, labels = data
    expected = build_optimal_graph(find_neighbours(points, 5), labels)
    assert np.array_equal(build_native(points, labels, 5)[0], expected.component)


def test_a_graph_worked_by_hand():
    # On a line: a a a   b b, far apart, and an a among the b. K = 1 connects 0-1-2 and 4-5; 3 has only b nearby.
    points = np.array([[0.0], [1.0], [2.1], [9.8], [10.0], [11.0]])
    labels = np.array([0, 0, 0, 0, 1, 1], np.int32)
    owner, k, edges, purity = build_native(points, labels, 1)
    assert owner.tolist() == [0, 0, 0, 1, 2, 2]
    # 4's nearest is 3 (0.2 away): an edge only from 5 to 4. Phi = edges / (vertices K).
    assert edges.tolist() == [3, 0, 1]
    assert purity.tolist() == [1.0, 0.0, 0.5]
    # K = 2: the first component is complete (6 of 6 edges) and stays pure; 4 and 5 reach each other (2 of 4 possible).
    owner, k, edges, purity = build_native(points, labels, 2)
    assert owner.tolist() == [0, 0, 0, 1, 2, 2]
    assert k.tolist() == [2, 2, 2]
    assert edges.tolist() == [6, 0, 2]
    assert purity.tolist() == [1.0, 0.0, 0.5]


def test_growth_stops_when_the_mean_degree_grows_too_slowly():
    # The nearest record has the same class, all others do not: D(1) = 2, D(2) = 2, 0 < 2 / 2 ends it at K = 2.
    points = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    labels = np.array([0, 0, 1, 1, 0, 0], np.int32)
    _, k, _, purity = build_native(points, labels, 5)
    assert k.tolist() == [1, 1, 1]
    assert purity.tolist() == [1.0, 1.0, 1.0]


def test_isolated_vertices_are_dropped_unless_their_class_has_no_edge():
    points = np.array([[0.0], [0.1], [0.2], [5.0], [9.0]])
    labels = np.array([0, 0, 0, 0, 1], np.int32)
    labels[3], labels[4] = 1, 0  # 3 is the only vertex of class 1; 4 is an isolated vertex of class 0
    scale = np.ones(1)
    dropped, kept = (
        build_components(points, labels, scale, ComponentRecipe(max_k=1, isolated=isolated, threads=1))
        for isolated in ("drop", "keep")
    )
    assert dropped.points.ravel().tolist() == [0.0, 0.1, 0.2, 5.0]
    assert dropped.label.tolist() == [0, 1]
    assert dropped.purity.tolist() == [1.0, 1 / 3]
    assert kept.n_vertices == 5
    assert kept.purity[0] == (3 + 1) / (3 + 2)
