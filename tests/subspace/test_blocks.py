"""The published LOCUST equals a plain implementation of the paper."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from anystream import Budget
from anystream.subspace import BlockLocustClassifier, LocustClassifier
from reference.locust import Block, Generator, record_seed


def points(seed, n, d, classes, missing=0.0):
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    X = random.normal(size=(n, d)) + 0.7 * y[:, None] * random.normal(size=d)
    X[:, 0] = np.round(X[:, 0])
    X[random.random(X.shape) < missing] = np.nan
    return X.astype(np.float32).astype(np.float64), y


def counts_of(model, x, samples):
    """Return the votes of each class after a number of samples, when failed samples vote like the others."""
    return np.rint(model.query(x).refine(samples).proba * samples).astype(int)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(4, 120),
    d=st.integers(1, 5),
    classes=st.integers(2, 4),
    bias=st.sampled_from(["unbiased", "sqrt", "proportional", "adaptive", 4.0]),
    rule=st.sampled_from(["count", "lift"]),
    t=st.sampled_from([1.0, 3.0, 10.0]),
    missing=st.sampled_from([0.0, 0.2]),
)
def test_samples_equal_those_of_the_reference(seed, n, d, classes, bias, rule, t, missing):
    X, y = points(seed, n, d, classes, missing)
    model = BlockLocustClassifier(
        block_size=n,
        bias=bias,
        dominant=rule,
        significance=t,
        failed="vote",
        build_within=0,
        max_samples=1000,
        random_state=seed,
    ).partial_fit(X, y, classes=range(classes))
    block = Block(X, y, classes)
    for x in X[:3]:
        expected = np.zeros(classes)
        samples = 55 if bias == "adaptive" else 12
        for s in range(samples):
            powers = {"unbiased": 0.0, "sqrt": 0.5, "proportional": 1.0}
            adaptive = 1.0 if s + 1 < 3 else 0.5 if s + 1 <= 50 else 0.0
            power = adaptive if bias == "adaptive" else powers.get(bias, bias)
            c, _, _ = block.sample(x, Generator(record_seed(seed, x), s), power, t, rule=rule)
            expected[c] += 1
        query = model.query(x)
        if not query.exhausted:  # more than one class
            assert (counts_of(model, x, samples) == expected).all()


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(4, 60),
    d=st.integers(1, 5),
    classes=st.integers(2, 4),
    samples=st.sampled_from([1, 2, 3, 12, 50, 51]),
)
def test_the_printed_samples_equal_those_of_the_reference(seed, n, d, classes, samples):
    X, y = points(seed, n, d, classes)
    paper = LocustClassifier.paper(block_size=n, max_samples=1000, random_state=seed).partial_fit(
        X, y, classes=range(classes)
    )
    block = Block(X, y, classes)
    power = 1.0 if samples < 3 else 0.0 if samples > 50 else 0.5
    for x in X[:3] + 0.3:
        x = x.astype(np.float32).astype(np.float64)
        votes, by_query = np.zeros(classes), paper.set_params(budget=samples).query(x)
        for s in range(samples):
            c, _, _ = block.sample(x, Generator(record_seed(seed, x), s), power, empty="end")
            votes[[] if c is None else [c]] += 1
        if by_query.exhausted:  # one class
            continue
        expected = votes / votes.sum() if votes.any() else block.prior
        for proba in (
            paper.predict_proba(x[None], budget=samples)[0],
            by_query.refine(samples).proba,
            next(iter(paper.staged_predict_proba(x[None], stages=[samples])))[0],
            list(paper.predict_proba_one(dict(enumerate(x))).values()),
        ):
            assert np.allclose(proba, expected)


def test_a_sample_that_ends_without_a_point_has_no_vote():
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(6), 4, axis=0)  # no two features are 1 at once
    y = rng.integers(0, 2, len(X))
    printed, skipping = (
        BlockLocustClassifier(block_size=24, n_ranges=2, min_points=0, failed="vote", empty=empty).fit(X, y)
        for empty in ("end", "skip")
    )
    x = np.ones((1, 6))
    assert np.allclose(printed.predict_proba(x)[0], np.bincount(y) / len(y))  # no vote at all: the shares of the block
    assert not np.allclose(skipping.predict_proba(x)[0], np.bincount(y) / len(y))


def test_the_queue_rule_passes_the_number_of_samples_on_to_the_bias():
    X, y = points(3, 400, 6, 3)
    model = LocustClassifier.paper(block_size=400).fit(X, y)
    for steps, bias in ((2, "proportional"), (20, "sqrt"), (80, "unbiased")):
        fixed = LocustClassifier.paper(block_size=400, bias=bias).fit(X, y)
        assert np.array_equal(model.predict_proba(X, budget=steps), fixed.predict_proba(X, budget=steps))
    unlimited = LocustClassifier.paper(block_size=400, bias="unbiased").fit(X, y)
    assert np.array_equal(
        model.predict_proba(X, budget=Budget(seconds=60)), unlimited.predict_proba(X, budget=Budget(seconds=60))
    )


@pytest.mark.parametrize("bias", ["unbiased", "sqrt", "proportional"])
def test_votes_follow_the_exact_probabilities_over_all_orders_of_dimensions(bias):
    X, y = points(5, 400, 4, 3)
    samples = 4000
    raw = {"calibrate": False, "max_samples": 10 * samples}
    model = BlockLocustClassifier(block_size=400, n_ranges=4, bias=bias, failed="vote", **raw).fit(X, y)
    block = Block(X, y, 3, n_ranges=4)
    power = {"unbiased": 0.0, "sqrt": 0.5, "proportional": 1.0}[bias]
    compared = 0
    for x in X[:6]:
        exact = np.zeros(3)
        for (c, _), probability in block.exact_votes(x, power).items():
            exact[c] += probability
        votes = counts_of(model, x, samples)
        assert (votes[exact == 0] == 0).all()
        possible = exact > 0
        if possible.sum() > 1:
            compared += 1
            assert chisquare(votes[possible], exact[possible] * samples).pvalue > 1e-3
    assert compared > 0


def test_blocks_are_evicted_with_the_probability_of_equation_10():
    """At lambda = 0.2 about 1 / (1 - 2^-0.2) = 7.7 blocks are kept in the long run."""
    X = np.zeros((16, 1))
    X[1] = 1
    y = np.arange(16) % 2
    kept = []
    for seed in range(12):
        model = BlockLocustClassifier(block_size=16, decay=0.2, max_blocks=100, random_state=seed)
        for _ in range(40):
            model.partial_fit(X, y)
        kept.append(len(model.model_.block_sizes))
    assert np.mean(kept) == pytest.approx(1 / (1 - 2**-0.2), abs=1.0)
    bounded = BlockLocustClassifier(block_size=16, decay=0.0, max_blocks=4)
    for _ in range(10):
        bounded.partial_fit(X, y)
    assert len(bounded.model_.block_sizes) == 4


def test_samples_cycle_through_the_blocks_from_the_newest():
    X = np.arange(8.0)[:, None]
    model = BlockLocustClassifier(block_size=8, decay=0.0, failed="vote", max_samples=1000)
    model.partial_fit(X, ["old"] * 8, classes=["old", "new"])
    model.partial_fit(X, ["new"] * 8)
    query = model.query([3.0])
    assert query.refine(1).label == "new"
    assert query.refine(1).proba.tolist() == [0.5, 0.5]


def test_the_open_block_is_sampled_from_a_sixteenth_of_its_size_on():
    X, y = points(0, 400, 2, 2)
    model = BlockLocustClassifier(block_size=160, decay=0.0, build_within=0)
    model.partial_fit(X[:160], y[:160])
    assert model.model_.block_sizes == [160]
    model.partial_fit(X[160:169], y[160:169])
    assert model.model_.block_sizes == [160]
    model.partial_fit(X[169:170], y[169:170])
    assert model.model_.block_sizes == [160, 10]
    model.partial_fit(X[170:200], y[170:200])
    assert model.model_.block_sizes == [160, 40]


def test_failed_samples_decide_only_if_none_succeeded():
    X, y = points(1, 300, 3, 2)
    never = {"block_size": 300, "significance": 1e5, "calibrate": False}
    fallback = BlockLocustClassifier(**never).fit(X, y)
    vote = BlockLocustClassifier(**never, failed="vote").fit(X, y)
    silent = BlockLocustClassifier(**never, failed="silent").fit(X, y)
    assert np.array_equal(fallback.predict_proba(X), vote.predict_proba(X))
    assert np.allclose(silent.predict_proba(X), np.bincount(y) / len(y))


def test_paper_has_the_published_parameters():
    model = LocustClassifier.paper(block_size=500)
    assert isinstance(model, BlockLocustClassifier)
    assert (model.n_ranges, model.significance, model.decay, model.votes) == (10, 3.0, 0.2, "plain")
    assert (model.bias, model.failed, model.empty) == ("planned", "vote", "end")
