"""The work of a full chunk can be spread over the records that follow, and gives the same members."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.naive_bayes import BernoulliNB

from anystream import load
from anystream.drift import WCEA, SEAEnsemble
from anystream.streams import RandomRBF

ENSEMBLES = {
    "wcea": lambda **changes: WCEA(**({"chunk_size": 20, "capacity": 3, "folds": 3} | changes)),
    "sea": lambda **changes: SEAEnsemble(**({"chunk_size": 20, "capacity": 3} | changes)),
    "sea-quality": lambda **changes: SEAEnsemble.street_kim(**({"chunk_size": 20, "capacity": 3} | changes)),
}
X, y = RandomRBF(concepts=(1, 2), drifts=(100,), n_classes=3, seed=7).take(200)


def learn_each(model, start, stop):
    for i in range(start, stop):
        model.learn_one(dict(enumerate(X[i])), int(y[i]))
    return model


@pytest.mark.parametrize("make", ENSEMBLES.values(), ids=ENSEMBLES)
@pytest.mark.parametrize("train_within", [1, 7, 20])
def test_a_chunk_learned_in_portions_gives_the_members_of_one_learned_at_once(make, train_within):
    spread, at_once = make(train_within=train_within), make(train_within=0)
    for first in range(0, 100, 20):
        learn_each(at_once, first, first + 20)
        expected = at_once.predict_proba(X)
        learn_each(spread, first, first + 20)
        if first == 0:  # its member classifies at once
            assert np.array_equal(spread.predict_proba(X), expected)
        else:
            assert spread.n_chunks_ == first // 20
        following = pickle.loads(pickle.dumps(spread))
        learn_each(following, first + 20, first + 20 + train_within)
        assert following.n_chunks_ == first // 20 + 1
        assert np.array_equal(following.predict_proba(X), expected)


@settings(max_examples=30)
@given(
    name=st.sampled_from(sorted(ENSEMBLES)),
    sizes=st.lists(st.sampled_from([1, 2, 5, 19, 33]), min_size=1, max_size=12),
    train_within=st.sampled_from([None, 0, 1, 7, 20]),
)
def test_any_division_of_the_records_gives_the_same_ensemble(name, sizes, train_within):
    pieces, whole = (ENSEMBLES[name](train_within=train_within) for _ in range(2))
    n_records = min(len(X), sum(sizes))
    bounds = np.minimum(np.cumsum([0, *sizes]), n_records).tolist()
    for start, stop in pairwise(bounds):
        if stop > start:
            pieces.partial_fit(X[start:stop], y[start:stop], classes=range(3))
    whole.partial_fit(X[:n_records], y[:n_records], classes=range(3))
    assert pieces.n_chunks_ == whole.n_chunks_
    assert np.array_equal(pieces.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("make", ENSEMBLES.values(), ids=ENSEMBLES)
@pytest.mark.parametrize("by_file", [False, True], ids=["pickle", "file"])
@pytest.mark.parametrize("stop", [20, 22, 84])
@pytest.mark.parametrize("train_within", [None, 10])
def test_a_model_saved_in_the_middle_of_a_chunk_learns_on_with_the_same_bits(
    make, by_file, stop, train_within, tmp_path
):
    model = learn_each(make(train_within=train_within), 0, stop)
    if by_file:
        model.save(tmp_path / "model.safetensors")
        twin = load(tmp_path / "model.safetensors")
    else:
        twin = pickle.loads(pickle.dumps(model))
    for start in range(stop, 125, 5):
        for each in (model, twin):
            learn_each(each, start, start + 5)
        assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))
    model.save(tmp_path / "a")
    twin.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_fit_learns_all_chunks_at_once():
    model = WCEA(chunk_size=20, train_within=20).fit(X[:40], y[:40])
    assert model.n_chunks_ == 2


def test_merging_learns_the_chunks_in_progress():
    spread = [WCEA(chunk_size=20, train_within=20).partial_fit(X[a : a + 45], y[a : a + 45]) for a in (0, 50)]
    at_once = [WCEA(chunk_size=20, train_within=0).partial_fit(X[a : a + 45], y[a : a + 45]) for a in (0, 50)]
    assert np.array_equal(WCEA.merge(spread).predict_proba(X), WCEA.merge(at_once).predict_proba(X))
    assert [model.n_chunks_ for model in spread] == [1, 1]


class CountingNB(BernoulliNB):
    n_calls = 0

    def fit(self, X, y):
        CountingNB.n_calls += 1
        return super().fit(X, y)

    def predict_proba(self, X):
        CountingNB.n_calls += 1
        return super().predict_proba(X)


@pytest.mark.parametrize("make", ENSEMBLES.values(), ids=ENSEMBLES)
def test_a_call_trains_and_evaluates_no_more_than_its_share(make):
    most = {}
    for train_within in (0, 10, None):
        model, counts = make(estimator=CountingNB(), train_within=train_within), []
        for i in range(len(X)):
            before = CountingNB.n_calls
            learn_each(model, i, i + 1)
            counts.append(CountingNB.n_calls - before)
        most[train_within] = max(counts)
    assert most[None] <= 2  # one fit, or one fit and the evaluation of one fold
    assert most[10] <= 2
    assert most[0] > most[10]


@pytest.mark.parametrize("make", ENSEMBLES.values(), ids=ENSEMBLES)
def test_by_default_each_record_takes_one_step_from_the_one_that_fills_a_chunk(make):
    model, at_once = make(train_within=None), make(train_within=0)
    n_steps = []
    for first in range(0, 200, 20):
        learn_each(at_once, first, first + 20)
        learn_each(model, first, first + 20)
        n_steps.append(1)
        following = pickle.loads(pickle.dumps(model))
        while following.n_chunks_ <= first // 20:
            i = (first + 19 + n_steps[-1]) % 200
            learn_each(following, i, i + 1)
            n_steps[-1] += 1
        assert np.array_equal(following.predict_proba(X), at_once.predict_proba(X))
    if isinstance(model, WCEA):
        assert n_steps == [4] + 9 * [5]  # a member, three folds, the trees before it
    else:
        assert n_steps[0] == 1
        assert n_steps[-1] == 2  # a member; the trees of which one is removed


def test_the_member_of_the_first_chunk_classifies_while_it_is_validated():
    model = learn_each(WCEA(chunk_size=20, train_within=None), 0, 20)
    alone = learn_each(WCEA(chunk_size=20, train_within=0), 0, 20)
    assert (model.n_chunks_, alone.n_chunks_) == (0, 1)
    assert_allclose(model.predict_proba(X), alone.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("make", ENSEMBLES.values(), ids=ENSEMBLES)
@pytest.mark.parametrize("chunk_size", [1, 2, 3])
def test_chunks_of_fewer_records_than_steps_are_learned_before_the_next_is_full(make, chunk_size):
    model, at_once = (make(chunk_size=chunk_size, train_within=within) for within in (None, 0))
    for i in range(40):
        learn_each(model, i, i + 1)
        learn_each(at_once, i, i + 1)
        assert model.n_chunks_ >= at_once.n_chunks_ - 1
    assert np.array_equal(model.fit(X, y).predict_proba(X), at_once.fit(X, y).predict_proba(X))


def test_a_chunk_must_be_learned_before_the_next_is_full():
    with pytest.raises(ValueError, match="train_within is 21; use at most chunk_size, 20"):
        WCEA(chunk_size=20, train_within=21).fit(X, y)
