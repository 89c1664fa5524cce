"""EMTopDown: one split equals the reference, clusters are found, samples stand for large nodes."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from bayes_tree.shapes import assert_same, build_shape, clustered
from reference.em_split import em_split
from reference.tree_shape import root_clusters


def test_the_seed_determines_the_sample_and_nothing_else():
    points = clustered(500, 4, 20, seed=2, spread=0.5)
    one, same, other = (build_shape("em_top_down", points, seed=s, sample_size=100) for s in (1, 1, 2))
    assert_same(one, same)
    assert one[1].tolist() != other[1].tolist()
    assert_same(build_shape("em_top_down", points, seed=1), build_shape("em_top_down", points, seed=2))


def partition(labels):
    return sorted(np.flatnonzero(labels == c).tolist() for c in np.unique(labels))


@given(n=st.integers(30, 300), d=st.integers(1, 6), fanout=st.integers(2, 12), seed=st.integers(0, 10_000))
def test_one_em_split_equals_the_reference(n, d, fanout, seed):
    points = clustered(n, d, 5, seed, spread=0.2)
    expected = em_split(points, fanout)
    assume(len(np.unique(expected)) > 1)
    assert sorted(root_clusters(*build_shape("em_top_down", points, fanout))) == partition(expected)


def test_em_finds_well_separated_clusters_at_the_root():
    rng = np.random.default_rng(6)
    centres = 20.0 * np.stack(np.meshgrid([0, 1, 2], [0, 1]), axis=-1).reshape(6, 2)
    labels = np.repeat(np.arange(6), 50)
    points = centres[labels] + rng.normal(size=(300, 2))
    clusters = root_clusters(*build_shape("em_top_down", points, 6))
    assert sorted(clusters) == partition(labels)
    assert partition(em_split(points, 6)) == partition(labels)


def test_em_fitted_on_a_sample_assigns_all_records():
    rng = np.random.default_rng(7)
    labels = rng.integers(4, size=5000)
    points = 30.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[labels] + rng.normal(size=(5000, 2))
    clusters = root_clusters(*build_shape("em_top_down", points, 4, sample_size=200, seed=9))
    assert sorted(clusters) == partition(labels)


def test_one_far_record_among_equal_ones_is_an_entry_of_the_root():
    points = np.zeros((5000, 3))
    points[1234] = 4.0
    first_entry, entry = build_shape("em_top_down", points, sample_size=10)
    assert ~1234 in entry[: first_entry[1]]
    assert len(entry[: first_entry[1]]) == 2


def test_equal_records_are_split_evenly():
    first_entry, entry = build_shape("em_top_down", np.full((343, 2), 0.3))
    sizes = [len(records) for records in root_clusters(first_entry, entry)]
    assert sizes == [49] * 7
    assert len(first_entry) - 1 == 1 + 7 + 49
