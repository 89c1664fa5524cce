"""Certificates: a certified label is always that of the exhausted mixture, and the bounds hold."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anystream import BayesTreeClassifier, check_anytime_classifier
from bayes_tree.plain import plain

ALL = 10**9


def draw(seed, n, d, classes, kind):
    """Return records that are hard to bound: far from the origin, tied on a grid, with missing values, constant."""
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), random.integers(classes, size=n - classes)])
    X = random.normal(size=(n, d)) + y[:, None] * random.choice([0.0, 0.3, 2.0])
    if kind == "far":
        X = X * 1e-2 + 1e4
    elif kind == "grid":
        X = np.round(X)
    elif kind == "missing":
        X[random.random(X.shape) < 0.1] = np.nan
    elif kind == "skewed":
        X = np.exp(3 * X)
    elif kind == "constant":
        X[:, 0] = 7.0
    return X, y


cases = given(
    seed=st.integers(0, 10**6),
    n=st.integers(8, 150),
    d=st.integers(1, 12),
    classes=st.integers(2, 5),
    kind=st.sampled_from(["plain", "far", "grid", "missing", "skewed", "constant"]),
    bandwidth=st.sampled_from(["f0.05", "f0.001", "haerdle"]),
)


@cases
@example(seed=0, n=12, d=2, classes=3, kind="skewed", bandwidth="f0.05")  # kernels among inner entries
@settings(deadline=None)
def test_a_certified_label_is_that_of_the_exhausted_mixture(seed, n, d, classes, kind, bandwidth):
    X, y = draw(seed, n, d, classes, kind)
    half = n // 2 + classes
    model = plain(bandwidth=bandwidth, fanout=3 + seed % 6, n_jobs=1).fit(X[:half], y[:half])
    if half < n:
        model.partial_fit(X[half:], y[half:])
    queries = np.vstack([X[:15], draw(seed + 1, 15, d, classes, kind)[0]])
    end = model.set_params(decision="mixture").classify(queries, budget=ALL)
    model.set_params(refine_for="certificate")
    ahead = np.sort(end.proba, axis=1)
    clear = ahead[:, -1] > ahead[:, -2] * (1 + 1e-5)  # rounding decides between equal classes
    for budget in (0, 1, 3, 10, 30, ALL):
        answer = model.classify(queries, budget=budget)
        sure = answer.certified & clear
        assert np.array_equal(answer.labels[sure], end.labels[sure])
    assert answer.certified.all()
    assert (answer.steps <= end.steps).all()


@cases
@settings(deadline=None)
def test_bounds_contain_the_exhausted_probabilities(seed, n, d, classes, kind, bandwidth):
    X, y = draw(seed, n, d, classes, kind)
    model = plain(bandwidth=bandwidth, decision="mixture", n_jobs=1).fit(X, y)
    for x in (X[seed % n], draw(seed + 1, 8, d, classes, kind)[0][0]):
        end = model.set_params(refine_for="accuracy").query(x).refine(ALL).proba
        query = model.set_params(refine_for="certificate").query(x)
        while True:
            lower, upper = query.proba_bounds.T
            assert (lower <= end * (1 + 1e-5) + 1e-300).all()
            assert (end <= upper * (1 + 1e-5) + 1e-300).all()
            if query.certified:
                break
            assert query.refine(1).steps > 0


def test_certificates_come_long_before_exhaustion():
    X, y = draw(0, 3000, 6, 3, "plain")
    model = plain(refine_for="certificate").fit(X[:-200], y[:-200])
    answer = model.classify(X[-200:], budget=ALL)
    exhausted = model.set_params(refine_for="accuracy").classify(X[-200:], budget=ALL)
    assert answer.certified.all()
    assert np.median(answer.steps) < 0.25 * np.median(exhausted.steps)


def test_the_vote_of_the_root_model_is_part_of_the_certificate():
    X, y = draw(1, 600, 4, 3, "plain")
    model = plain(root_model=0.7, decision="mixture").fit(X, y)
    end = model.classify(X, budget=ALL)
    answer = model.set_params(refine_for="certificate").classify(X, budget=ALL)
    clear = np.sort(end.proba, axis=1)[:, -1] > np.sort(end.proba, axis=1)[:, -2] * (1 + 1e-5)
    assert np.array_equal(answer.labels[clear], end.labels[clear])


def test_queries_for_a_certificate_keep_the_contract():
    check_anytime_classifier(BayesTreeClassifier(refine_for="certificate"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"refine_for": "certificate", "decision": "nearest"}, "decision='mixture'"),
        ({"refine_for": "certificate", "descent": "depth_first"}, "leave descent"),
        ({"refine_for": "certificate", "refined_classes": 2}, "leave descent"),
    ],
)
def test_parameters_that_cannot_be_certified_raise_an_error(parameters, message):
    X, y = draw(0, 20, 2, 2, "plain")
    with pytest.raises(ValueError, match=message):
        plain(**parameters).fit(X, y)
