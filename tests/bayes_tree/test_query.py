"""Queries on a Bayes tree follow the paper, step by step."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anystream import _native
from bayes_tree.structure import children_and_roots
from reference.bayes_tree import build, kernel_density_posterior, log_g, log_joint, log_nearest, posterior

FACTOR = _native.BayesForestSettings(7, "factor", 0.05, "max")


def random_records(seed, n, d, classes, *, whole=False, constant=False, missing=False):
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    y[: min(n, classes)] = range(min(n, classes))
    X = random.normal(size=(n, d)) + y[:, None] * random.normal(size=d)
    if whole:
        X = np.round(X)
    if constant:
        X[:, 0] = 3.25
    if missing:
        X[random.random(X.shape) < 0.2] = np.nan
    return X, y.astype(np.int32)


@st.composite
def forests(draw):
    """Draw a forest, its records and its parameters."""
    n, d, classes = draw(st.integers(1, 70)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    flags = {name: draw(st.booleans()) for name in ("whole", "constant", "missing")}
    X, y = random_records(draw(st.integers(0, 10**6)), n, d, classes, **flags)
    bandwidth = draw(st.sampled_from(["factor", "langley", "haerdle"]))
    inner = draw(st.sampled_from(["max", "plain"]))
    fanout = draw(st.sampled_from([3, 7, 12]))
    settings = _native.BayesForestSettings(fanout, bandwidth, 0.05, inner)
    forest = _native.BayesForest.build(settings, X, y, classes, threads=1)
    for _ in range(draw(st.integers(0, 2))):  # scale and bandwidths are computed again whenever the data grew by half
        more, labels = random_records(draw(st.integers(0, 10**6)), -(-len(X) // 2), d, classes, **flags)
        forest.insert(more, labels, forest.classes)
        X, y = np.vstack([X, more]), np.concatenate([y, labels])
    assert forest.arrays()["assembled_at"][0] == len(X)
    return forest, X, y, classes, bandwidth, inner


def reference_of(forest, X, y, classes, bandwidth, inner):
    children, roots = children_and_roots(forest)
    return build(X, y, classes, children, roots, bandwidth=bandwidth, inner_variance=inner)


def has_moderate_densities(tree, z):
    """Whether log densities are small enough for float32 to hold their differences."""
    entries = [root for root in tree.roots if root] + [e for node in tree.nodes.values() for e in node]
    return all(abs(log_g(z, entry)) < 300 for entry in entries)


@given(case=forests())
def test_the_gaussians_of_all_entries_are_those_of_the_paper(case):
    forest, X, y, classes, bandwidth, inner = case
    tree, _ = reference_of(*case)
    for node in range(forest.nodes):
        mean, precision = (flat.reshape(-1, X.shape[1]) for flat in forest.node_gaussians(node))
        assert len(mean) == len(tree.nodes[node])
        for i, entry in enumerate(tree.nodes[node]):
            np.testing.assert_allclose(mean[i], entry.mu, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(precision[i], entry.variance**-0.5, rtol=1e-4)


@given(
    case=forests(),
    decision=st.sampled_from(["mixture", "ensemble", "nearest"]),
    descent=st.sampled_from(["global_best", "breadth_first", "depth_first"]),
    k=st.integers(1, 4),
    at=st.integers(0, 10**6),
)
def test_every_step_refines_and_decides_as_in_the_paper(case, decision, descent, k, at):
    forest, X, y, classes, *_ = case
    tree, Z = reference_of(*case)
    z = Z[at % len(X)]
    assume(has_moderate_densities(tree, z))
    query = forest.query(_native.BayesQuerySettings(descent, decision, k), X[at % len(X)])
    frontiers = [[root] if root else [] for root in tree.roots]
    read_at = {root.node: 0 for root in tree.roots if root}
    history = []
    turns = []
    for step in range(200):
        history.append([log_joint(z, frontier) for frontier in frontiers])
        if decision == "mixture":
            scores = history[-1]
        elif decision == "nearest":
            scores = [log_nearest(z, frontier) for frontier in frontiers]
        else:
            scores = np.logaddexp.reduce(np.array(history), axis=0)  # Eq. 20
        np.testing.assert_allclose(query.proba(), posterior(scores), rtol=2e-3, atol=1e-6)
        rows = query.frontier()
        assert len(rows) == sum(map(len, frontiers))
        refinable = {(c, node) for c, node, _ in rows if node >= 0}
        if query.refine(1) == 0:
            nothing_known = np.isnan(z).all()  # the priors, which no step changes
            assert not refinable or nothing_known or sum(root is not None for root in tree.roots) == 1
            break
        # find the entry that was refined, and check that it was the one to refine
        ((label, node),) = refinable - {(c, child) for c, child, _ in query.frontier() if child >= 0}
        open_labels = [c for c in range(classes) if any(entry.node >= 0 for entry in frontiers[c])]
        turns = [c for c in turns if c in open_labels]
        if not turns:
            turns = sorted(open_labels, key=lambda c: -history[-1][c])[:k]
            if label not in turns:  # classes of nearly equal density may be ordered differently in float32
                assert history[-1][label] > history[-1][turns[-1]] - 1e-3
                turns = [label, *turns[:-1]]
        if label != turns[0]:
            assert abs(history[-1][label] - history[-1][turns[0]]) < 1e-3 or label in turns
        turns = [c for c in turns if c != label] if label in turns else turns[1:]  # a tied class has taken its turn
        refined = next(entry for entry in frontiers[label] if entry.node == node)
        others = [entry for entry in frontiers[label] if entry.node >= 0]
        if descent == "global_best":  # Eq. 6
            best = max(log_g(z, entry) for entry in others)
            assert log_g(z, refined) >= best - 1e-3
        else:
            order = [read_at[entry.node] for entry in others]
            assert read_at[node] == (min(order) if descent == "breadth_first" else max(order))
        frontiers[label] = [entry for entry in frontiers[label] if entry is not refined] + tree.nodes[node]
        read_at.update({entry.node: step + 1 for entry in tree.nodes[node]})


@given(seed=st.integers(0, 10**6), n=st.integers(1, 80), d=st.integers(1, 6), classes=st.integers(1, 4))
def test_the_exhausted_mixture_is_the_kernel_density_classifier(seed, n, d, classes):
    X, y = random_records(seed, n, d, classes)
    forest = _native.BayesForest.build(FACTOR, X, y, classes)
    queries = np.random.default_rng(seed + 1).normal(size=(5, d))
    expected = kernel_density_posterior(X, y, classes, queries)
    for q, proba in zip(queries, expected, strict=True):
        query = forest.query(_native.BayesQuerySettings("global_best", "mixture", 0), q)
        query.refine()
        assert query.exhausted
        np.testing.assert_allclose(query.proba(), proba, rtol=2e-3, atol=1e-6)


def test_a_query_far_from_all_records_still_has_probabilities():
    X, y = random_records(0, 60, 3, 3)
    forest = _native.BayesForest.build(FACTOR, X, y, 3)
    for value in (1e6, -1e30, 1e99):
        query = forest.query(_native.BayesQuerySettings("global_best", "ensemble", 0), np.full(3, value))
        query.refine(20)
        assert np.isfinite(query.proba()).all()
        assert query.proba().sum() == pytest.approx(1)


def test_an_infinite_value_raises_an_error():
    X, y = random_records(0, 20, 2, 2)
    forest = _native.BayesForest.build(FACTOR, X, y, 2)
    with pytest.raises(ValueError, match="infinite value; use NaN"):
        forest.query(_native.BayesQuerySettings("global_best", "ensemble", 0), np.array([np.inf, 0.0]))


@given(cut=st.integers(0, 4000), noise=st.binary(max_size=40), place=st.integers(0, 4000))
def test_a_damaged_state_raises_an_error_or_is_harmless(cut, noise, place):
    X, y = random_records(3, 60, 2, 3)
    forest = _native.BayesForest.build(FACTOR, X, y, 3)
    query = forest.query(_native.BayesQuerySettings("global_best", "ensemble", 0), X[0])
    query.refine(10)
    state = query.state()
    for damaged in (state[: cut % len(state)], state[:place] + noise + state[place + len(noise) :]):
        try:
            resumed = forest.resume(damaged)
        except ValueError as error:
            assert "state of a query" in str(error)
            continue
        try:
            resumed.refine(20)
        except _native.ModelFileError:
            continue
        assert resumed.proba().shape == (3,)
