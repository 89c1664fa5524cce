import json

import pytest

from anystream.cli.simulate_options import SimulateOptions
from anystream.cli.simulate_run import prepare_simulation, run_simulation
from anystream.runtime.simulation import MachineCost
from cli.program import run_program

SIMULATE = ("simulate", "model.safetensors", "--rate", "100", "--burst", "5x", "--duration", "10s", "--machines")


def test_simulate_accounts_for_every_record_on_every_machine(home):
    found = json.loads(run_program(*SIMULATE, "0.5,1", "--data", "test.csv", "--json", cwd=home).stdout)
    assert [row["machine"] for row in found["machines"]] == [0.5, 1.0]
    assert all(row["taken"] == found["records"] for row in found["machines"])
    assert found["machines"][1]["accuracy"] > 0.8
    assert found["cost_s"].keys() == {"call", "record", "first_step", "step"}


def test_simulate_names_the_machine_that_is_enough(home):
    assert "this machine is enough" in run_program(*SIMULATE, "0.5,1", cwd=home).stdout


def test_the_queue_rule_lets_records_wait_for_the_target(home):
    arguments = (*SIMULATE, "1", "--data", "test.csv", "--json")
    shared = json.loads(run_program(*arguments, cwd=home).stdout)["machines"][0]
    waiting = json.loads(run_program(*arguments, "--target-wait", "1us", cwd=home).stdout)["machines"][0]
    assert waiting["accuracy"] > 0.8
    assert waiting["steps_per_record"] < shared["steps_per_record"]  # the deadline of 50 ms allows more
    assert "steps by the queue rule" in run_program(*SIMULATE, "1", "--target-wait", "1us", cwd=home).stdout


def test_simulate_takes_records_without_labels(home):
    (home / "unlabelled.csv").write_text("size,colour\n1.0,red\n2.0,blue\n")
    found = json.loads(run_program(*SIMULATE, "1", "--data", "unlabelled.csv", "--json", cwd=home).stdout)
    assert "accuracy" not in found["machines"][0]


def test_the_queues_are_drawn_into_a_file(home):
    done = run_program(*SIMULATE, "1", "--workload", "steps", "--plot", "queue.png", cwd=home)
    assert done.returncode == 0, done.stderr
    assert (home / "queue.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--burst", "many"], "--burst is 'many'; write a multiple such as 10x"),
        (["--rate", "0"], "use rates above 0"),
        (["--rate", "1e9"], "use a lower --rate"),
        (["--machines", "0,1"], "--machines is '0,1'; write positive factors"),
        (["--workload", "tides"], "--workload is 'tides'; use spikes or steps"),
        (["--overflow", "drop"], "use one of block"),
        (["--queue", "0"], "--queue is 0; use 1 record or more"),
        (["--target-wait", "soon"], "soon"),
    ],
)
def test_invalid_options_are_reported_with_their_value(home, options, message):
    done = run_program("simulate", "absent.safetensors", *options, cwd=home)  # checked before the model is read
    assert done.returncode == 2
    assert message in done.stderr


def test_machines_are_simulated_side_by_side_with_the_same_result(home, monkeypatch):
    monkeypatch.chdir(home)
    monkeypatch.setattr(MachineCost, "measure", lambda *_: MachineCost(1e-4, 1e-6, 1e-6))
    simulation = prepare_simulation(
        SimulateOptions(
            model="model.safetensors", rate=100, duration="2s", every="1s", burst_time="100ms", data="test.csv"
        )
    )
    found = []
    for cores in ({0}, {0, 1, 2}):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: cores)
        result = run_simulation(simulation)
        found.append([(run.speed, run.summary.to_json(), run.times_s, run.queue_lengths) for run in result.runs])
    assert [speed for speed, *_ in found[0]] == [0.25, 0.5, 1, 2, 4]
    assert found[0] == found[1]
