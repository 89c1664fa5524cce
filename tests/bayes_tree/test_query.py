"""Queries on a Bayes tree do what the paper says, step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream import _native
from reference import bayes_tree as reference

FACTOR = _native.BayesForestSettings(7, "factor", 0.05, "max")


def random_objects(seed, n, d, classes, *, whole=False, constant=False, missing=False):
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
    """A built forest, the reference of it, and queries among its objects."""
    n, d, classes = draw(st.integers(1, 70)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    flags = {name: draw(st.booleans()) for name in ("whole", "constant", "missing")}
    X, y = random_objects(draw(st.integers(0, 10**6)), n, d, classes, **flags)
    bandwidth = draw(st.sampled_from(["factor", "langley", "haerdle"]))
    inner = draw(st.sampled_from(["max", "plain"]))
    fanout = draw(st.sampled_from([3, 7, 12]))
    settings = _native.BayesForestSettings(fanout, bandwidth, 0.05, inner)
    forest = _native.BayesForest.build(settings, X, y, classes, threads=1)
    inserted = draw(st.integers(0, 20))
    if inserted:
        more, labels = random_objects(draw(st.integers(0, 10**6)), inserted, d, classes, **flags)
        forest.insert(more, labels)
        X, y = np.vstack([X, more]), np.concatenate([y, labels])
    return forest, X, y, classes, bandwidth, inner


def reference_of(forest, X, y, classes, bandwidth, inner):
    children, roots = reference.structure(forest)
    return reference.build(X, y, classes, children, roots, bandwidth=bandwidth, inner_variance=inner)


def spread_out(forest, X):
    """Widths and scales are taken when a forest is assembled; here every insertion of the test is followed by one."""
    return forest.arrays()["assembled_at"][0] == len(X)


def moderate(tree, z):
    """Log densities small enough for float32 to hold their differences."""
    entries = [root for root in tree.roots if root] + [e for node in tree.nodes.values() for e in node]
    return all(abs(reference.log_g(z, entry)) < 300 for entry in entries)


@given(case=forests())
def test_the_gaussians_of_all_entries_are_those_of_the_paper(case):
    forest, X, y, classes, bandwidth, inner = case
    if not spread_out(forest, X):
        return
    tree, _ = reference_of(*case)
    for node in range(forest.nodes):
        mean, precision = (found.reshape(-1, X.shape[1]) for found in forest.node_gaussians(node))
        assert len(mean) == len(tree.nodes[node])
        for place, entry in enumerate(tree.nodes[node]):
            np.testing.assert_allclose(mean[place], entry.mu, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(precision[place], entry.variance**-0.5, rtol=1e-4)


@given(
    case=forests(),
    decision=st.sampled_from(["mixture", "ensemble", "nearest"]),
    descent=st.sampled_from(["global_best", "breadth_first", "depth_first"]),
    k=st.integers(1, 4),
    at=st.integers(0, 10**6),
)
def test_every_step_refines_what_the_paper_says_and_answers_as_it_says(case, decision, descent, k, at):
    forest, X, y, classes, *_ = case
    if not spread_out(forest, X):
        return
    tree, Z = reference_of(*case)
    z = Z[at % len(X)]
    if not moderate(tree, z):
        return
    query = forest.query(_native.BayesQuerySettings(descent, decision, k), X[at % len(X)])
    frontiers = [[root] if root else [] for root in tree.roots]
    read_at = {root.node: 0 for root in tree.roots if root}
    history = []
    turns = []
    for step in range(200):
        history.append([reference.log_joint(z, frontier) for frontier in frontiers])
        if decision == "mixture":
            scores = history[-1]
        elif decision == "nearest":
            scores = [reference.log_nearest(z, frontier) for frontier in frontiers]
        else:
            scores = np.logaddexp.reduce(np.array(history), axis=0)  # Eq. 20
        np.testing.assert_allclose(query.proba(), reference.posterior(scores), rtol=2e-3, atol=1e-6)
        rows = query.frontier()
        assert len(rows) == sum(map(len, frontiers))
        refinable = {(c, node) for c, node, _ in rows if node >= 0}
        if query.refine(1) == 0:
            assert not refinable or sum(root is not None for root in tree.roots) == 1
            break
        # which entry was refined, and was it the right one?
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
        turns = [c for c in turns if c != label]
        refined = next(entry for entry in frontiers[label] if entry.node == node)
        others = [entry for entry in frontiers[label] if entry.node >= 0]
        if descent == "global_best":  # Eq. 6
            best = max(reference.log_g(z, entry) for entry in others)
            assert reference.log_g(z, refined) >= best - 1e-3
        else:
            order = [read_at[entry.node] for entry in others]
            assert read_at[node] == (min(order) if descent == "breadth_first" else max(order))
        frontiers[label] = [entry for entry in frontiers[label] if entry is not refined] + tree.nodes[node]
        read_at.update({entry.node: step + 1 for entry in tree.nodes[node]})


@given(seed=st.integers(0, 10**6), n=st.integers(1, 80), d=st.integers(1, 6), classes=st.integers(1, 4))
def test_the_exhausted_mixture_is_the_kernel_density_classifier(seed, n, d, classes):
    X, y = random_objects(seed, n, d, classes)
    forest = _native.BayesForest.build(FACTOR, X, y, classes)
    queries = np.random.default_rng(seed + 1).normal(size=(5, d))
    expected = reference.kernel_density_posterior(X, y, classes, queries)
    for q, proba in zip(queries, expected, strict=True):
        query = forest.query(_native.BayesQuerySettings("global_best", "mixture", 0), q)
        query.refine()
        assert query.exhausted
        np.testing.assert_allclose(query.proba(), proba, rtol=2e-3, atol=1e-6)


def test_a_query_far_from_everything_still_has_an_answer():
    X, y = random_objects(0, 60, 3, 3)
    forest = _native.BayesForest.build(FACTOR, X, y, 3)
    for value in (1e6, -1e30, 1e99):
        query = forest.query(_native.BayesQuerySettings("global_best", "ensemble", 0), np.full(3, value))
        query.refine(20)
        assert np.isfinite(query.proba()).all()
        assert query.proba().sum() == pytest.approx(1)


def test_an_infinite_value_is_refused():
    X, y = random_objects(0, 20, 2, 2)
    forest = _native.BayesForest.build(FACTOR, X, y, 2)
    with pytest.raises(ValueError, match="infinite value; use NaN"):
        forest.query(_native.BayesQuerySettings("global_best", "ensemble", 0), np.array([np.inf, 0.0]))


@given(cut=st.integers(0, 4000), noise=st.binary(max_size=40), place=st.integers(0, 4000))
def test_a_damaged_state_is_refused_or_harmless(cut, noise, place):
    X, y = random_objects(3, 60, 2, 3)
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
