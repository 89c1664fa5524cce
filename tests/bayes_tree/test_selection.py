"""Choice on held-out quarters: what is "auto" is chosen, what is given is kept."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

from anystream import BayesTreeClassifier
from anystream.bayes_tree import selection
from anystream.bayes_tree.building import SHAPED_WITHOUT_BANDWIDTH, build_forest, build_with_bandwidth
from anystream.estimators.held_out import split_in_quarters
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


@pytest.mark.parametrize("construction", SHAPED_WITHOUT_BANDWIDTH)
@pytest.mark.parametrize("metric", [None, "whiten"])
@given(seed=st.integers(0, 1000), bandwidths=st.permutations(["f0.05", "f0.005", "langley", "haerdle"]))
@settings(max_examples=10)
def test_trees_of_another_bandwidth_are_those_that_are_built_with_it(construction, metric, seed, bandwidths):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(150, 5)).round(1), random.integers(0, 4, 150).astype(np.int32)
    y[y == 3], y[0] = 2, 3  # a class of one record
    X[random.random(X.shape) < 0.05] = np.nan
    recipes = [
        plain(construction=construction, metric=metric, bandwidth=bandwidth, margin_levels=1)._resolve_recipe(5)
        for bandwidth in bandwidths[:2]
    ]
    built = [build_forest(recipe.decided(), X, y, 5, threads=1) for recipe in recipes]
    found = build_with_bandwidth(recipes[1].decided(), built[0], threads=1).arrays()
    expected = built[1].arrays()
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_trees_of_another_fanout_are_not_used_again():
    forest = build_forest(plain()._resolve_recipe(1).decided(), np.arange(9.0)[:, np.newaxis], np.zeros(9, np.int32), 1)
    with pytest.raises(ValueError, match="fanout"):
        forest.with_settings(plain(fanout=3)._resolve_recipe(1).forest_settings())


def test_a_candidate_is_clearly_worse_only_if_many_records_tell():
    best = np.ones((100, 8), np.bool_)
    for n_wrong, clear in ((0, False), (8, False), (12, True), (100, True)):
        candidate = best.copy()
        candidate[:n_wrong] = False
        assert selection._is_clearly_worse(candidate, best) == clear
    assert not selection._is_clearly_worse(best, candidate)


def test_of_equal_candidates_the_first_is_chosen_and_the_worst_is_judged_by_the_first_records_alone(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    judged = Counter()
    judge = selection._Trial._judge

    def count(trial, number, recipe):
        judged[recipe.metric, recipe.bandwidth, recipe.decision] |= 1 << number
        return judge(trial, number, recipe)

    monkeypatch.setattr(selection._Trial, "_judge", count)
    recipe = BayesTreeClassifier(root_model=None).fit(X, y).recipe_
    assert judged[recipe.metric, recipe.bandwidth, recipe.decision].bit_count() > 1
    tried = {bandwidth for _, bandwidth, _ in judged}
    assert len(tried) == 3  # two with every metric, then the one beyond the better of them
    assert 0b111 in judged.values()  # the three parts that make up the first 500 records


def test_parts_hold_every_record_once_and_clearly_worse_candidates_leave_after_the_first():
    X = np.arange(9000.0)[:, np.newaxis]
    y = np.arange(9000, dtype=np.int32) % 3
    for n, sizes in ((9000, [100, 100, 300, 500, 1000]), (1200, [100, 100, 100, 300, 300, 300])):
        quarters = split_in_quarters(X[:n], y[:n], 0)
        parts = selection._held_out_parts(X[:n], y[:n], quarters)
        assert [len(part.numbers) for part in parts] == sizes
        assert [part.max_left for part in parts] == [12, 12, *[4] * (len(sizes) - 3), 1]
        records = np.concatenate([part.records for part in parts])
        assert len(np.unique(records)) == sum(sizes)
        assert set(parts[0].records[:, 0]) <= set(quarters[0])


def test_copies_of_a_few_records_are_too_few_to_judge_by():
    X = np.arange(3000.0)[:, np.newaxis]
    y = np.arange(3000, dtype=np.int32) % 3
    X[0] = np.nan
    X, y = X.repeat(3, axis=0), y.repeat(3)
    parts = selection._held_out_parts(X, y, split_in_quarters(X, y, 0))
    assert [len(part.numbers) for part in parts] == [500, 500, 1000]
    assert [part.max_left for part in parts] == [4, 4, 1]


def test_a_candidate_that_is_clearly_worse_is_out_after_one_hundred_records(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 16))  # mostly noise, which only weights of the features remove
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    judged = Counter()
    judge = selection._Trial._judge

    def count(trial, number, recipe):
        if (number, recipe) not in trial._judged:
            judged[recipe.metric] += len(trial._parts[number].numbers)
        return judge(trial, number, recipe)

    monkeypatch.setattr(selection._Trial, "_judge", count)
    recipe = BayesTreeClassifier(root_model=None).fit(X, y).recipe_
    assert judged[recipe.metric] >= 2000
    assert min(judged.values()) == 2 * 100  # with both bandwidths
