"""Every variant of the Bayes tree learns, improves with the budget and ends at the same kernel density."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from anystream import BayesTreeClassifier, Budget
from anystream.bayes_tree.recipe import CONSTRUCTIONS
from bayes_tree.blobs import blobs
from bayes_tree.plain import plain


def test_accuracy_improves_with_the_budget():
    X, y = load_digits(return_X_y=True)
    model = plain().fit(X[::2], y[::2])
    accuracy = [(model.predict(X[1::2], budget=budget) == y[1::2]).mean() for budget in (0, 5, 200)]
    assert accuracy[0] > 0.85
    assert accuracy[0] < accuracy[1] <= accuracy[2] + 0.01
    assert accuracy[2] > 0.94


@pytest.mark.parametrize("bandwidth", ["langley", "haerdle", "f0.05", "f0.5"])
@pytest.mark.parametrize("inner_variance", ["plain", "max"])
@pytest.mark.parametrize("decision", ["mixture", "ensemble", "nearest"])
def test_every_variant_learns_iris(bandwidth, inner_variance, decision):
    X, y = load_iris(return_X_y=True)
    model = plain(bandwidth=bandwidth, inner_variance=inner_variance, decision=decision)
    assert (model.fit(X[::2], y[::2]).predict(X[1::2]) == y[1::2]).mean() > 0.85


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_every_construction_ends_at_the_same_kernel_density_and_learns_more(construction):
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 600), slice(600, 900)
    model = plain(construction=construction, decision="mixture").fit(X[train], y[train])
    assert model.forest_.records == 600
    by_default = plain(decision="mixture").fit(X[train], y[train])
    np.testing.assert_allclose(
        model.predict_proba(X[test], budget=Budget()),
        by_default.predict_proba(X[test], budget=Budget()),
        rtol=1e-3,
        atol=1e-6,
    )
    assert model.score(X[test], y[test]) > 0.85
    before = model.forest_.nodes
    model.partial_fit(X[test], y[test])
    assert model.forest_.records == 900
    assert model.forest_.nodes > before
    assert model.score(X[test], y[test]) > 0.95


@pytest.mark.parametrize("descent", ["global_best", "breadth_first", "depth_first"])
def test_descents_differ_on_the_way_and_agree_at_the_end(descent):
    X, y = blobs()
    best = plain(decision="mixture").fit(X, y)
    other = plain(decision="mixture", descent=descent).fit(X, y)
    np.testing.assert_allclose(
        other.predict_proba(X, budget=Budget()), best.predict_proba(X, budget=Budget()), rtol=1e-4, atol=1e-9
    )
    if descent != "global_best":
        assert not np.array_equal(other.predict_proba(X, budget=20), best.predict_proba(X, budget=20))


def test_bt_star_has_the_parameters_of_the_paper():
    model = BayesTreeClassifier.bt_star(budget=50)
    assert (model.bandwidth, model.decision, model.inner_variance) == ("f0.05", "ensemble", "plain")
    assert (model.descent, model.refined_classes, model.fanout, model.budget) == ("global_best", "printed", 7, 50)


@pytest.mark.parametrize(
    "changes",
    [{"decision": "nearest"}, {"descent": "depth_first"}, {"refined_classes": 1}],
    ids=lambda c: next(iter(c)),
)
def test_parameters_of_queries_take_effect_after_fit(changes):
    X, y = load_digits(return_X_y=True)
    model = plain().fit(X[:500], y[:500])
    before = model.predict_proba(X[500:600], budget=20)
    after = model.set_params(**changes).predict_proba(X[500:600], budget=20)
    assert not np.array_equal(after, before)
    assert np.array_equal(after, plain(**changes).fit(X[:500], y[:500]).predict_proba(X[500:600], budget=20))
    assert np.array_equal(after[0], model.query(X[500]).refine(20).proba)


def test_the_memory_grows_with_the_data():
    X, y = blobs(400)
    small, large = BayesTreeClassifier().fit(X[:50], y[:50]), BayesTreeClassifier().fit(X, y)
    assert X[:50].nbytes < small.memory_bytes_ < large.memory_bytes_ < 100 * X.nbytes


@pytest.mark.parametrize("seconds", [0.0005, 0.002, 0.02])
def test_records_under_one_deadline_advance_together(seconds):
    """When the clock ends a batch, no record is more than one round ahead: eight steps, or a quarter of those taken."""
    random = np.random.default_rng(0)
    y = random.integers(5, size=20_000)
    model = plain(covariance="diagonal", n_jobs=1).fit(random.normal(size=(20_000, 8)) + y[:, None], y)
    answer = model.classify(random.normal(size=(30, 8)) + 2, budget=Budget(seconds=seconds))
    behind = answer.steps[~answer.certified]
    if len(behind):
        assert answer.steps.max() - behind.min() <= max(8, behind.min() / 4 + 1)
