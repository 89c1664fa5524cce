"""The demonstration: its streams in simulated time, its tables, and the whole in real time."""

import os
import signal
import sys
import time

import numpy as np
import pytest
from rich.console import Console

from anystream.anytime.curve import AnytimeCurve
from anystream.bayes_tree import BayesTreeClassifier
from anystream.demo import run as demo_run
from anystream.demo import run_demo
from anystream.demo.__main__ import main
from anystream.demo.capacity import Capacity
from anystream.demo.digits import split_digits
from anystream.demo.live import INTERVAL_S, RecentHistory, history_table
from anystream.demo.loads import DEADLINE_S, LOADS, STEPS, Load, draw_bursty_arrivals, run_load
from anystream.demo.standstill import StandstillWatch
from anystream.demo.tables import curve_table, describe_load, load_table
from anystream.runtime import MachineCost, SimulatedClock, Summary
from anystream.runtime.simulation import SimulatedModel
from runtime.models import Threshold

STEP_S = 1e-5
CAPACITY = 1 / (STEPS * STEP_S)


def run(factor, observer=lambda policy, load, turn: None, seconds=2.0):
    """Run a load in simulated time, on a machine that classifies `CAPACITY` records per second at the full budget."""
    clocks = []

    def clock():
        clocks.append(SimulatedClock())
        return clocks[-1]

    class OnLastClock(Threshold):
        def classify(self, X, *, budget):
            return SimulatedModel(Threshold(STEPS), clocks[-1], MachineCost(1e-5, 1e-6, STEP_S)).classify(
                X, budget=budget
            )

    X = np.where(np.arange(50) % 2, 1.0, -1.0)[:, np.newaxis]
    y = (X[:, 0] > 0).astype(int)
    return run_load(
        OnLastClock(STEPS),
        X,
        y,
        factor,
        capacity=CAPACITY,
        arrival_times_s=draw_bursty_arrivals(factor * CAPACITY, seconds, np.random.default_rng(0)),
        observer=observer,
        clock_class=clock,
    )


@pytest.mark.parametrize("factor", LOADS)
def test_every_arrival_is_accounted_for_under_both_policies(factor):
    load = run(factor)
    for summary in (load.anytime, load.fixed):
        assert summary.taken == load.n_records == summary.answered + summary.shed
        assert summary.on_time + summary.late == summary.answered
    assert load.anytime.shed == 0


def test_a_share_of_the_time_answers_every_record_in_time_and_a_fixed_budget_does_not():
    loads = [run(factor) for factor in LOADS]
    assert all(load.share(load.anytime.on_time) == 1.0 for load in loads)
    in_time = [load.share(load.fixed.on_time) for load in loads]
    assert in_time[0] > 0.9
    assert in_time == sorted(in_time, reverse=True)
    assert 0.05 < in_time[-1] < 0.2  # a tenth is what the machine can do
    steps = [load.anytime.steps / load.anytime.answered for load in loads]
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] < STEPS / 8


def test_loads_are_chosen_so_that_bursts_stay_below_the_limit_of_the_machine():
    assert Capacity(1_000.0, 65_000.0).loads() == list(LOADS)
    assert Capacity(1_000.0, 20_000.0).loads() == [0.5, 1.0, 2.0, 3.2]  # bursts of 8,000 a second
    assert Capacity(1_000.0, 1_000.0).loads() == [0.16]


def test_the_capacity_at_budget_0_is_above_that_at_all_steps():
    digits = split_digits(0)
    model = BayesTreeClassifier(root_model=None, budget=STEPS, metric="diagonal", covariance="diagonal")
    model.fit(digits.X_train[:500], digits.y_train[:500])
    capacity = Capacity.measure(model, digits.X_test, digits.y_test, 0.1)
    assert capacity.limit_factor > 1.0


def test_arrivals_are_seeded_and_bursty():
    first, again = (draw_bursty_arrivals(2000, 3.0, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert np.all(np.diff(first) >= 0)
    assert abs(len(first) - 6000) < 5 * np.sqrt(6000)
    per_slot = np.histogram(first, bins=60, range=(0, 3))[0]
    assert per_slot.var() > 5 * per_slot.mean()  # a plain Poisson process has variance = mean


def test_the_live_table_shows_what_happened_in_each_interval():
    history = RecentHistory()
    shown = []

    def observe(policy, load, turn):
        if history.observe(policy, load, turn):
            shown.append((policy, {name: values[-1] for name, values in history.measures.items()}))

    load = run(2.0, observe)
    anytime = [measures for policy, measures in shown if policy == "anytime"]
    assert 10 <= len(anytime) <= 2.0 / INTERVAL_S
    arrivals = np.mean([measures["arrivals per second"] for measures in anytime])
    assert arrivals == pytest.approx(load.n_records / 2.0, rel=0.2)
    assert all(measures["in time"] == 1.0 and 0.0 < measures["waiting time"] < DEADLINE_S for measures in anytime)
    assert all(measures["steps each"] <= STEPS for measures in anytime)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(history_table(history, ascii_only=True))
    text = captured.get()
    for name in ("load 2, fixed", "arrivals per second", "waiting records", "steps each", "waiting time", "in time"):
        assert name in text
    assert text.isascii() or "─" in text  # the curves are ASCII; rich draws the frame


def test_a_load_without_answers_has_no_measures():
    nothing = Load(10.0, 3, Summary(), Summary())
    console = Console(width=100)
    with console.capture() as captured:
        console.print(load_table([nothing]))
    assert captured.get().count(" - ") >= 4
    assert "0% do" in describe_load(nothing, 200).plain


def test_bars_are_ascii_on_a_terminal_that_shows_only_ascii():
    curve = AnytimeCurve([0, 1], [0.5, 0.75], n_records=4)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(curve_table(curve, ascii_only=True))
    rows = [line for line in captured.get().splitlines() if "#" in line]
    assert [row.count("#") for row in rows] == [44, 22]


# -- the whole, in real time -------------------------------------------------------------------------------------------


def test_the_demo_prints_results_and_keeps_messages_apart(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Capacity, "measure", classmethod(lambda cls, *_: cls(full=5_000.0, limit=500_000.0)))
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
    assert main(["--seconds", "0.01"]) == 0
    assert "anystream[report]" in capsys.readouterr().err
    assert main(["--seconds", "0.01", "--no-plot"]) == 0
    assert "matplotlib" not in capsys.readouterr().err
    assert not (tmp_path / "demo.png").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seconds": 0.0}, "seconds is 0; use more than 0 and at most 3600"),
        ({"seconds": float("nan")}, "seconds is nan"),
        ({"seed": -1}, "seed is -1; use a whole number from 0 to 4294967295"),
    ],
)
def test_invalid_options_are_reported_with_their_value(options, message):
    with pytest.raises(ValueError, match=message):
        run_demo(**options)


def test_an_invalid_option_on_the_command_line_ends_with_exit_code_2(capsys):
    assert main(["--seconds", "0"]) == 2
    assert "seconds is 0" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["--seconds", "x"])
    assert "'x'" in capsys.readouterr().err


def test_a_standstill_is_seen_by_the_watch_and_by_nothing_else():
    with StandstillWatch() as watch:
        began = time.monotonic()
        while watch.longest_since(began) == 0.0 and time.monotonic() < began + 20.0:
            time.sleep(0.05)  # until it has started
            os.kill(watch._process.pid, signal.SIGSTOP)  # to it, this is a machine that stands still
            time.sleep(0.2)
            os.kill(watch._process.pid, signal.SIGCONT)
        assert 0.15 < watch.longest_since(began) < 20.0
        assert watch.longest_since(time.monotonic() + 60.0) == 0.0
    assert watch._process.poll() is not None


def test_a_load_during_which_the_machine_stood_still_is_run_again(monkeypatch, capsys):
    stood_still_s = iter([0.12, 0.0, 0.12, 0.12, 0.12, *[0.0] * 20])
    monkeypatch.setattr(StandstillWatch, "longest_since", lambda self, began: next(stood_still_s))
    factors, run_load = [], demo_run.run_load
    monkeypatch.setattr(
        demo_run, "run_load", lambda *args, **options: factors.append(args[3]) or run_load(*args, **options)
    )
    run_demo(seconds=0.05, plot=False)
    first, second = sorted(set(factors))[:2]
    assert factors[:5] == [first, first, second, second, second]
    assert len(factors) == len(set(factors)) + 3
    messages = capsys.readouterr().err
    assert messages.count("the machine stood still for 120 ms") == 4
    assert messages.count("once more") == 3
