import sys

import numpy as np
import pytest
from rich.console import Console

from anystream.anytime.curve import AnytimeCurve
from anystream.demo.__main__ import main
from anystream.demo.live import EVERY_S, Moments, panel
from anystream.demo.loads import DEADLINE_S, LOADS, STEPS, Load, bursty_arrivals, run_load
from anystream.demo.tables import curve_table, load_table, verdict
from anystream.runtime import MachineCost, SimulatedClock, Summary
from anystream.runtime.simulation import SimulatedModel
from runtime.models import Threshold

STEP_S = 1e-5
CAPACITY = 1 / (STEPS * STEP_S)


def run(factor, watch=lambda way, load, turn: None, seconds=2.0):
    """A load in simulated time; a machine that does `CAPACITY` records a second at the full budget."""
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
    times = bursty_arrivals(factor * CAPACITY, seconds, np.random.default_rng(0))
    return run_load(OnLastClock(STEPS), X, y, factor, capacity=CAPACITY, times=times, watch=watch, clock=clock)


@pytest.mark.parametrize("factor", LOADS)
def test_every_arrival_is_accounted_for_both_ways(factor):
    load = run(factor)
    for found in (load.anytime, load.fixed):
        assert found.taken == load.arrivals == found.answered + found.shed
        assert found.on_time + found.late == found.answered
    assert load.anytime.shed == 0


def test_a_share_of_the_time_keeps_everyone_in_time_and_a_fixed_budget_does_not():
    loads = [run(factor) for factor in LOADS]
    assert all(load.share(load.anytime.on_time) == 1.0 for load in loads)
    in_time = [load.share(load.fixed.on_time) for load in loads]
    assert in_time[0] > 0.9
    assert in_time == sorted(in_time, reverse=True)
    assert 0.05 < in_time[-1] < 0.2  # a tenth is what the machine can do
    steps = [load.anytime.steps / load.anytime.answered for load in loads]
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] < STEPS / 8


def test_arrivals_are_seeded_and_bursty():
    first, again = (bursty_arrivals(2000, 3.0, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert np.all(np.diff(first) >= 0)
    assert abs(len(first) - 6000) < 5 * np.sqrt(6000)
    per_slot = np.histogram(first, bins=60, range=(0, 3))[0]
    assert per_slot.var() > 5 * per_slot.mean()  # a plain Poisson process has variance = mean


def test_the_live_panel_shows_what_happened_since_the_last_look():
    moments = Moments()
    shown = []

    def watch(way, load, turn):
        if moments.see(way, load, turn):
            shown.append((way, {name: values[-1] for name, values in moments.rows.items()}))

    load = run(2.0, watch)
    ours = [row for way, row in shown if way == "anytime"]
    assert 10 <= len(ours) <= 2.0 / EVERY_S
    assert np.mean([row["arrivals a second"] for row in ours]) == pytest.approx(load.arrivals / 2.0, rel=0.2)
    assert all(row["in time"] == 1.0 and 0.0 < row["waiting time"] < DEADLINE_S for row in ours)
    assert all(row["steps each"] <= STEPS for row in ours)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(panel(moments, ascii_only=True))
    text = captured.get()
    for name in ("load 2, fixed", "arrivals a second", "records that wait", "steps each", "waiting time", "in time"):
        assert name in text
    assert text.isascii() or "─" in text  # curves are plain; the frame is rich's own


def test_a_load_without_answers_has_no_measures():
    nothing = Load(10.0, 3, Summary(), Summary())
    console = Console(width=100)
    with console.capture() as captured:
        console.print(load_table([nothing]))
    assert captured.get().count(" - ") >= 4
    assert "0% do" in verdict(nothing, 200).plain


def test_bars_are_ascii_where_the_terminal_is():
    curve = AnytimeCurve([0, 1], [0.5, 0.75], n_records=4)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(curve_table(curve, ascii_only=True))
    rows = [line for line in captured.get().splitlines() if "#" in line]
    assert [row.count("#") for row in rows] == [44, 22]


# -- the whole, in real time -----------------------------------------------------------------------------------------


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
