"""WCEA equals its definition, gives budgets to anytime members, and can be merged."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from anystream import BayesTreeClassifier, Budget, load
from anystream.drift import WCEA, GaussianNaiveBayes
from anystream.drift.ensemble_members import new_member
from anystream.streams import SEA, RandomRBF, Sine
from reference.drift_ensembles import SlowWCEA


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(2, 6), st.sampled_from(["newest", "best"]))
def test_wcea_equals_its_definition(seed, capacity, folds, keep):
    stream = RandomRBF(concepts=(seed, seed + 1, seed), drifts=(90, 180), n_classes=3, seed=seed)
    X, y = stream.take(300)
    model = WCEA(GaussianNaiveBayes(), capacity=capacity, keep=keep, chunk_size=30, folds=folds, train_within=0)
    twin = SlowWCEA(lambda: new_member(GaussianNaiveBayes(), 0), 3, capacity, folds, keep)
    model.partial_fit(X[:270], y[:270], classes=[0, 1, 2])
    for start in range(0, 270, 30):
        twin.learn_chunk(X[start : start + 30], y[start : start + 30].astype(np.int32))
    assert_allclose(model.committee_.weights, twin.weights[::-1], atol=1e-12)
    assert_allclose(model.predict_proba(X[270:]), twin.proba(X[270:]))


def test_the_best_members_may_leave_the_newest_out(tmp_path):
    X, y = SEA(seed=2).take(408)  # the last chunk is too small to learn much from
    printed = WCEA(GaussianNaiveBayes(), capacity=2, keep="best", chunk_size=100, train_within=0).fit(X[:400], y[:400])
    ours = WCEA(GaussianNaiveBayes(), capacity=2, chunk_size=100, train_within=0).fit(X[:400], y[:400])
    old = printed.committee_.members
    for model in (printed, ours):
        model.set_params(chunk_size=8).partial_fit(X[400:], y[400:])
    assert set(printed.committee_.members) == set(old)
    assert not set(ours.committee_.members) <= set(old)
    printed.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert len(WCEA.merge([again, again]).committee_.members) == 2
    assert again._newest_kept is printed._newest_kept is False
    with pytest.raises(ValueError, match="keep is 'worst'"):
        WCEA(keep="worst").fit(X, y)


def test_anytime_members_get_the_budget():
    X, y = SEA(seed=1, noise=0.1).take(600)
    model = WCEA(BayesTreeClassifier(), chunk_size=100, train_within=0).fit(X, y)
    active = model.committee_.active
    assert len(active) > 1
    for steps in (0, 2, 5):
        answer = model.classify(X[:50], budget=steps)
        votes = sum(w * m.classify(X[:50], 2, Budget(steps=steps)).proba for m, w in active)
        assert_allclose(answer.proba, votes / sum(w for _, w in active))
        assert answer.steps.max() <= steps
    timed = model.classify(X[:50], budget=Budget(seconds=10))
    assert timed.certified.all()


def test_a_bayes_tree_follows_a_drift_as_a_member():
    stream = Sine(concepts=("sine1", "sine1_reversed"), drifts=(1000,), seed=3)
    X, y = stream.take(300, start=3000)
    plain = BayesTreeClassifier().fit(*stream.take(1000)).partial_fit(*stream.take(600, start=1000))
    weighted = WCEA(BayesTreeClassifier(), chunk_size=100).fit(*stream.take(1600))
    assert plain.score(X, y) < 0.7
    assert weighted.score(X, y) > 0.9


def test_threads_can_classify_while_one_learns():
    X, y = RandomRBF(n_classes=4, seed=3).take(1200)
    model = WCEA(GaussianNaiveBayes(), chunk_size=20).fit(X[y < 2][:100], y[y < 2][:100])
    failures, done = [], threading.Event()

    def classify():
        while not done.is_set():
            try:
                proba = model.predict_proba(X[:20])
                assert np.allclose(proba.sum(axis=1), 1)
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=classify) for _ in range(2)]
    for thread in threads:
        thread.start()
    model.partial_fit(X, y)
    done.set()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_query_cannot_be_resumed_after_the_model_learned_a_chunk():
    X, y = SEA(seed=1).take(300)
    model = WCEA(BayesTreeClassifier(), chunk_size=100, train_within=0).fit(X[:200], y[:200])
    snapshot = model.snapshot()
    query = model.query(X[0]).refine(2)
    model.partial_fit(X[200:], y[200:])
    with pytest.raises(ValueError, match="had learned 2 chunks, now it has learned 3; resume it with a snapshot"):
        model.query(state=query.state)
    assert np.array_equal(snapshot.query(state=query.state).refine(3).proba, query.refine(3).proba)
    with pytest.raises(TypeError, match="state is a str"):
        model.query(state="nothing")


def test_a_merged_ensemble_is_as_good_as_its_parts():
    X, y = RandomRBF(n_classes=3, seed=5, n_centers=6).take(1200)
    words = np.array(["ant", "bee", "cat"])[y]
    parts = [WCEA(GaussianNaiveBayes(), chunk_size=50).fit(X[:500], words[:500]), WCEA(chunk_size=50)]
    parts[1].partial_fit(X[500:1000][y[500:1000] == 2], words[500:1000][y[500:1000] == 2])  # "cat" comes first
    parts[1].partial_fit(X[500:1000], words[500:1000])
    assert parts[1].classes_.tolist() == ["cat", "ant", "bee"]
    whole = WCEA.merge(parts)
    assert whole.classes_.tolist() == ["ant", "bee", "cat"]
    assert whole.score(X[1000:], words[1000:]) > max(part.score(X[1000:], words[1000:]) for part in parts) - 0.03
    before = whole.n_chunks_
    assert whole.partial_fit(X[:60], words[:60]).n_chunks_ > before
    with pytest.raises(ValueError, match="no model to merge"):
        WCEA.merge([])
    with pytest.raises(ValueError, match="different features"):
        WCEA.merge([parts[0], WCEA().fit(X[:, :3], words)])
