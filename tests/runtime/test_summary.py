import json
import math

import numpy as np
import pytest

from anystream.runtime import RejectedRecord, Summary


def filled():
    summary = Summary(taken=10, answered=8, late=1, on_time=7, steps=80, labelled=6, judged=5, right=4, right_on_time=3)
    summary.add_waits(np.linspace(0.001, 0.1, 8))
    summary.add_rejected([RejectedRecord(f"reason {i}", i, i) for i in range(2)])
    return summary


def test_quantiles_of_the_waiting_time_are_right_to_two_percent():
    summary, rng = Summary(answered=10_000), np.random.default_rng(0)
    waits = rng.lognormal(-5.0, 2.0, 10_000)
    summary.add_waits(waits)
    for q in (0.01, 0.5, 0.99):
        assert summary.wait_quantile(q) == pytest.approx(np.quantile(waits, q), rel=0.03)
    assert math.isnan(Summary().wait_quantile(0.5))


def test_the_first_three_bad_records_and_bad_labels_are_described():
    summary = Summary()
    for i in range(5):
        summary.add_rejected([RejectedRecord("torn", i, i)])
        summary.add_rejected_labels([RejectedRecord("short", i, i)])
    assert (summary.dead_letters, summary.labels_rejected) == (5, 5)
    assert summary.first_bad == ["line 0: torn", "line 1: torn", "line 2: torn"]
    assert summary.first_bad_labels == ["line 0: short", "line 1: short", "line 2: short"]


def test_a_restored_summary_equals_the_saved_one():
    summary, other = filled(), Summary()
    other.restore(json.loads(json.dumps(summary.state())))
    assert other.to_json() == summary.to_json()
    assert other.state() == summary.state()


def test_a_copy_does_not_change_with_the_summary():
    summary = filled()
    copy = summary.copy()
    before = copy.to_json()
    summary.add_rejected([RejectedRecord("torn", 1)])
    summary.add_waits(np.array([1.0]))
    assert copy.to_json() == before


def test_the_figures_have_the_names_that_programs_read():
    assert list(filled().to_json()) == [
        "taken",
        "answered",
        "on_time",
        "late",
        "shed",
        "dead_letters",
        "steps_per_record",
        "certified",
        "first_bad",
        "wait_mean_s",
        "wait_p50_s",
        "wait_p99_s",
        "accuracy",
        "on_time_accuracy",
    ]


def test_the_accounts_of_two_partitions_add_up():
    one, other = Summary(taken=5, answered=4, deadlines_from="taken"), Summary(taken=3, answered=2, first_bad=["x"] * 3)
    one.first_bad, one.dead_letters = ["y"], 1
    one.add_waits(np.full(4, 0.5))
    other.add_waits(np.full(2, 5.0))
    one.add(other)
    assert (one.taken, one.answered, one.waiting, one.deadlines_from) == (8, 6, 1, "taken")
    assert one.first_bad == ["y", "x", "x"]
    assert one.waited_s == 12.0
    assert one.wait_quantile(0.5) < 0.6 < 4.0 < one.wait_quantile(0.99)
