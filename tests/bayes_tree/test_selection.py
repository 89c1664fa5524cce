"""Choice on held-out quarters: what is "auto" is chosen, what is given is kept."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from anystream import BayesTreeClassifier
from anystream.bayes_tree import selection
from bayes_tree.plain import plain


def test_auto_finds_the_metric_that_fits_and_shows_it():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 8))
    y = (np.abs(X[:, 2]) > 0.7).astype(int)
    model = BayesTreeClassifier(metric="auto").fit(X[:300], y[:300])
    assert model.recipe_.metric in ("diagonal", "quantile+diagonal")
    assert model.score(X[300:], y[300:]) > plain().fit(X[:300], y[:300]).score(X[300:], y[300:])
    assert BayesTreeClassifier(metric="auto", n_jobs=1).fit(X[:300], y[:300]).recipe_ == model.recipe_


def test_auto_works_with_one_record_of_a_class():
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], np.where(y[:200] == 3, "rare", "often")
    rare = np.flatnonzero(y == "rare")[1:]
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    model = BayesTreeClassifier(metric="auto").fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_given_parameters_are_not_chosen():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    given = BayesTreeClassifier(bandwidth="f0.2", decision="nearest").fit(X, y)
    assert (given.recipe_.bandwidth, given.recipe_.decision) == ("f0.2", "nearest")
    free = BayesTreeClassifier().fit(X, y)
    before = free.predict_proba(X, budget=50)
    assert not np.array_equal(free.set_params(decision="nearest").predict_proba(X, budget=50), before)


def test_the_root_weight_is_chosen_and_the_choice_does_not_depend_on_threads():
    X, y = load_digits(return_X_y=True)
    models = [plain(root_model="auto", n_jobs=jobs).fit(X[::3], y[::3]) for jobs in (1, 2)]
    assert models[0].recipe_.root_weight is not None
    assert models[0].recipe_ == models[1].recipe_
    assert np.array_equal(models[0].predict_proba(X[:99]), models[1].predict_proba(X[:99]))


@pytest.mark.parametrize(("n", "chosen"), [(116, False), (117, True)])
def test_fewer_than_117_records_are_too_few_to_choose_by(n, chosen):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:n]
    model = BayesTreeClassifier().fit(X[order], y[order])
    assert (model.recipe_.root_weight is not None) == chosen
    assert model.recipe_.undecided == ()


def test_more_than_256_features_leave_the_root_model_out_and_covariances_diagonal():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(130, 257)), random.integers(2, size=130)
    model = BayesTreeClassifier(metric=None).fit(X, y)
    assert (model.recipe_.root_weight, model.recipe_.covariance) == (None, "diagonal")
    model = BayesTreeClassifier(metric=None).fit(X[:, :256], y)
    assert model.recipe_.root_weight is not None
    assert model.recipe_.covariance == "full"


def test_a_model_that_starts_with_partial_fit_has_the_defaults():
    X, y = load_iris(return_X_y=True)
    recipe = BayesTreeClassifier(root_model=0.3).partial_fit(X, y).recipe_
    assert (recipe.metric, recipe.bandwidth, recipe.decision, recipe.root_weight) == (None, "f0.05", "ensemble", None)


def test_metrics_of_cubic_cost_are_not_tried_on_many_features(monkeypatch):
    tried = set()
    learn = selection.learn_metric

    def watch(metric, *arguments):
        tried.add(metric)
        return learn(metric, *arguments)

    monkeypatch.setattr(selection, "learn_metric", watch)
    random = np.random.default_rng(0)
    y = np.arange(120) % 2
    BayesTreeClassifier().fit(random.normal(size=(120, 300)) + y[:, None], y)
    assert tried == {None, "diagonal", "quantile", "quantile+diagonal"}
