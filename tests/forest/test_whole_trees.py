"""Orders of whole trees equal their plain twins, and batches read them as single queries do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from random_ensembles import any_ensembles, random_records
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from anystream import AnytimeForestClassifier, Budget
from anystream.forest.import_model import import_model
from anystream.forest.whole_trees import gain_order, has_trees_per_class
from reference.anytime_forest import PlainContenderQuery
from reference.forest_orders import expected_gains, gain_trees


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@given(ensemble=any_ensembles(trees_per_class=True), seed=st.integers(0, 2**32 - 1))
def test_records_read_the_trees_of_contenders_as_the_plain_forest_does(ensemble, seed):
    assert has_trees_per_class(ensemble)
    model = AnytimeForestClassifier.from_model(ensemble, order="contenders")
    assert_allclose(model.expected_, expected_gains(ensemble), rtol=1e-12)
    rtol = 1e-5 if ensemble.single_sums else 1e-11
    for record in random_records(np.random.default_rng(seed), 3):
        plain, query = PlainContenderQuery(ensemble, model.expected_.tolist(), record), model.query(record)
        while True:
            assert query.steps == plain.steps
            assert_allclose(query.proba, plain.proba, rtol=rtol, atol=1e-30)
            if query.certified:
                assert plain.decided_by() > 0 or plain.exhausted
            if query.refine(1).steps == plain.steps:
                break
            assert plain.step()
        assert query.certified


@given(ensemble=any_ensembles(), seed=st.integers(0, 2**32 - 1), budget=st.integers(0, 40))
def test_batches_equal_queries_at_every_budget(ensemble, seed, budget):
    model = AnytimeForestClassifier.from_model(ensemble)
    records = random_records(np.random.default_rng(seed), 150)
    answer = model.classify(records, budget=budget)
    for i, record in enumerate(records):
        query = model.query(record).refine(budget)
        assert_array_equal(query.proba, answer.proba[i])
        assert (query.steps, query.certified) == (answer.steps[i], answer.certified[i])


def test_batches_with_a_distant_deadline_equal_those_without_one(digits):
    X, y = digits
    forests = [
        RandomForestClassifier(30, random_state=0).fit(X[:600], y[:600]),
        GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X[:600], y[:600]),
    ]
    for forest in forests:
        model = AnytimeForestClassifier.from_model(forest)
        for steps in (1, 20, 77, model.max_steps_ - 1):
            plain = model.classify(X[600:], budget=steps)
            timed = model.classify(X[600:], budget=Budget(steps=steps, seconds=600))
            for name in ("proba", "steps", "certified"):
                assert_array_equal(getattr(timed, name), getattr(plain, name))


@pytest.mark.parametrize("boosted", [False, True])
def test_the_gain_order_equals_the_plain_one(digits, boosted):
    X, y = digits
    if boosted:
        forest = GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0).fit(X[:300], y[:300] % 2)
        y = y % 2
    else:
        forest = RandomForestClassifier(7, max_depth=4, random_state=0).fit(X[:300], y[:300])
    ensemble = import_model(forest)
    order = gain_order(ensemble, X[300:340], y[300:340].astype(np.int32))
    first_seen = order[np.sort(np.unique(order, return_index=True)[1])]
    assert first_seen.tolist() == gain_trees(ensemble, X[300:340], y[300:340].tolist())


def test_contenders_need_fewer_nodes_than_tree_after_tree(digits):
    X, y = digits
    forest = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X[:900], y[:900])
    contenders, training = (AnytimeForestClassifier.from_model(forest, order=name) for name in ("auto", "training"))
    assert len(contenders.expected_) == 21
    budget = training.max_steps_ // 4
    right = [(model.predict(X[900:], budget=budget) == y[900:]).mean() for model in (contenders, training)]
    assert right[0] > right[1] + 0.01
    assert_array_equal(contenders.predict_proba(X[900:]), training.predict_proba(X[900:]))


def test_auto_measures_the_gain_order_on_data_that_did_not_choose_it(digits):
    X, y = digits
    noise = np.random.default_rng(0).integers(0, 10, 400)
    forest = RandomForestClassifier(10, random_state=0).fit(X[:400], noise)  # no tree is better than another
    model = AnytimeForestClassifier.from_model(forest)
    before = model.order_.copy()
    ordered = model.order_on(X[400:800], y[400:800]).order_
    assert_array_equal(np.sort(ordered), np.sort(before))
    trees = RandomForestClassifier(10, random_state=0).fit(X[:400], y[:400]).estimators_
    mixed = RandomForestClassifier(20, random_state=0).fit(X[:400], noise)
    mixed.estimators_ = [*mixed.estimators_[:10], *trees]  # the last ten know something
    better = AnytimeForestClassifier.from_model(mixed).order_on(X[400:800], y[400:800])
    assert set(better.order_[:50].tolist()) <= set(range(10, 20))


def test_contenders_are_refused_for_averages(digits):
    forest = RandomForestClassifier(3, random_state=0).fit(*digits)
    with pytest.raises(ValueError, match="order 'contenders' is for boosted models with trees for each class"):
        AnytimeForestClassifier.from_model(forest, order="contenders")
