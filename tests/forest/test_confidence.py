"""Work that ends by a clear lead: at most the stated share of labels differs from those of all trees."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import binom
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from anystream import AnytimeForestClassifier, Budget, load
from anystream.forest.confidence import ERROR, _smallest_factor, min_records


def waves(rng, n):
    X = rng.normal(size=(n, 4))
    return X, np.digitize(X[:, 0] + 0.7 * np.sin(3 * X[:, 1]) + 0.4 * rng.normal(size=n), [-0.6, 0.6])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    return waves(rng, 1500), waves(rng, 2500), waves(rng, 10_000)


@pytest.fixture(scope="module", params=["averaged", "boosted", "two classes"])
def calibrated(request, data):
    (X, y), (held, _), _ = data
    if request.param == "averaged":
        forest = RandomForestClassifier(60, random_state=0).fit(X, y)
    else:
        labels = y if request.param == "boosted" else y > 0
        forest = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(X, labels)
    return AnytimeForestClassifier.from_model(forest, confidence=0.98).calibrate_on(held)


def test_the_stated_rate_holds_on_new_records_and_saves_work(calibrated, data):
    records = data[2][0]
    early, whole = calibrated.classify(records), calibrated.classify(records, budget=Budget())
    assert whole.certified.all()
    assert not whole.confident.any()
    assert early.confident.mean() > 0.5
    assert not (early.confident & early.certified).any()
    assert (early.labels != whole.labels).mean() <= 0.02
    assert early.steps.mean() < 0.7 * whole.steps.mean()
    assert_array_equal(early.labels[early.certified], whole.labels[early.certified])


def test_queries_batches_stages_and_states_end_alike(calibrated, data):
    records = data[2][0][:60]
    steps = calibrated.max_steps_
    answer = calibrated.classify(records, budget=steps)
    timed = calibrated.classify(records, budget=Budget(steps=steps, seconds=600))
    staged = list(calibrated.staged_predict_proba(records, stages=[steps // 2, steps]))[-1]
    for i, record in enumerate(records):
        whole = calibrated.query(record).refine(steps)
        query = calibrated.query(record).refine(7)
        resumed = calibrated.query(state=query.state).refine(steps - 7)
        for each in (whole, resumed, pickle.loads(pickle.dumps(resumed))):
            assert (each.steps, each.certified, each.confident) == (
                answer.steps[i],
                answer.certified[i],
                answer.confident[i],
            )
            assert_array_equal(each.proba, answer.proba[i])
        assert_array_equal(staged[i], answer.proba[i])
        assert (timed.steps[i], timed.confident[i]) == (answer.steps[i], answer.confident[i])
        assert whole.refine().certified  # without a limit all trees are read
        assert not whole.confident


def test_files_and_pickles_keep_the_stop(calibrated, data, tmp_path):
    records = data[2][0][:200]
    answer = calibrated.classify(records)
    calibrated.save(tmp_path / "model.safetensors")
    for twin in (load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(calibrated))):
        assert twin.confidence == 0.98
        again = twin.classify(records)
        assert_array_equal(again.confident, answer.confident)
        assert_array_equal(again.steps, answer.steps)


def test_fit_keeps_records_from_the_training_to_calibrate(data):
    X, y = data[1]
    model = AnytimeForestClassifier(base="random_forest", n_estimators=40, confidence=0.97).fit(X, y)
    assert model.ensemble_.cover[0] == 2000  # a fifth was kept back
    records = data[2][0]
    early, whole = model.classify(records), model.classify(records, budget=Budget())
    assert early.confident.mean() > 0.5
    assert (early.labels != whole.labels).mean() <= 0.03


def test_order_on_orders_and_calibrates_on_different_records(data):
    (X, y), held, (records, _) = data
    forest = RandomForestClassifier(40, random_state=0).fit(X, y)
    model = AnytimeForestClassifier.from_model(forest, order="gain", confidence=0.98).order_on(*held)
    early, whole = model.classify(records), model.classify(records, budget=Budget())
    assert early.confident.any()
    assert (early.labels != whole.labels).mean() <= 0.02


def test_too_few_records_and_other_orders_are_refused_before_anything_changes(calibrated, data):
    before = calibrated.stop_margin_.copy()
    assert min_records(0.98) == 149
    with pytest.raises(ValueError, match=r"confidence=0.98 needs 149 records .*, there are 100"):
        calibrated.calibrate_on(data[1][0][:100])
    assert_array_equal(calibrated.stop_margin_, before)
    with pytest.raises(ValueError, match="confidence needs an order that reads whole trees"):
        AnytimeForestClassifier(order="squirrel", confidence=0.9).fit(*data[0])
    with pytest.raises(ValueError, match="use a share of answers from 0"):
        AnytimeForestClassifier(confidence=1.0).fit(*data[0])
    with pytest.raises(ValueError, match="confidence is None"):
        AnytimeForestClassifier(n_estimators=2).fit(*data[0]).calibrate_on(data[1][0])


def walk_leads(rng, n_records, n_trees):
    """Leads and leading classes of two classes whose votes are random walks with a drift of their own."""
    votes = rng.normal(0.5 * rng.normal(size=(n_records, 1)), 1.0, (n_records, n_trees))
    sums = np.hstack([np.zeros((n_records, 1)), votes.cumsum(axis=1)])
    return np.abs(sums), (sums > 0).astype(np.int32)


def count_wrong(ratio, first, factor):
    """Of the records that end at the first lead above the factor, those whose class is not the last one."""
    wrong = 0
    for row, classes in zip(ratio, first, strict=True):
        above = [n for n, value in enumerate(row[:-1]) if value > factor]
        wrong += classes[above[0] if above else -1] != classes[-1]
    return int(wrong)


@given(st.integers(0, 2**32 - 1), st.integers(60, 300), st.integers(2, 12), st.sampled_from([0.7, 0.9, 0.95]))
def test_the_factor_is_the_smallest_before_the_first_that_the_records_do_not_allow(seed, n, n_trees, confidence):
    lead, first = walk_leads(np.random.default_rng(seed), n, n_trees)
    ratio = np.maximum.accumulate(lead, axis=1)
    found = _smallest_factor(ratio[:, :-1], first, confidence)

    def allows(factor):  # so few wrong ones are unlikely if the rate is higher
        return binom.cdf(count_wrong(ratio, first, factor), n, 1 - confidence) < ERROR

    steps = found * 2 ** (np.arange(16 * 8) / 16)
    assert all(allows(factor) for factor in steps)
    every_lead_suffices = found < ratio[ratio > 0].min()
    assert every_lead_suffices or not allows(found / 2 ** (1 / 16))


def test_the_rate_is_missed_in_at_most_one_of_twenty_choices_of_records():
    rng = np.random.default_rng(0)
    lead, first = walk_leads(rng, 40_000, 30)
    ratio = np.maximum.accumulate(lead / np.sqrt(np.arange(31) * (1 - np.arange(31) / 31) + 1e-9), axis=1)[:, :-1]
    missed = 0
    for _ in range(200):
        rows = rng.permutation(len(ratio))[:800]
        n_read = (ratio <= _smallest_factor(ratio[rows], first[rows], 0.95)).sum(axis=1)
        missed += (first[np.arange(len(first)), n_read] != first[:, -1]).mean() > 0.05
    assert missed <= binom.ppf(0.999, 200, ERROR)
