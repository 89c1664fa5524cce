"""Detecting changes, relabelling components and comparing parts of the graph, each on a small example."""

import numpy as np

from anystream.graph.change import NO_BALANCE, Balance, estimate_labels, is_change, mostly_wrong
from anystream.graph.components import Components


def make_components(owner, k, label):
    m = len(k)
    return Components(
        np.arange(len(owner), dtype=np.float64)[:, np.newaxis],
        np.array(owner, np.int32),
        np.array(k, np.int32),
        np.ones(m),
        np.array(label, np.int32),
        np.zeros(m, np.int64),
        np.zeros(m, np.int64),
        np.zeros(m, np.bool_),
    )


def test_a_change_is_three_deviations_above_the_usual_error():
    assert not is_change(0.9, (0.1, 0.1), 80)  # too few batches to know the usual error
    usual = (0.2,) * 5
    deviation = (0.2 * 0.8 / 80) ** 0.5
    assert not is_change(0.2 + 2.9 * deviation, usual, 80)
    assert is_change(0.2 + 3.1 * deviation, usual, 80)
    assert not is_change(0.05, (0.0, 0.0, 0.0), 80)  # the minimum deviation is 0.02
    assert is_change(0.07, (0.0, 0.0, 0.0), 80)


def test_components_get_new_labels_from_their_contacts_and_from_their_class():
    # Components 0 and 1 had class 0, component 2 had class 1. Records of class 1 are in contact with component 0 only.
    old = make_components([0, 0, 1, 2], [1, 1, 1], [0, 0, 1])
    nearest = np.array([[0, 1, 0], [1, 0, 0], [3, 3, 3]])
    labels = np.array([1, 1, 0], np.int32)
    found, certain = estimate_labels(old, nearest, labels, 2)
    assert found.tolist() == [1, 1, 0]  # component 1 has no contacts, but its class has
    assert certain.all()


def test_the_evidence_for_a_new_label_is_computed_as_documented():
    old = make_components([0], [1], [0])
    nearest, labels = np.array([[0], [0], [0]]), np.array([0, 0, 1], np.int32)
    # M[0] = (2.5, 1.5) / 4; E = 2 M + T = (3.25, 1.75): 0.65 of it supports class 0, less than 0.7
    found, certain = estimate_labels(old, nearest, labels, 2)
    assert found.tolist() == [0]
    assert not certain.any()


def test_contacts_are_vertices_within_the_neighbourhood_of_their_component():
    components = make_components([0, 0, 1], [1, 3], [0, 1])
    nearest, labels = np.array([[0, 1, 2]]), np.array([1], np.int32)
    assert components.count_contacts(nearest, labels, 1, 2).tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert components.count_contacts(nearest, labels, 2, 2).tolist() == [[0.0, 2.0], [0.0, 1.0]]
    assert mostly_wrong(components, nearest, labels, 2, 1).tolist() == [True, False]


def test_the_balance_counts_disagreements_only():
    whole, recent = np.array([1, 1, 0, 0, 0], bool), np.array([1, 0, 1, 1, 0], bool)
    balance = NO_BALANCE.observe(whole, recent, decay=0.8)
    assert balance == Balance(1.0, 3.0)
    assert balance.observe(whole, recent, decay=0.5) == Balance(1.5, 4.5)
    assert not balance.exceeds(1.0)
    assert Balance(2.0, 3.0).exceeds(1.0)
    assert not NO_BALANCE.exceeds(0.0)
