"""SEA: Street and Kim's quality, the candidate, and the delay of the vote after a change."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy import array, float64, int32
from numpy.testing import assert_allclose

from anystream.drift import SEAEnsemble
from anystream.drift.sea import quality
from anystream.streams import SEA, Sine
from reference import drift_ensembles as reference


@given(st.data(), st.integers(1, 12), st.integers(2, 4))
def test_quality_is_as_street_and_kim_define_it(data, n, k):
    votes = data.draw(hnp.arrays(float64, (n, k), elements=st.integers(0, 5).map(float)))
    votes[:, 0] += 1
    shares = votes / votes.sum(axis=1, keepdims=True)
    predicted, truth = (data.draw(hnp.arrays(int32, n, elements=st.integers(0, k - 1))) for _ in range(2))
    assert_allclose(quality(shares, predicted, truth), reference.quality(shares, predicted, truth), atol=1e-12)


def test_the_vote_follows_a_new_concept_after_half_the_members():
    stream = Sine(concepts=("sine1", "sine1_reversed"), drifts=(1000,), seed=1)
    model = SEAEnsemble(capacity=5, chunk_size=100, train_within=0).fit(*stream.take(1000))
    X, y = stream.take(300, start=5000)
    scores = [model.partial_fit(*stream.take(100, start=1000 + 100 * chunk)).score(X, y) for chunk in range(4)]
    assert max(scores[:2]) < 0.5 < min(scores[2:])


def test_the_candidate_of_street_and_kim_waits_for_one_chunk():
    X, y = SEA(seed=1).take(300)
    model = SEAEnsemble.street_kim(chunk_size=100).partial_fit(X[:100], y[:100])
    first = model.candidate_
    assert model.members_ == ()
    model.partial_fit(X[100:200], y[100:200])
    assert model.members_ == (first,)
    assert model.candidate_ is not first


def test_a_full_ensemble_replaces_the_member_of_lowest_quality():
    stream = SEA(concepts=(7, 9.5, 5), drifts=(600, 1200), noise=0.2, seed=4)
    model, replaced, kept = SEAEnsemble.street_kim(capacity=4, chunk_size=60), 0, 0  # quarters: sums are exact
    assert SEAEnsemble.street_kim().capacity == 25
    for X, y in islice(stream.batches(60), 30):
        before = [*getattr(model, "members_", ()), getattr(model, "candidate_", None)]
        model.partial_fit(X, y, classes=[0, 1])
        if len(before) < 5:
            continue
        predicted = array([member.predict(X, 2) for member in before])
        shares = array([(predicted[:-1] == c).mean(axis=0) for c in (0, 1)]).T
        *qualities, candidate = [reference.quality(shares, each, y) for each in predicted]
        worst = qualities.index(min(qualities))
        better = candidate > min(qualities)
        expected = [*before[:worst], *before[worst + 1 :]] if better else before[:-1]
        assert list(model.members_) == expected
        replaced, kept = replaced + better, kept + (not better)
    assert min(replaced, kept) > 0


def test_a_chunk_size_that_shrinks_below_the_pending_records_closes_the_chunk():
    X, y = SEA(seed=1).take(200)
    model = SEAEnsemble(chunk_size=100).partial_fit(X[:180], y[:180])
    model.set_params(chunk_size=30).partial_fit(X[180:], y[180:])
    assert model.n_chunks_ == 2
