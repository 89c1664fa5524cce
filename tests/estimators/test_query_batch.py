"""Portions of a batch end in time, on a clock that only the work moves."""

import types

import numpy as np
import pytest

from anystream.anytime import blocks, budget
from anystream.anytime.answer import BatchResult
from anystream.anytime.blocks import block_length, classify_in_blocks
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


def hold_up(work, missed):
    """Hold up the second call, which does not reach some records; others reach all."""
    plain = work.classify_records

    def held_up(records, budget):
        result = plain(records, budget)
        reached = np.ones(len(records), bool)
        if len(work.lengths) == 2:
            work.now += 5e-3
            reached[missed] = False
        return result._replace(reached=reached, proba=records / records.max() * [0.25, 0.75])

    work.classify_records = held_up
    return np.repeat(np.arange(1.0, 3001.0), 2).reshape(3000, 2)


def test_a_block_begins_behind_the_last_record_that_was_reached(monkeypatch):
    work = Work(monkeypatch, 1e-5, 1e-6)
    X = hold_up(work, slice(40, None))
    found = classify_in_blocks(work, X, Budget(until=0.03), 100)
    assert work.lengths == [100, 100, 80, *[100] * 27, 80]  # no longer than twice what the last one reached
    assert [len(rows.labels) for rows in found] == [100, 40, 80, *[100] * 27, 80]
    assert all(rows.reached.all() for rows in found)


def test_records_that_were_left_out_have_another_turn(monkeypatch):
    work = Work(monkeypatch, 1e-5, 1e-6)
    X = hold_up(work, slice(40, 60))
    found = classify_in_blocks(work, X, Budget(until=0.03), 100)
    assert work.lengths == [100, 100, 20, *[100] * 28]
    assert all(rows.reached.all() for rows in found)
    np.testing.assert_allclose(found[1].proba[40:60, 1], 0.75 * X[140:160, 1] / 160)
    work.lengths.clear()
    found = classify_in_blocks(work, X, Budget(until=work.now + 9e-3), 100)
    assert work.lengths[:3] == [100] * 3  # too late for another turn, but not for the next blocks
    assert sum(work.lengths) > 2000
    work.lengths.clear()
    found = classify_in_blocks(work, X, Budget(until=work.now + 5e-3), 100)  # no time is left
    assert work.lengths == [100, 100]
    assert np.count_nonzero(found[1].reached) == 80


class TimedWork(Work):
    """Reaches as many records as the budget allows, and eight in any case."""

    def classify_records(self, records, budget):
        self.lengths.append(len(records))
        self.now += self.call_s
        n = min(len(records), max(8, int((budget.until - self.now) / self.record_s)))
        self.now += n * self.record_s
        reached = np.arange(len(records)) < n
        return BatchResult(np.full((len(records), 2), 0.5), np.zeros(len(records), int), reached, reached)


@pytest.mark.parametrize("record_s", [1e-7, 1e-6, 1e-5])
@pytest.mark.parametrize("n_records", [10_000, 1_000_000])
def test_too_little_time_for_all_records_is_not_spent_on_beginning_blocks(monkeypatch, n_records, record_s):
    work = TimedWork(monkeypatch, 4e-5, record_s)
    found = classify_in_blocks(work, np.zeros((n_records, 1)), Budget(until=4e-3), 1000)
    n_reached = sum(np.count_nonzero(rows.reached) for rows in found)
    assert n_reached >= min(n_records, 0.4 * 4e-3 / (record_s + 9e-5 / 1000))  # 9e-5 s for each block beside
    assert work.now < 4e-3 + 1e-4


class EarlyWork(Work):
    """Completes two blocks in half of their shares; others take all but the time to write answers, a hundredth."""

    def classify_records(self, records, budget):
        self.lengths.append(len(records))
        is_complete = len(self.lengths) <= 2
        self.now += (0.5 if is_complete else 0.99) * (budget.until - self.now)
        certified = np.full(len(records), is_complete)
        return BatchResult(np.full((len(records), 2), 0.5), np.ones(len(records), int), certified)


@pytest.mark.parametrize("n_records", [350, 450, 490])
def test_the_last_block_begins_also_if_others_end_shortly_before_their_shares(monkeypatch, n_records):
    work = EarlyWork(monkeypatch, 0.0, 0.0)
    classify_in_blocks(work, np.zeros((n_records, 1)), Budget(until=0.001 * n_records), 100)
    assert sum(work.lengths) == n_records
    assert work.now <= 0.001 * n_records


@pytest.mark.parametrize(("n_jobs", "n_records", "share_s"), [(1, 1024, 2e-4), (2, 2048, 4e-4), (None, 2048, 4e-4)])
def test_blocks_and_their_shares_are_twice_as_long_with_more_than_one_thread(monkeypatch, n_jobs, n_records, share_s):
    monkeypatch.setattr(blocks.os, "cpu_count", lambda: 2)
    work, shares = Work(monkeypatch, 1e-5, 1e-7), []
    plain = work.classify_records

    def note_share(records, limits):
        shares.append(limits.until - work.now)
        return plain(records, limits)

    work.classify_records = note_share
    X = np.zeros((100_000, 64))
    length = block_length(X, n_jobs)
    assert length == n_records
    monkeypatch.setattr(blocks.os, "cpu_count", lambda: 1)
    assert block_length(X, None) == block_length(X, -1) == 1024
    classify_in_blocks(work, X, Budget(until=4e-3), length)  # too little time for all
    assert share_s - 6e-5 < shares[0] <= share_s  # less what validating took


class UnsteadyWork(Work):
    """Takes its share and then 160 us, in one call of eight half as long again."""

    def classify_records(self, records, budget):
        self.lengths.append(len(records))
        self.now = max(self.now, budget.until) + 1.6e-4 * (1.5 if len(self.lengths) % 8 == self.slow else 1.0)
        reached = np.arange(len(records)) < 8
        return BatchResult(np.full((len(records), 2), 0.5), np.zeros(len(records), int), reached, reached)


@pytest.mark.parametrize("slow", range(8))
@pytest.mark.parametrize("until", np.linspace(2e-3, 3e-3, 11))
def test_a_block_that_takes_half_as_long_again_ends_in_time(monkeypatch, slow, until):
    work = UnsteadyWork(monkeypatch, 0.0, 0.0)
    work.slow = slow
    classify_in_blocks(work, np.zeros((10_000, 1)), Budget(until=until), 1000)
    assert work.now <= until + 1e-5
    assert work.now > until - 7e-4
