"""Margin maximisation follows the gradient of its objective, never lowers it, and serves trees, roots and mixtures."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

from anystream import _native, load
from anystream.bayes_tree import StaticMixtureClassifier
from bayes_tree.plain import plain
from reference import margin as reference


def labelled(seed, n, d, classes):
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), random.integers(0, classes, n - classes)]).astype(np.int32)
    X = random.normal(size=(n, d)) + 1.2 * random.normal(size=(classes, d))[y]
    return np.ascontiguousarray(X), y


@st.composite
def problems(draw):
    """Rows, and mixtures of one or two components per class, diagonal or full."""
    seed = draw(st.integers(0, 10**6))
    d, classes, per_class = draw(st.integers(1, 4)), draw(st.integers(2, 4)), draw(st.integers(1, 2))
    full = draw(st.booleans()) and d > 1
    X, y = labelled(seed, draw(st.integers(classes, 40)), d, classes)
    random = np.random.default_rng(seed + 1)
    k = classes * per_class
    label = np.repeat(np.arange(classes), per_class).astype(np.int32)
    w = random.uniform(0.2, 1, size=(classes, per_class))
    w = (w / w.sum(axis=1, keepdims=True)).reshape(-1)
    A = random.normal(size=(k, d, d)) * 0.5
    Sigma = np.einsum("eij,ekj->eik", A, A) if full else np.zeros((k, d, d))
    Sigma = Sigma + np.stack([np.diag(v) for v in random.uniform(0.3, 1.5, size=(k, d))])
    prior = random.uniform(0.2, 1, classes)
    mixtures = reference.Mixtures(label, w, random.normal(size=(k, d)), Sigma, prior / prior.sum())
    return X, y, mixtures, full, draw(st.sampled_from([1.0, 2.5])), draw(st.sampled_from([0.05, 0.3, 1.0]))


def flat(Sigma, full):
    return (Sigma if full else np.einsum("eii->ei", Sigma)).reshape(-1).copy()


@given(case=problems())
def test_objective_and_sums_are_those_of_the_reference(case):
    X, y, m, full, kappa, lam = case
    k, d = m.mu.shape
    F, C, M, S = _native.margin_sums(X, y, m.prior, m.label, m.w, m.mu, flat(m.Sigma, full), kappa, lam)
    assert pytest.approx(reference.objective(X, y, m, kappa, lam), rel=1e-9, abs=1e-12) == F
    C0, M0, S0 = reference.sums(X, y, m, kappa, lam)
    np.testing.assert_allclose(C, C0, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(M.reshape(k, d), M0, rtol=1e-6, atol=1e-8)
    if full:
        lower = np.tril_indices(d)
        np.testing.assert_allclose(S.reshape(k, d, d)[:, *lower], S0[:, *lower], rtol=1e-6, atol=1e-8)
    else:
        np.testing.assert_allclose(S.reshape(k, d), np.einsum("eii->ei", S0), rtol=1e-6, atol=1e-8)


@given(case=problems())
def test_the_sums_make_the_gradient_of_the_objective(case):
    X, y, m, full, kappa, lam = case
    N, step = len(X), 1e-5

    def slope(change):
        values = [reference.objective(X, y, change(sign * step), kappa, lam) for sign in (1, -1)]
        return N * (values[0] - values[1]) / (2 * step)

    def with_(**parts):
        return reference.Mixtures(**(vars(m) | parts))

    C, M, S = reference.sums(X, y, m, kappa, lam)
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
    end = reference.Mixtures(label, w, mu.reshape(k, d), Sigma, m.prior)
    assert history[-1] == pytest.approx(reference.objective(X, y, end, kappa, lam), rel=1e-9, abs=1e-12)
    if not weights:
        np.testing.assert_array_equal(w, m.w)


def test_it_ends_where_every_object_has_its_margin():
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


def test_a_static_mixture_learns_to_tell_classes_apart():
    X, y = load_digits(return_X_y=True)
    generative = StaticMixtureClassifier(components=7, margin=False).fit(X[::2], y[::2])
    trained = StaticMixtureClassifier(components=7).fit(X[::2], y[::2])
    assert trained.objective_[-1] > trained.objective_[0]
    assert trained.score(X[1::2], y[1::2]) > generative.score(X[1::2], y[1::2])
    assert trained.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))


def test_a_static_mixture_of_one_component_is_gaussian_naive_bayes():
    X, y = load_iris(return_X_y=True)
    model = StaticMixtureClassifier(components=1, margin=False).fit(X, y)
    order = np.argsort(model.component_class_)
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    variances = np.array([X[y == c].var(axis=0) for c in range(3)])
    np.testing.assert_allclose(model.means_[order], means, rtol=1e-9)
    np.testing.assert_allclose(model.variances_[order], variances, rtol=1e-6)


@pytest.mark.parametrize("covariance", ["diagonal", "full", 2])
def test_margin_maximisation_lifts_the_first_answers_of_a_tree(covariance):
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 2]
    still = plain(covariance=covariance).fit(X[::2], y[::2])
    moved = plain(covariance=covariance, margin_levels=2).fit(X[::2], y[::2])
    right = [(model.predict(X[::2], budget=0) == y[::2]).mean() for model in (still, moved)]
    assert right[1] >= right[0]
    assert not np.array_equal(still.predict_proba(X, budget=1), moved.predict_proba(X, budget=1))
    # kernels never move: the exhausted mixture is the same
    still.decision = moved.decision = "mixture"
    np.testing.assert_allclose(
        still.predict_proba(X[:20], budget=10**6), moved.predict_proba(X[:20], budget=10**6), rtol=1e-4, atol=1e-9
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


def test_the_trees_take_over_from_the_root_model_in_eight_steps():
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 2]
    alone, voting = (plain(root_model=weight, decision="mixture").fit(X[::2], y[::2]) for weight in (None, 0.3))
    first = [(model.predict(X[1::2], budget=0) == y[1::2]).mean() for model in (alone, voting)]
    assert first[1] > first[0]
    vote = voting.predict_proba(X[:50], budget=0)
    for steps in (1, 4, 8, 20, 10**6):
        trees, share = alone.predict_proba(X[:50], budget=steps), min(1, steps / 8)
        with np.errstate(divide="ignore"):
            product = share * np.log(trees) + (1 - share + share * 0.3) * np.log(vote)
        product = np.exp(product - product.max(axis=1, keepdims=True))
        product /= product.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(voting.predict_proba(X[:50], budget=steps), product, rtol=1e-4, atol=1e-6)


def test_without_weight_the_root_model_is_silent_in_the_end():
    X, y = load_iris(return_X_y=True)
    silent, alone, voting = (plain(root_model=weight).fit(X, y) for weight in (0.0, None, 1.0))
    assert np.array_equal(silent.predict_proba(X, budget=0), voting.predict_proba(X, budget=0))
    assert not np.array_equal(silent.predict_proba(X, budget=3), alone.predict_proba(X, budget=3))
    assert np.array_equal(silent.predict_proba(X, budget=8), alone.predict_proba(X, budget=8))


def test_the_root_model_survives_files_pickles_and_suspended_queries(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = plain(root_model=1.0).fit(X, y)
    assert model.forest_.has_root_model
    model.save(tmp_path / "model.safetensors")
    for twin in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.safetensors", mmap=True)):
        for budget in (0, 5):
            assert np.array_equal(twin.predict_proba(X, budget=budget), model.predict_proba(X, budget=budget))
    query = model.query(X[70]).refine(2)
    resumed = model.query(state=query.state)
    assert np.array_equal(query.refine(3).proba, resumed.refine(3).proba)


def test_the_root_model_stays_until_a_class_or_a_feature_appears():
    X, y = load_iris(return_X_y=True)
    model = plain(root_model=1.0).fit(X[::2], y[::2])
    vote = model.predict_proba(X, budget=0)
    model.partial_fit(X[1::2], y[1::2])
    assert np.array_equal(model.predict_proba(X, budget=0), vote)
    model.partial_fit(X[:1] + 9, [7])
    assert not model.forest_.has_root_model
    assert model.score(X, y) > 0.9


def test_a_record_with_a_missing_value_is_answered_by_the_trees():
    X, y = load_iris(return_X_y=True)
    Q = X.copy()
    Q[:, 1] = np.nan
    voting = plain(root_model=1.0).fit(X, y)
    alone = plain().fit(X, y)
    assert np.array_equal(voting.predict_proba(Q, budget=4), alone.predict_proba(Q, budget=4))


def test_the_weight_is_chosen_on_training_data_and_the_choice_is_repeatable():
    X, y = load_digits(return_X_y=True)
    models = [plain(root_model="auto", n_jobs=jobs).fit(X[::3], y[::3]) for jobs in (1, 2)]
    assert models[0].plan_.root_weight is not None
    assert models[0].plan_ == models[1].plan_
    assert np.array_equal(models[0].predict_proba(X[:99]), models[1].predict_proba(X[:99]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"margin_levels": -1}, "margin_levels is -1; use a whole number from 0 on"),
        ({"margin_kappa": 0.5}, "margin_kappa is 0.5; use a number from 1 on"),
        ({"margin_lambda": 0.0}, "margin_lambda is 0.0; use a number above 0"),
        ({"root_model": "yes"}, "root_model is 'yes'; use a number from 0 on"),
        ({"root_model": -1.0}, "root_model is -1.0; use a number from 0 on"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        plain(**parameters).fit(X, y)
