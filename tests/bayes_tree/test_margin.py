"""Margin maximisation follows the gradient of its objective, never lowers it, and improves first labels of trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from anystream import _native
from bayes_tree.plain import plain
from reference.margin import Mixtures, objective, sums


def labelled(seed, n, d, classes):
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), random.integers(0, classes, n - classes)]).astype(np.int32)
    X = random.normal(size=(n, d)) + 1.2 * random.normal(size=(classes, d))[y]
    return np.ascontiguousarray(X), y


@st.composite
def problems(draw, max_d=4, max_classes=4, max_n=40, scale=1.0):
    """Draw records, and mixtures of one or two components per class, diagonal or full; `scale` moves records apart."""
    seed = draw(st.integers(0, 10**6))
    d, classes, per_class = draw(st.integers(1, max_d)), draw(st.integers(2, max_classes)), draw(st.integers(1, 2))
    full = draw(st.booleans()) and d > 1
    X, y = labelled(seed, draw(st.integers(classes, max_n)), d, classes)
    random = np.random.default_rng(seed + 1)
    k = classes * per_class
    label = np.repeat(np.arange(classes), per_class).astype(np.int32)
    w = random.uniform(0.2, 1, size=(classes, per_class))
    w = (w / w.sum(axis=1, keepdims=True)).reshape(-1)
    A = random.normal(size=(k, d, d)) * 0.5
    Sigma = np.einsum("eij,ekj->eik", A, A) if full else np.zeros((k, d, d))
    Sigma = Sigma + np.stack([np.diag(v) for v in random.uniform(0.3, 1.5, size=(k, d))])
    prior = random.uniform(0.2, 1, classes)
    mixtures = Mixtures(label, w, random.normal(size=(k, d)), Sigma, prior / prior.sum())
    return scale * X, y, mixtures, full, draw(st.sampled_from([1.0, 2.5])), draw(st.sampled_from([0.05, 0.3, 1.0]))


def flat(Sigma, full):
    return (Sigma if full else np.einsum("eii->ei", Sigma)).reshape(-1).copy()


@given(case=problems() | problems(max_d=27, max_classes=11, max_n=150))
def test_native_objective_and_sums_equal_the_reference(case):
    X, y, m, full, kappa, lam = case
    k, d = m.mu.shape
    F, C, M, S = _native.margin_sums(X, y, m.prior, m.label, m.w, m.mu, flat(m.Sigma, full), kappa, lam)
    assert pytest.approx(objective(X, y, m, kappa, lam), rel=1e-9, abs=1e-12) == F
    C0, M0, S0 = sums(X, y, m, kappa, lam)
    np.testing.assert_allclose(C, C0, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(M.reshape(k, d), M0, rtol=1e-6, atol=1e-8)
    if full:
        lower = np.tril_indices(d)
        np.testing.assert_allclose(S.reshape(k, d, d)[:, *lower], S0[:, *lower], rtol=1e-6, atol=1e-8)
    else:
        np.testing.assert_allclose(S.reshape(k, d), np.einsum("eii->ei", S0), rtol=1e-6, atol=1e-8)


@given(case=problems(max_d=6, scale=12.0) | problems(max_d=2, max_classes=3, max_n=1200))
@settings(max_examples=40)
def test_rivals_that_are_too_far_to_count_and_parts_of_any_size_leave_the_sums_unchanged(case):
    X, y, m, full, kappa, lam = case
    k, d = m.mu.shape
    F, C, M, S = _native.margin_sums(X, y, m.prior, m.label, m.w, m.mu, flat(m.Sigma, full), kappa, lam)
    C0, M0, S0 = sums(X, y, m, kappa, lam)
    scale = np.abs(X).max()
    assert pytest.approx(objective(X, y, m, kappa, lam), rel=1e-9, abs=1e-12) == F
    np.testing.assert_allclose(C, C0, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(M.reshape(k, d), M0, rtol=1e-6, atol=1e-6 * scale)
    diagonal = np.einsum("eii->ei", S.reshape(k, d, d)) if full else S.reshape(k, d)
    np.testing.assert_allclose(diagonal, np.einsum("eii->ei", S0), rtol=1e-6, atol=1e-6 * scale**2)


@pytest.mark.slow
@given(case=problems())
def test_the_sums_give_the_gradient_of_the_objective(case):
    X, y, m, full, kappa, lam = case
    N, step = len(X), 1e-5

    def slope(change):
        values = [objective(X, y, change(sign * step), kappa, lam) for sign in (1, -1)]
        return N * (values[0] - values[1]) / (2 * step)

    def with_(**parts):
        return Mixtures(**(vars(m) | parts))

    C, M, S = sums(X, y, m, kappa, lam)
    for e in range(len(m.label)):
        precision = np.linalg.inv(m.Sigma[e])

        def weight(t, e=e):
            return with_(w=m.w * np.exp(t * (np.arange(len(m.w)) == e)))

        assert slope(weight) == pytest.approx(C[e], rel=1e-4, abs=1e-5)
        for i in range(m.mu.shape[1]):

            def mean(t, e=e, i=i):
                mu = m.mu.copy()
                mu[e, i] += t
                return with_(mu=mu)

            def variance(t, e=e, i=i):
                Sigma = m.Sigma.copy()
                Sigma[e, i, i] += t
                return with_(Sigma=Sigma)

            assert slope(mean) == pytest.approx((precision @ M[e])[i], rel=1e-4, abs=1e-5)
            expected = 0.5 * (precision @ S[e] @ precision - C[e] * precision)[i, i]
            assert slope(variance) == pytest.approx(expected, rel=1e-4, abs=1e-5)


@given(case=problems(), weights=st.booleans(), threads=st.integers(1, 2))
@settings(max_examples=40)
def test_the_objective_never_falls_and_is_that_of_what_is_returned(case, weights, threads):
    X, y, m, full, kappa, lam = case
    k, d = m.mu.shape
    occupancy, floor = np.full(k, len(X) / k), np.full(d, 1e-3)
    (label, w, mu, Sigma, _), history = _native.maximise_margin(
        X, y, m.prior, m.label, m.w, m.mu, flat(m.Sigma, full), occupancy, floor, kappa, lam, 12, weights, threads
    )
    assert (np.diff(history) > 0).all()
    Sigma = Sigma.reshape(k, d, d) if full else np.stack([np.diag(v) for v in Sigma.reshape(k, d)])
    assert (np.linalg.eigvalsh(Sigma) > 0).all()
    assert np.bincount(label, weights=w) == pytest.approx(np.ones(len(m.prior)))
    end = Mixtures(label, w, mu.reshape(k, d), Sigma, m.prior)
    assert history[-1] == pytest.approx(objective(X, y, end, kappa, lam), rel=1e-9, abs=1e-12)
    if not weights:
        np.testing.assert_array_equal(w, m.w)


def test_it_ends_when_every_record_has_its_margin():
    X, y = labelled(0, 60, 3, 2)
    X[y == 1] += 20
    _, history = _native.maximise_margin(
        X,
        y,
        np.array([0.5, 0.5]),
        np.array([0, 1], np.int32),
        np.ones(2),
        np.array([X[y == c].mean(axis=0) for c in (0, 1)]),
        np.ones(6),
        np.full(2, 30.0),
        np.full(3, 1e-3),
        1.0,
        0.1,
        20,
        True,
    )
    assert history == pytest.approx([np.log(2)])


@pytest.mark.parametrize("covariance", ["diagonal", "full", 2])
def test_margin_maximisation_improves_the_first_labels_of_a_tree(covariance):
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 2]
    unmoved = plain(covariance=covariance).fit(X[::2], y[::2])
    moved = plain(covariance=covariance, margin_levels=2).fit(X[::2], y[::2])
    accuracy = [(model.predict(X[::2], budget=0) == y[::2]).mean() for model in (unmoved, moved)]
    assert accuracy[1] >= accuracy[0]
    assert not np.array_equal(unmoved.predict_proba(X, budget=1), moved.predict_proba(X, budget=1))
    # kernels never move: the exhausted mixture is the same
    unmoved.decision = moved.decision = "mixture"
    np.testing.assert_allclose(
        unmoved.predict_proba(X[:20], budget=10**6), moved.predict_proba(X[:20], budget=10**6), rtol=1e-4, atol=1e-9
    )


def test_every_level_has_an_objective_that_never_falls():
    X, y = labelled(3, 1500, 3, 3)
    settings = _native.BayesForestSettings(7, "factor", 0.05, "max")
    forest = _native.BayesForest.build(settings, X, y, 3)
    histories = forest.maximise_margin(3, 1.0, 0.1)
    assert len(histories) == 3
    for history in histories:
        assert (np.diff(history) > 0).all()
    assert len(histories[0]) > 2
