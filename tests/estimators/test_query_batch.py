"""Portions of a batch end in time, on a clock that only the work moves."""

import types

import numpy as np
import pytest

from anystream.anytime import blocks, budget
from anystream.anytime.answer import BatchResult
from anystream.anytime.blocks import classify_in_blocks
from anystream.anytime.budget import Budget
from anystream.estimators import query_batch
from anystream.estimators.query_batch import classify_in_portions


class Work:
    """Takes a time for each call and for each record."""

    classes_ = np.arange(2)

    def __init__(self, monkeypatch, call_s, record_s):
        self.now, self.call_s, self.record_s, self.lengths = 0.0, call_s, record_s, []
        clock = types.SimpleNamespace(monotonic=lambda: self.now)
        for module in (blocks, budget, query_batch):
            monkeypatch.setattr(module, "time", clock)

    def classify_records(self, records, _):
        self.lengths.append(len(records))
        self.now += self.call_s + len(records) * self.record_s
        return BatchResult(np.full((len(records), 2), 0.5), np.zeros(len(records), int), np.ones(len(records), bool))

    def validate_records(self, records):
        self.now += 5e-5
        return records


@pytest.mark.parametrize("record_s", [0.0, 1e-6, 2e-5])
@pytest.mark.parametrize("call_s", [0.0, 1e-5, 2e-4])
def test_portions_end_about_a_portion_after_the_deadline_at_most(monkeypatch, call_s, record_s):
    work = Work(monkeypatch, call_s, record_s)
    result = classify_in_portions(np.zeros((100_000, 1)), Budget(until=0.01), work.classify_records)
    n_reached = np.count_nonzero(result.reached)
    assert n_reached == sum(work.lengths)
    assert result.reached[:n_reached].all()
    assert work.now < 0.01 + 1.5e-4
    assert n_reached == 100_000 or work.now > 0.01 - 6e-4


def test_portions_grow_if_a_call_costs_more_than_its_records(monkeypatch):
    work = Work(monkeypatch, 2e-4, 1e-7)
    assert classify_in_portions(np.zeros((1000, 1)), Budget(until=0.01), work.classify_records).reached.all()
    assert work.lengths[:5] == [8, 16, 32, 64, 128]


@pytest.mark.parametrize("record_s", [0.0, 1e-7, 1e-6])
def test_no_block_begins_that_would_end_after_the_deadline(monkeypatch, record_s):
    work = Work(monkeypatch, 2e-5, record_s)
    found = classify_in_blocks(work, np.zeros((1_000_000, 1)), Budget(until=0.02), 100)
    assert len(found) == len(work.lengths)
    assert 0.02 - 4e-4 < work.now <= 0.02 + 1e-6


def test_a_block_is_not_classified_if_validating_it_took_the_rest_of_the_time(monkeypatch):
    work = Work(monkeypatch, 1e-5, 0.0)
    found = classify_in_blocks(work, np.zeros((300, 1)), Budget(until=9e-5), 100)
    assert len(found) == 1


def test_records_that_a_block_did_not_reach_have_another_turn(monkeypatch):
    work = Work(monkeypatch, 1e-5, 1e-6)
    plain = work.classify_records

    def held_up(records, budget):
        result = plain(records, budget)
        reached = np.ones(len(records), bool)
        if len(work.lengths) == 2:
            work.now += 5e-3
            reached[40:] = False
        return result._replace(reached=reached, proba=records / records.max() * [0.25, 0.75])

    work.classify_records = held_up
    X = np.repeat(np.arange(1.0, 3001.0), 2).reshape(3000, 2)
    found = classify_in_blocks(work, X, Budget(until=0.03), 100)
    assert work.lengths == [100, 100, 60, *[100] * 28]
    assert all(rows.reached.all() for rows in found)
    np.testing.assert_allclose(found[1].proba[:, 1], 0.75 * X[100:200, 1] / 200)
    work.lengths.clear()
    found = classify_in_blocks(work, X, Budget(until=work.now + 9e-3), 100)
    assert work.lengths[:3] == [100] * 3  # too late for another turn, but not for the next blocks
    assert sum(work.lengths) > 2000
    work.lengths.clear()
    found = classify_in_blocks(work, X, Budget(until=work.now + 5e-3), 100)  # no time is left
    assert work.lengths == [100, 100]
    assert np.count_nonzero(found[1].reached) == 40
