import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from rich.console import Console

from anystream.anytime.answer import Answer
from anystream.anytime.budget import Budget
from anystream.anytime.curve import AnytimeCurve
from anystream.demo.__main__ import LOADS, main, replay_loads
from anystream.demo.replay import DeadlineShare, FixedSteps, Outcome, Stream, bursty_stream, replay
from anystream.demo.tables import curve_table

DEADLINE_S = 0.1
STEP_S = 1e-5


class Time:
    """A clock that only work and sleep move."""

    def __init__(self):
        self.now = 100.0

    def clock(self):
        return self.now

    def sleep(self, seconds):
        assert seconds >= 0
        self.now += seconds + 1e-9  # no clock is exact


class Worker:
    """Takes `STEP_S` for a step of one record, and is right from 5 steps on."""

    def __init__(self, time):
        self.time = time
        self.batches = []

    def classify(self, X, *, budget):
        steps = budget.steps
        if budget.seconds is not None:
            steps = min(steps, int(budget.seconds / STEP_S / len(X)))
        self.time.now += steps * STEP_S * len(X)
        self.batches.append(len(X))
        labels = np.where(np.full(len(X), steps >= 5), X[:, 0], -1.0)
        return Answer(labels, np.ones((len(X), 1)), np.full(len(X), steps), np.zeros(len(X), bool), 0.0)


def fixed_200():
    return FixedSteps(200, batch_size=5, seconds_per_record=200 * STEP_S)


def run(policy, load, *, seconds=2.0, queue_size=10_000, seed=0):
    X = np.arange(50.0)[:, np.newaxis]
    rate = load / (200 * STEP_S)
    stream = bursty_stream(X, X[:, 0], rate=rate, seconds=seconds, rng=np.random.default_rng(seed))
    time = Time()
    worker = Worker(time)
    outcome = replay(
        worker, stream, policy, deadline_s=DEADLINE_S, queue_size=queue_size, clock=time.clock, sleep=time.sleep
    )
    return stream, outcome, worker


@pytest.mark.parametrize("load", [0.3, 1, 3, 10, 100])
@pytest.mark.parametrize("policy", [DeadlineShare(200), fixed_200()], ids=["anytime", "fixed"])
def test_every_arrival_is_accounted_for(policy, load):
    stream, outcome, worker = run(policy, load)
    assert outcome.arrivals == len(stream) > 0
    assert outcome.in_time + outcome.late == outcome.arrivals
    assert sum(worker.batches) == outcome.answered <= outcome.arrivals
    assert outcome.right_in_time <= outcome.in_time
    assert np.all(outcome.wait_s > 0)
    assert not outcome.right[np.isinf(outcome.wait_s)].any()


@pytest.mark.parametrize("load", [0.3, 1, 3, 10])
def test_shares_of_the_deadline_keep_everyone_in_time(load):
    _, outcome, _ = run(DeadlineShare(200), load)
    assert outcome.in_time == outcome.arrivals
    assert outcome.wait_s.max() <= DEADLINE_S * 3 / 4 + 1e-9


def test_shares_shrink_with_the_load_and_end_at_the_most_steps():
    steps = [run(DeadlineShare(200), load)[1].mean_steps for load in (0.01, 1, 3, 10)]
    assert steps[0] == 200
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] < 40


def test_fixed_steps_leave_the_excess_unanswered_but_waste_nothing_on_it():
    _, outcome, _ = run(fixed_200(), load=4)
    assert outcome.answered == outcome.in_time
    assert 0.15 < outcome.in_time / outcome.arrivals < 0.3
    assert outcome.mean_steps == 200


def test_a_full_queue_turns_records_away():
    stream = Stream(np.linspace(0.0, 1e-6, 20), np.zeros(20, dtype=np.int64), np.zeros((1, 1)), np.zeros(1))
    time = Time()
    time.now = 0.0
    clock = iter([0.0, 1.0, *[1.0] * 10])  # all have arrived at the first look, in time
    outcome = replay(
        Worker(time), stream, fixed_200(), deadline_s=5.0, queue_size=7, clock=lambda: next(clock), sleep=time.sleep
    )
    assert_array_equal(np.isfinite(outcome.wait_s), [True] * 7 + [False] * 13)
    assert (outcome.in_time, outcome.late) == (7, 13)


def test_policies_give_up_what_is_late():
    left_s = np.array([-0.01, 0.0, 0.02, 0.1])
    assert DeadlineShare(200)(left_s) == (2, 2, Budget(steps=200, seconds=0.01))
    assert DeadlineShare(200)(left_s[:2])[:2] == (2, 0)
    assert FixedSteps(200, batch_size=1, seconds_per_record=0.005)(left_s) == (2, 1, Budget(steps=200))
    assert FixedSteps(200, batch_size=3, seconds_per_record=0.005)(left_s) == (3, 1, Budget(steps=200))
    assert FixedSteps(200, batch_size=9, seconds_per_record=1.0)(left_s)[:2] == (4, 0)


def test_streams_are_seeded_bursty_and_bring_every_record():
    X, y = np.arange(30.0)[:, np.newaxis], np.arange(30)
    first, again = (bursty_stream(X, y, rate=2000, seconds=3.0, rng=np.random.default_rng(5)) for _ in range(2))
    assert_array_equal(first.arrival_s, again.arrival_s)
    assert_array_equal(first.record, again.record)
    assert np.all(np.diff(first.arrival_s) >= 0)
    assert 0 <= first.arrival_s[0] <= first.arrival_s[-1] <= 3.0
    assert abs(len(first) - 6000) < 5 * np.sqrt(6000)
    assert np.ptp(np.bincount(first.record, minlength=30)) <= 1
    per_slot = np.histogram(first.arrival_s, bins=60, range=(0, 3))[0]
    assert per_slot.var() > 5 * per_slot.mean()  # a plain Poisson process has variance = mean


def test_an_outcome_without_answers_has_no_measures():
    nothing = Outcome(0.1, np.full(3, np.inf), np.zeros(3, int), np.zeros(3, bool))
    assert (nothing.in_time, nothing.late, nothing.answered) == (0, 3, 0)
    assert np.isnan([nothing.mean_steps, nothing.accuracy, nothing.wait_quantile(0.5)]).all()


def test_bars_are_ascii_where_the_terminal_is():
    curve = AnytimeCurve([0, 1], [0.5, 0.75], n_records=4)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(curve_table(curve, ascii_only=True))
    rows = [line for line in captured.get().splitlines() if "#" in line]
    assert [row.count("#") for row in rows] == [44, 22]


# -- the whole, in real time -----------------------------------------------------------------------------------------


def test_all_loads_are_replayed_both_ways_on_the_same_arrivals():
    from sklearn.datasets import load_digits

    from anystream.bayes_tree.classifier import BayesTreeClassifier

    X, y = load_digits(return_X_y=True)
    model = BayesTreeClassifier(n_jobs=1).fit(X[::2], y[::2])
    notes = []
    loads = replay_loads(
        model, X[1::2], y[1::2], 2000.0, seconds=0.05, seed=3, show=lambda loads, note: notes.append((len(loads), note))
    )
    assert [load.factor for load in loads] == list(LOADS)
    assert [count for count, _ in notes] == [0, 1, 2, 3, 4, 5]
    assert [note is None for _, note in notes] == [False] * 5 + [True]
    for load in loads:
        assert load.anytime.arrivals == load.fixed.arrivals > 0
        for outcome in (load.anytime, load.fixed):
            assert outcome.in_time + outcome.late == outcome.arrivals


def test_the_demo_prints_results_and_keeps_messages_apart(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["--seconds", "0.03", "--seed", "1"]) == 0
    out, err = capsys.readouterr()
    assert "\x1b[" not in out
    blocks = [line.split() for line in out.splitlines() if " anytime " in line and "%" in line]
    assert [row[0] for row in blocks[: len(LOADS)]] == [f"{load:g}" for load in LOADS]
    assert sum(line.split()[:1] == ["fixed"] for line in out.splitlines()) == len(LOADS)
    assert "avg " in out
    assert "At 10 times the load" in out
    assert str(tmp_path / "demo.png") in out
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "load 0.5" in err
    assert "done in" in err
    assert "done in" not in out


def test_without_matplotlib_or_with_no_plot_there_is_no_picture(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "anystream.demo.picture", raising=False)
    assert main(["--seconds", "0.01"]) == 0
    assert "anystream[report]" in capsys.readouterr().err
    assert main(["--seconds", "0.01", "--no-plot"]) == 0
    assert "matplotlib" not in capsys.readouterr().err
    assert not (tmp_path / "demo.png").exists()


@pytest.mark.parametrize("wrong", [["--seconds", "0"], ["--seconds", "nan"], ["--seconds", "x"], ["--seed", "-1"]])
def test_wrong_options_are_named(wrong, capsys):
    with pytest.raises(SystemExit):
        main(wrong)
    assert repr(wrong[1]) in capsys.readouterr().err
