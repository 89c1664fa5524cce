"""The parts of KAOGINC's learning, each against a small example or a peer."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from anystream.graph.change import NO_BALANCE, Balance, is_change, new_labels, wrong_more_than_right
from anystream.graph.components import Components
from anystream.graph.metric import DECAY, Metric, relief_weights
from anystream.graph.moments import Moments
from anystream.graph.views import Choice, View, views_of


def components(owner, k, label):
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


def test_a_change_is_three_deviations_above_what_is_usual():
    assert not is_change(0.9, (0.1, 0.1), 80)  # nothing is usual yet
    usual = (0.2,) * 5
    deviation = (0.2 * 0.8 / 80) ** 0.5
    assert not is_change(0.2 + 2.9 * deviation, usual, 80)
    assert is_change(0.2 + 3.1 * deviation, usual, 80)
    assert not is_change(0.05, (0.0, 0.0, 0.0), 80)  # at least 0.02 counts as one deviation
    assert is_change(0.07, (0.0, 0.0, 0.0), 80)


def test_components_learn_their_new_labels_from_whom_they_meet_and_from_their_class():
    # components 0 and 1 were of class 0, component 2 of class 1. Records of class 1 meet component 0 alone.
    old = components([0, 0, 1, 2], [1, 1, 1], [0, 0, 1])
    nearest = np.array([[0, 1, 0], [1, 0, 0], [3, 3, 3]])
    labels = np.array([1, 1, 0], np.int32)
    found, sure = new_labels(old, nearest, labels, 2)
    assert found.tolist() == [1, 1, 0]  # component 1 has met nobody, but its class has moved
    assert sure.all()


def test_the_evidence_for_a_new_label_is_counted_as_documented():
    old = components([0], [1], [0])
    nearest, labels = np.array([[0], [0], [0]]), np.array([0, 0, 1], np.int32)
    # M[0] = (2.5, 1.5) / 4; E = 2 M + T = (3.25, 1.75): 0.65 of it is for class 0, less than 0.7
    found, sure = new_labels(old, nearest, labels, 2)
    assert found.tolist() == [0]
    assert not sure.any()


def test_meetings_count_vertices_within_the_neighbourhood_of_their_component():
    c = components([0, 0, 1], [1, 3], [0, 1])
    nearest, labels = np.array([[0, 1, 2]]), np.array([1], np.int32)
    assert c.meetings(nearest, labels, 1, 2).tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert c.meetings(nearest, labels, 2, 2).tolist() == [[0.0, 2.0], [0.0, 1.0]]
    assert wrong_more_than_right(c, nearest, labels, 2, 1).tolist() == [True, False]


def test_the_balance_weighs_only_disagreements():
    whole, young = np.array([1, 1, 0, 0, 0], bool), np.array([1, 0, 1, 1, 0], bool)
    balance = NO_BALANCE.after(whole, young, decay=0.8)
    assert balance == Balance(1.0, 3.0)
    assert balance.after(whole, young, decay=0.5) == Balance(1.5, 4.5)
    assert not balance.exceeds(1.0)
    assert Balance(2.0, 3.0).exceeds(1.0)
    assert not NO_BALANCE.exceeds(0.0)


def test_the_metric_follows_the_spread_and_leaves_out_what_is_missing():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2)) * [1.0, 50.0] + 1e6
    X[::7, 1] = np.nan
    labels = np.zeros(200, np.int32)
    metric = Metric.none(2).after(X, labels, weighted=False, threads=1)
    np.testing.assert_allclose(1.0 / metric.scale(weighted=False), np.nanstd(X, axis=0), rtol=1e-9)
    later = metric.after(3.0 * X, labels, weighted=False, threads=1)
    assert later.count[0] == pytest.approx(200 * (1.0 + DECAY))
    constant = Metric.none(1).after(np.ones((5, 1)), labels[:5], weighted=False, threads=1)
    assert constant.scale(weighted=True).tolist() == [1.0]


def test_metrics_of_parts_make_the_metric_of_the_whole():
    random = np.random.default_rng(0)
    X, labels = random.normal([0.0, 10.0, -5.0], 1.0, (100, 3)), np.zeros(100, np.int32)
    parts = [
        Metric.none(3).after(X[part], labels[part], weighted=False, threads=1) for part in (slice(30), slice(30, 100))
    ]
    whole = parts[0].merged(parts[1])
    np.testing.assert_allclose(1.0 / whole.scale(weighted=False), X.std(axis=0), rtol=1e-9)


def test_relief_compares_nearest_hits_and_misses():
    # on a line: hits are 1 away, misses 10; the second feature says nothing
    X = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    labels = np.array([0, 0, 1, 1], np.int32)
    assert relief_weights(X, labels, 1).tolist() == [9.0, 0.0]  # misses: 10.5, 9.5, 9.5, 10.5 on average
    doubled = np.concatenate([X, X[:1]])  # a record and its equal are not each other's self
    assert np.isfinite(relief_weights(doubled, np.append(labels, np.int32(0)), 1)).all()
    assert not relief_weights(X, np.zeros(4, np.int32), 1).any()


def test_the_gaussians_are_those_of_naive_bayes():
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 4000).astype(np.int32)
    X = random.normal(size=(4000, 3)) * (1.0 + y[:, np.newaxis]) + 100.0
    moments = Moments.of(X, y, 2, X.mean(axis=0))
    peer = GaussianNB(var_smoothing=0.0).fit(X, y)
    log_joint = moments.log_joint(X[:50])
    mine = log_joint - np.logaddexp.reduce(log_joint, axis=1, keepdims=True)
    np.testing.assert_allclose(mine, peer.predict_log_proba(X[:50]), rtol=2e-2, atol=2e-3)
    halves = Moments.of(X[:999], y[:999], 2, moments.origin) + Moments.of(X[999:], y[999:], 2, moments.origin)
    for one, other in zip(halves.gaussians(), moments.gaussians(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_class_without_vertices_is_never_likely():
    moments = Moments.of(np.array([[0.0], [1.0]]), np.zeros(2, np.int32), 2, np.zeros(1))
    assert moments.log_joint(np.array([[0.5]])).tolist()[0][1] == -np.inf


def test_the_view_with_the_least_recent_error_is_chosen():
    views = views_of((0.0, 0.5), weighted=True, moments=True)
    assert [view.floor for view in views] == [0.0, 0.5, 0.0, 0.5, 0.0]
    assert [view.weighted for view in views] == [False, False, True, True, False]
    assert views[-1].moments
    choice = Choice.among(views)
    assert choice.best == 0
    choice = choice.after(np.array([0.3, 0.2, 0.3, 0.3, 0.1]))
    assert choice.best == 4
    assert choice.best_of_graph == views[1]
    for _ in range(30):
        choice = choice.after(np.array([0.1, 0.2, 0.3, 0.3, 0.3]))
    assert choice.best == 0
    assert View(0.3, False).least_k(3000) == 16
    assert View(0.0, False).least_k(3000) == 1
