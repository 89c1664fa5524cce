"""Native forests equal the plain one step by step, and their certificates are right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from random_ensembles import any_ensembles, make_ensemble, random_ensembles, random_records, random_tree

from anystream import AnytimeForestClassifier, Budget
from anystream.forest import Link, TreeEnsemble
from anystream.forest.ordering import ReadingOrder
from anystream.forest.orders import breadth_first_order, fit_order, training_order, tree_depths
from reference.anytime_forest import PlainForestQuery


def classifier(ensemble: TreeEnsemble, order=None):
    model = AnytimeForestClassifier.from_model(ensemble)
    if order is not None:
        model._set_ensemble(ensemble, ReadingOrder(order, np.empty(0)))
    return model


def any_order(ensemble, rng):
    """Return an order of whole trees or of single levels."""
    depths = tree_depths(ensemble)
    if rng.random() < 0.5:
        return np.concatenate([np.full(depths[tree], tree, np.int32) for tree in rng.permutation(len(depths))])
    return rng.permutation(training_order(depths))


@given(ensemble=any_ensembles(), seed=st.integers(0, 2**32 - 1))
def test_every_step_equals_the_plain_forest(ensemble, seed):
    rng = np.random.default_rng(seed)
    order = any_order(ensemble, rng)
    model = classifier(ensemble, order)
    rtol = 1e-5 if ensemble.single_sums else 1e-11
    for record in random_records(rng, 3):
        plain, query = PlainForestQuery(ensemble, order, record), model.query(record)
        just_finished = False
        while True:
            assert query.steps == plain.steps
            assert query.exhausted == plain.exhausted
            assert_allclose(query.proba, plain.proba, rtol=rtol, atol=1e-30)
            certified = query.certified
            if certified:
                assert plain.decided_by() > 0 or plain.exhausted
            elif just_finished and ensemble.link.kind in ("sigmoid", "softmax"):
                assert plain.decided_by() < (1e-3 if ensemble.single_sums else 1e-7)  # rounding is left a distance
            query.refine(1)
            if query.steps == plain.steps:
                break
            finished = plain.n_finished
            assert plain.step()
            just_finished = plain.n_finished > finished  # a certificate is tried, with so few trees every time
        assert certified


@given(ensemble=any_ensembles(), seed=st.integers(0, 2**32 - 1))
def test_all_trees_give_the_label_of_the_framework_in_batches_and_in_queries(ensemble, seed):
    rng = np.random.default_rng(seed)
    model = classifier(ensemble, any_order(ensemble, rng))
    records = random_records(rng, 12)
    whole = model.classify(records, budget=Budget())
    assert whole.certified.all()
    for i, record in enumerate(records):
        plain = PlainForestQuery(ensemble, model.order_, record)
        while plain.step():
            pass
        assert_array_equal(model.query(record).refine().proba, whole.proba[i])
        assert whole.labels[i] == plain.label
        assert whole.steps[i] == plain.steps


@given(ensemble=any_ensembles(), seed=st.integers(0, 2**32 - 1), budget=st.integers(0, 40))
def test_certified_labels_are_those_of_all_trees(ensemble, seed, budget):
    rng = np.random.default_rng(seed)
    model = classifier(ensemble, any_order(ensemble, rng))
    records = random_records(rng, 40)
    some, whole = model.classify(records, budget=budget), model.classify(records, budget=Budget())
    assert_array_equal(some.labels[some.certified], whole.labels[some.certified])


@given(ensemble=any_ensembles(), seed=st.integers(0, 2**32 - 1), first=st.integers(0, 60), second=st.integers(0, 60))
def test_two_budgets_equal_their_sum_and_states_continue(ensemble, seed, first, second):
    rng = np.random.default_rng(seed)
    model = classifier(ensemble, any_order(ensemble, rng))
    record = random_records(rng, 1)[0]
    whole = model.query(record).refine(first + second)
    for query in (model.query(record).refine(first), model.query(state=model.query(record).refine(first).state)):
        query.refine(second)
        assert_array_equal(query.proba, whole.proba)
        assert (query.steps, query.certified, query.exhausted) == (whole.steps, whole.certified, whole.exhausted)
        assert query.state == whole.state
    batch = model.classify(record[np.newaxis], budget=first + second)
    assert (batch.steps[0], batch.certified[0]) == (whole.steps, whole.certified)
    assert_array_equal(batch.proba[0], whole.proba)


@given(ensemble=random_ensembles())
def test_orders_visit_every_level_of_every_tree_once(ensemble):
    depths = tree_depths(ensemble)
    assert len(depths) == ensemble.n_trees
    for order in (training_order(depths), breadth_first_order(depths)):
        assert_array_equal(np.bincount(order, minlength=len(depths)), depths)
    assert_array_equal(training_order(depths), np.sort(training_order(depths)))


@given(seed=st.integers(0, 2**32 - 1))
def test_an_order_of_other_trees_is_adapted(seed):
    rng = np.random.default_rng(seed)
    old, new = rng.integers(0, 6, 5), rng.integers(0, 6, 7)
    adapted = fit_order(rng.permutation(training_order(old)).astype(np.int32), new)
    assert_array_equal(np.bincount(adapted, minlength=7), new)


def test_ties_go_to_the_lower_class_at_every_stage():
    rng = np.random.default_rng(0)
    trees = [random_tree(rng, 4, 3) for _ in range(4)]
    for tree in trees:
        tree.value[:] = 0.25
    ensemble = make_ensemble(
        trees, link=Link("softmax"), output=np.full(4, -1, np.int32), n_outputs=3, base=np.zeros(3)
    )
    model = classifier(ensemble)
    for record in random_records(rng, 20):
        query = model.query(record)
        while not query.exhausted:
            assert (query.label, query.certified) == (0, False)
            query.refine(1)
        assert (query.label, query.certified) == (0, True)


@pytest.mark.parametrize("fault", ["too short", "other version", "steps", "record", "certificate", "too long"])
def test_damaged_states_are_rejected(fault):
    rng = np.random.default_rng(1)
    trees = [random_tree(rng, 6, 1) for _ in range(3)]
    ensemble = make_ensemble(trees, link=Link("sigmoid"), output=np.zeros(3, np.int32), n_outputs=1)
    model = classifier(ensemble)
    state = bytearray(model.query(random_records(rng, 1)[0]).refine(2).state)
    match fault:
        case "too short":
            del state[-3:]
        case "other version":
            state[0] ^= 8
        case "steps":
            state[4] = 200
        case "record":
            state[-8:] = np.float64(np.inf).tobytes()
        case "certificate":
            state[20] = 2
        case "too long":
            state += b"\0"
    with pytest.raises(ValueError, match="not the state of a query of this model"):
        model.query(state=bytes(state))


def shares_that_round_apart():
    """Return an averaging ensemble whose leaves weigh more than its roots, by rounding."""
    rng = np.random.default_rng(0)
    trees = []
    while len(trees) < 4:
        tree = random_tree(rng, 4, 3)
        tree.value[:] = rng.dirichlet(np.ones(3), len(tree.value))
        tree.value[::2] = [0, 1, 0]
        tree.zero_missing[:] = False
        ensemble = average([tree])
        if ensemble.value[0].sum() < 1 and ensemble.left[0] >= 0:  # the weight of the tree
            trees.append(tree)
    return average(trees)


def average(trees):
    return make_ensemble(
        trees,
        link=Link("mean"),
        output=np.full(len(trees), -1, np.int32),
        n_outputs=3,
        base=np.zeros(3),
        divisor=float(len(trees)),
    )


def highest_score(ensemble, order, record):
    """Return the highest score of the plain forest at any number of steps."""
    plain = PlainForestQuery(ensemble, order, record)
    highest = plain.scores.max()
    while plain.step():
        highest = max(highest, plain.scores.max())
    return highest


def test_probabilities_of_some_trees_lie_between_0_and_1():
    ensemble = shares_that_round_apart()
    model = classifier(ensemble)
    records = random_records(np.random.default_rng(0), 200)
    stages = list(range(model.max_steps_ + 1))
    found = [model.predict_proba(records, budget=budget) for budget in stages]
    found += list(model.staged_predict_proba(records, stages=stages))
    for record in records[:20]:
        query = model.query(record)
        found += [query.refine(1).proba[np.newaxis] for _ in stages]
        found += [np.array([model.forest_.proba_one(record, steps)]) for steps in stages]
    every = np.concatenate(found)
    assert max(highest_score(ensemble, model.order_, record) for record in records[:20]) > 1  # the records are hard
    assert ((every >= 0) & (every <= 1)).all()
    assert_allclose(every.sum(axis=1), 1, rtol=1e-12)


def test_probabilities_of_a_score_that_rounds_above_1_end_at_1():
    proba = Link("mean").probabilities(np.array([[np.nextafter(1.0, 2), 0.0], [0.25, 0.75]]))
    assert_array_equal(proba, [[1.0, 0.0], [0.25, 0.75]])
