"""Covariances of upper entries: those of the paper's BN, and used by queries."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from anystream import _native, load
from bayes_tree.plain import plain
from bayes_tree.structure import children_and_roots, records_below
from reference.bayes_tree import posterior, standardisation
from reference.covariance import hill_climbing, shrunk


def random_covariance(seed, d):
    random = np.random.default_rng(seed)
    A = random.normal(size=(d, d)) * (random.random((d, d)) < 0.6)
    return A @ A.T + np.diag(random.uniform(0.1, 1, d))


def block_pattern(order, first, C):
    Sigma = np.zeros_like(C)
    for b in range(len(first) - 1):
        own = order[first[b] : first[b + 1]]
        Sigma[np.ix_(own, own)] = C[np.ix_(own, own)]
    return Sigma


@given(seed=st.integers(0, 10**6), d=st.integers(1, 6), max_block=st.integers(1, 7))
def test_hill_climbing_finds_the_blocks_of_a_brute_force_search(seed, d, max_block):
    C = random_covariance(seed, d)
    order, first = _native.search_blocks(C, max_block)
    assert sorted(order) == list(range(d))
    assert max(np.diff(first)) <= max(max_block, 1)
    found = block_pattern(order, first, C)
    expected = hill_climbing(C, max_block) if max_block < d else C
    np.testing.assert_allclose(found, expected)


@given(seed=st.integers(0, 10**6), d=st.integers(2, 8), max_block=st.integers(2, 5))
def test_permuting_the_features_permutes_the_blocks(seed, d, max_block):
    random = np.random.default_rng(seed)
    A = random.normal(size=(d, d))
    C = A @ A.T + np.eye(d)  # no two pairs of features are equally correlated
    permutation = random.permutation(d)
    moved = np.ascontiguousarray(C[np.ix_(permutation, permutation)])
    here, there = (
        block_pattern(*_native.search_blocks(C, max_block), C),
        block_pattern(*_native.search_blocks(moved, max_block), moved),
    )
    np.testing.assert_array_equal(here[np.ix_(permutation, permutation)], there)


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 40),
    max_block=st.sampled_from([1, 2, 3, 5, 8, 64]),
    together=st.sampled_from([1, 3, 4]),
)
def test_block_densities_are_those_of_scipy(seed, d, max_block, together):
    random = np.random.default_rng(seed)
    C = random_covariance(seed, d)
    mean = random.normal(size=d)
    points = (mean + random.normal(size=(5, d))).astype(np.float32)
    out = np.empty(5, np.float32)
    _native.block_log2_density(points, mean, C, max_block, together, out)
    Sigma = block_pattern(*_native.search_blocks(C, max_block), C)
    expected = multivariate_normal.logpdf(points.astype(float), mean, Sigma) / np.log(2)
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-2)


def records(seed, n, d, classes):
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), random.integers(0, classes, n - classes)]).astype(np.int32)
    mix = random.normal(size=(classes, d, d))
    X = np.einsum("ni,nij->nj", random.normal(size=(n, d)), mix[y]) + y[:, None]
    return np.ascontiguousarray(X), y


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(2, 5),
    block=st.sampled_from([0, 2, 3]),
    levels=st.integers(0, 4),
    inserted=st.booleans(),
)
@settings(max_examples=40)
def test_entries_above_the_level_with_enough_records_have_their_covariance(seed, d, block, levels, inserted):
    X, y = records(seed, 140, d, 2)  # when 140 records were inserted, all covariances are computed again
    settings = _native.BayesForestSettings(7, "factor", 0.05, "max", block, levels)
    if inserted:
        forest = _native.BayesForest.empty(settings, d)
        forest.insert(X, y, 2)
    else:
        forest = _native.BayesForest.build(settings, X, y, 2, threads=1)
    arrays = forest.arrays()
    assert arrays["assembled_at"][0] == len(X)
    children, roots = children_and_roots(forest)
    shift, scale = standardisation(X)
    Z = (X - shift) / scale
    s = min(block or d, d)
    panels = -(-d // 8)
    rows = arrays["node_covariance"]

    def check(node, depth):
        own = Z[records_below(children, node)]
        expected = depth < levels and len(own) >= 2 * s
        assert (rows[node] >= 0) == expected
        if expected:
            row = rows[node]
            variance = np.maximum(own.var(axis=0), 0.05)
            C = shrunk(own, variance)
            Sigma = C if s == d else hill_climbing(C, s)
            order = arrays["covariance_order"][row * d : (row + 1) * d]
            norm = -0.5 * (np.linalg.slogdet(Sigma)[1] + d * np.log(2 * np.pi)) / np.log(2)
            np.testing.assert_allclose(arrays["covariance_log2_norm"][row], norm, rtol=1e-4, atol=1e-4)
            mean = arrays["covariance_mean"][row * d : (row + 1) * d]
            np.testing.assert_allclose(mean, own.mean(axis=0)[order], rtol=1e-4, atol=1e-4)
            # the panels are the inverse of the Cholesky factor, in the order of the blocks
            start = row * (len(arrays["covariance_values"]) // len(arrays["covariance_count"]))
            W = np.zeros((panels * 8, panels * 8))
            for p, first in enumerate(arrays["covariance_first"][row * panels : (row + 1) * panels]):
                columns = (p + 1) * 8 - first
                values = arrays["covariance_values"][start : start + 8 * columns].reshape(columns, 8)
                W[p * 8 : (p + 1) * 8, first : (p + 1) * 8] = values.T
                start += 8 * columns
            precision = (W.T @ W)[:d, :d]
            np.testing.assert_allclose(
                precision, np.linalg.inv(Sigma[np.ix_(order, order)]), rtol=1e-3, atol=1e-3 * np.abs(precision).max()
            )
        for child in children[node]:
            if child >= 0:
                check(child, depth + 1)

    for root in roots:
        if root >= 0:
            check(root, 0)


@given(seed=st.integers(0, 10**6), d=st.integers(2, 9), block=st.sampled_from([0, 2, 4]))
@settings(max_examples=30)
def test_the_first_probabilities_are_those_of_the_covariances(seed, d, block):
    X, y = records(seed, 120, d, 3)
    settings = _native.BayesForestSettings(7, "factor", 0.05, "max", block, 1)
    forest = _native.BayesForest.build(settings, X, y, 3, threads=1)
    shift, scale = standardisation(X)
    Z = (X - shift) / scale
    joint = []
    for c in range(3):
        own = Z[y == c]
        C = shrunk(own, np.maximum(own.var(axis=0), 0.05))
        s = min(block or d, d)
        Sigma = np.diag(np.diag(C)) if len(own) < 2 * s else C if s == d else hill_climbing(C, s)
        joint.append(np.log(len(own)) + multivariate_normal.logpdf(Z[:10], own.mean(axis=0), Sigma))
    for i in range(10):
        query = forest.query(_native.BayesQuerySettings("global_best", "mixture", 0), X[i])
        np.testing.assert_allclose(query.proba(), posterior(np.array(joint)[:, i]), rtol=5e-3, atol=1e-5)


def test_blocks_of_one_feature_are_the_diagonal_model():
    X, y = records(1, 200, 4, 3)
    diagonal = plain(covariance="diagonal").fit(X, y)
    single = plain(covariance=1).fit(X, y)
    whole = plain(covariance=4).fit(X, y)
    full = plain(covariance="full").fit(X, y)
    assert np.array_equal(diagonal.predict_proba(X, budget=3), single.predict_proba(X, budget=3))
    assert np.array_equal(whole.predict_proba(X, budget=3), full.predict_proba(X, budget=3))
    assert not np.array_equal(diagonal.predict_proba(X, budget=0), full.predict_proba(X, budget=0))


def test_the_exhausted_mixture_does_not_depend_on_covariances():
    X, y = records(2, 200, 4, 3)
    models = [
        plain(covariance=covariance, covariance_levels=9, decision="mixture").fit(X, y)
        for covariance in ("diagonal", "full", 2)
    ]
    first, *others = [model.predict_proba(X, budget=10**6) for model in models]
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("covariance", ["full", 2])
def test_covariances_are_kept_by_files_pickles_and_learning(tmp_path, covariance):
    X, y = records(3, 400, 5, 3)
    model = plain(covariance=covariance, covariance_levels=3, root_model=0.3, random_state=1).fit(X[:200], y[:200])
    model.partial_fit(X[200:260], y[200:260])
    model.save(tmp_path / "model.safetensors")
    for twin in (
        pickle.loads(pickle.dumps(model)),
        load(tmp_path / "model.safetensors"),
        load(tmp_path / "model.safetensors", mmap=True),
    ):
        for budget in (0, 2, 40):
            assert np.array_equal(twin.predict_proba(X, budget=budget), model.predict_proba(X, budget=budget))
        twin.partial_fit(X[260:], y[260:])
        assert twin.score(X, y) > 0.8


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15)
def test_dependent_and_constant_features_leave_probabilities_finite(seed):
    X, y = records(seed, 80, 3, 2)
    X = np.column_stack([X, X[:, 0], 2 * X[:, 1] - X[:, 2], np.full(len(X), 7.0)])
    model = plain(root_model="auto").fit(X, y)
    for budget in (0, 1, 50):
        assert np.isfinite(model.predict_proba(X, budget=budget)).all()
    assert np.isfinite(model.predict_proba(X * 1e6, budget=3)).all()


def test_a_record_with_a_missing_value_uses_the_diagonal():
    X, y = records(5, 200, 4, 2)
    Q = X[:20].copy()
    Q[:, 2] = np.nan
    full = plain(decision="mixture").fit(X, y)
    diagonal = plain(decision="mixture", covariance="diagonal").fit(X, y)
    assert np.array_equal(full.predict_proba(Q, budget=0), diagonal.predict_proba(Q, budget=0))


def test_a_class_that_grows_under_insertion_keeps_covariances_at_its_root():
    X, y = records(6, 3000, 3, 2)
    model = plain().fit(X[:400], y[:400])
    model.partial_fit(X[400:], y[400:])
    arrays = model.forest_.arrays()
    roots = arrays["class_root"]
    assert (arrays["node_covariance"][roots] >= 0).all()
    whole = plain().fit(X, y)
    agree = (model.predict(X, budget=0) == whole.predict(X, budget=0)).mean()
    assert agree > 0.98
