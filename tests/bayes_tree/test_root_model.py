"""The root model: it decides alone before the first step and votes beside the trees afterwards."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

from anystream import BayesTreeClassifier, Budget, StopToken, _native, anytime_curve, load
from anystream.bayes_tree import selection
from anystream.bayes_tree.recipe import EVEN_HAND_OVER
from anystream.streams import load_dataset
from bayes_tree.plain import plain


def test_the_trees_take_over_from_the_root_model_in_eight_steps():
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 2]
    trees_only, voting = (
        plain(root_model=weight, decision="mixture", first_look=False).fit(X[::2], y[::2]) for weight in (None, 0.3)
    )
    first = [(model.predict(X[1::2], budget=0) == y[1::2]).mean() for model in (trees_only, voting)]
    assert first[1] > first[0]
    vote = voting.predict_proba(X[:50], budget=0)
    for steps in (1, 4, 8, 20, 10**6):
        trees, share = trees_only.predict_proba(X[:50], budget=steps), min(1, steps / 8)
        with np.errstate(divide="ignore"):
            product = share * np.log(trees) + (1 - share + share * 0.3) * np.log(vote)
        product = np.exp(product - product.max(axis=1, keepdims=True))
        product /= product.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(voting.predict_proba(X[:50], budget=steps), product, rtol=1e-4, atol=1e-6)


def test_without_weight_the_root_model_has_no_vote_in_the_end():
    X, y = load_iris(return_X_y=True)
    weightless, trees_only, voting = (plain(root_model=weight).fit(X, y) for weight in (0.0, None, 1.0))
    assert np.array_equal(weightless.predict_proba(X, budget=0), voting.predict_proba(X, budget=0))
    assert not np.array_equal(weightless.predict_proba(X, budget=3), trees_only.predict_proba(X, budget=3))
    assert np.array_equal(weightless.predict_proba(X, budget=8), trees_only.predict_proba(X, budget=8))


def test_the_root_model_is_kept_by_files_pickles_and_resumed_queries(tmp_path):
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


def test_the_root_model_is_kept_until_a_class_or_a_feature_appears():
    X, y = load_iris(return_X_y=True)
    model = plain(root_model=1.0).fit(X[::2], y[::2])
    vote = model.predict_proba(X, budget=0)
    model.partial_fit(X[1::2], y[1::2])
    assert np.array_equal(model.predict_proba(X, budget=0), vote)
    model.partial_fit(X[:1] + 9, [7])
    assert not model.forest_.has_root_model
    assert model.score(X, y) > 0.9


def test_an_incomplete_record_has_a_vote_of_the_root_model_too():
    X, y = load_iris(return_X_y=True)
    Q = X.copy()
    Q[:, 1] = np.nan
    voting, heavy, trees_only = (plain(root_model=weight).fit(X, y) for weight in (0.3, 3.0, None))
    assert not np.array_equal(voting.predict_proba(Q, budget=20), trees_only.predict_proba(Q, budget=20))
    assert np.array_equal(voting.predict_proba(Q, budget=20), heavy.predict_proba(Q, budget=20))  # at most 0.3
    assert voting.score(Q, y) > 0.9


def scores_of(right_by_stage, n=4000, seed=0):
    """Return scores whose trees are right with these shares at each stage, and a root model that is right by 3 in 4."""
    random = np.random.default_rng(seed)
    numbers = random.integers(0, 3, n).astype(np.int32)

    def answers(share, certainty):
        wrong = (numbers + random.integers(1, 3, n)) % 3
        return certainty * np.eye(3)[np.where(random.random(n) < share, numbers, wrong)]

    trees = np.stack([answers(share, 40.0) for share in right_by_stage], axis=1)
    return selection._Scores(numbers, trees, answers(0.75, 10.0), np.zeros(trees.shape[:2], dtype=bool))


def best_hand_over(scores, weight):
    return selection._best_hand_over(selection._disputes(scores), len(scores.numbers), weight)


def test_the_curve_does_not_fall_while_trees_that_need_many_steps_take_over():
    right = [0.3, 0.4, 0.5, 0.55, 0.6, 0.82, 0.86, 0.87, 0.88]  # the shape of covtype
    scores = scores_of(right)
    _, shares = best_hand_over(scores, 0.0)

    def curve(hand_over):
        chosen = enumerate((0.0, *hand_over))
        return np.array(
            [(scores.weighed(k, share, 0.0).argmax(axis=1) == scores.numbers).mean() for k, share in chosen]
        )

    chosen, even = curve(shares), curve(EVEN_HAND_OVER)
    assert (np.maximum.accumulate(chosen) - chosen).max() <= 1e-12, (shares, chosen)
    assert (np.maximum.accumulate(even) - even).max() > 0.1
    assert chosen[-1] == even[-1]
    assert list(shares) == sorted(shares)


def test_where_all_shares_are_equally_good_the_hand_over_is_even():
    _, shares = best_hand_over(scores_of([1.0] * 9)._replace(votes=np.zeros((4000, 3))), 0.3)
    assert shares == EVEN_HAND_OVER


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    n_classes=st.integers(2, 5),
    share=st.sampled_from([0.0, 0.125, 0.5, 1.0]),
    weight=st.sampled_from([0.0, 0.3, 3.0]),
)
def test_records_that_are_not_disputed_are_counted_as_if_they_were_weighed(seed, n, n_classes, share, weight):
    random = np.random.default_rng(seed)
    numbers = random.integers(0, n_classes, n).astype(np.int32)
    trees, votes = random.integers(-9, 9, (n, 9, n_classes)) * 1.0, random.integers(-9, 9, (n, n_classes)) * 1.0
    scores = selection._Scores(numbers, trees, votes, random.random((n, 9)) < 0.3)
    for stage, dispute in enumerate(selection._disputes(scores), start=1):
        expected = np.count_nonzero(scores.weighed(stage, share, weight).argmax(axis=1) == numbers)
        assert dispute.n_correct(share, weight) == expected


@pytest.mark.data
@pytest.mark.skipif(
    not (Path(os.environ.get("ANYSTREAM_DATA", "/nowhere")) / "covtype.npz").exists(),
    reason="the data sets are missing; set ANYSTREAM_DATA to their folder",
)
def test_the_curve_of_covtype_does_not_fall():
    data = load_dataset("covtype")
    chosen = np.random.default_rng(0).permutation(len(data.y))[:24_000]
    X, y = np.asarray(data.X[chosen], dtype=np.float64), np.asarray(data.y)[chosen]
    model = BayesTreeClassifier().fit(X[:20_000], y[:20_000])
    curve = anytime_curve(model, X[20_000:], y[20_000:], stages=[0, 1, 2, 4, 8, 16, 32, 64, 128, 200])
    assert (np.maximum.accumulate(curve.accuracy) - curve.accuracy).max() < 0.01, curve.accuracy


def test_the_hand_over_is_kept_by_files_and_resumed_queries(tmp_path):
    X, y = load_digits(return_X_y=True)
    X, y = X[:600, 10:30] + 0.0, y[:600]
    model = BayesTreeClassifier(metric=None).fit(X, y)
    assert len(model.recipe_.hand_over) == 8
    assert list(model.recipe_.hand_over) == sorted(model.recipe_.hand_over)
    model.save(tmp_path / "model.safetensors")
    twin = load(tmp_path / "model.safetensors")
    assert twin.recipe_ == model.recipe_
    for steps in (1, 3, 7, 30, 500):
        expected = model.predict_proba(X[:20], budget=steps)
        assert np.array_equal(twin.predict_proba(X[:20], budget=steps), expected)
        for x, proba in zip(X[:20], expected, strict=True):
            early = model.query(x).refine(min(steps, 2))
            assert np.array_equal(twin.query(state=early.state).refine(steps - early.steps).proba, proba)


def test_shares_of_the_trees_are_those_of_the_recipe():
    X, y = load_iris(return_X_y=True)
    forest = plain(root_model=0.3, decision="mixture").fit(X, y).forest_
    shares = [0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0]
    settings = _native.BayesQuerySettings("global_best", "mixture", 0, 0.3, hand_over=shares)
    for x in X[::10]:
        for steps in (0, 1, 3, 4, 6, 10):
            query = forest.query(settings, x)
            query.refine(steps)
            trees, votes, exhausted = np.empty(3), np.empty((1, 3)), np.empty((1, 1), dtype=np.uint8)
            forest.log2_scores_in_stages(settings, x[np.newaxis], np.array([steps]), 1, trees, votes, exhausted)
            share = np.interp(steps, [0, 1, 2, 4, 8, 16, 32, 64, 128], [0.0, *shares])
            share = 1.0 if exhausted[0, 0] and steps else share
            logs = np.log(2) * (share * trees + (1 - share + 0.3 * share) * votes[0])
            np.testing.assert_allclose(query.proba(), np.exp(logs - np.logaddexp.reduce(logs)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("metric", [None, "whiten", "auto"])
def test_batches_before_the_first_step_have_the_probabilities_of_queries(metric):
    X, y = load_iris(return_X_y=True)
    model = BayesTreeClassifier(metric=metric, root_model=1.0, first_look=False).fit(X, y)
    Q = np.tile(X, (2, 1))
    Q[::7, 1] = np.nan
    Q[::11] = np.nan
    Q[3:60:13] = 1e308 * np.sign(Q[3:60:13] - 3)
    queries = [model.query(x) for x in Q]
    expected = np.array([query.proba for query in queries])
    certified = np.array([query.certified for query in queries])
    for budget in (0, Budget(steps=0, seconds=100), Budget(steps=0, stop=StopToken())):
        answer = model.classify(Q, budget=budget)
        assert answer.proba.tobytes() == expected.tobytes()
        assert answer.reached.all()
        assert not answer.steps.any()
        assert np.array_equal(answer.certified, certified)
    assert [model.predict(x[None], budget=0)[0] for x in Q] == answer.labels.tolist()


def test_a_stopped_batch_before_the_first_step_reaches_its_first_records_alone():
    X, y = load_iris(return_X_y=True)
    model = plain(root_model=1.0).fit(X, y)
    stop = StopToken()
    stop.set()
    answer = model.classify(np.tile(X, (4, 1)), budget=Budget(steps=0, stop=stop))
    assert answer.reached[:8].all()
    assert not answer.reached[8:].any()
    assert not answer.certified[8:].any()
