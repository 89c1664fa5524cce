import json

import pytest

from cli.program import run_program

SIMULATE = ("simulate", "model.safetensors", "--rate", "2000", "--burst", "2x", "--duration", "1s", "--every", "500ms")
CLUSTER = (*SIMULATE, "--burst-time", "100ms", "--detect", "100ms", "--replayed", "50ms")


def test_clusters_are_simulated_with_and_without_the_loss_of_a_worker(home):
    done = run_program(*CLUSTER, "--workers", "1,3", "--data", "test.csv", "--plot", "c.png", "--json", cwd=home)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["n_workers"] for row in found["clusters"]] == [1, 3]
    assert found["faults"]["lost_at_s"] == pytest.approx(0.3)
    assert found["min_workers"] == 1
    for row in found["clusters"]:
        assert row["undisturbed"]["n_records"] == pytest.approx(found["records"], rel=0.1)
        assert row["undisturbed"]["accuracy"] > 0.8
        assert row["with_loss"]["on_time"] < row["undisturbed"]["on_time"]
    assert (home / "c.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_names_the_number_of_workers_that_is_enough(home):
    done = run_program(*CLUSTER, "--workers", "2", "--lost", "0", "--workload", "steps", "--plot", "c.svg", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "for 99% within 50ms: 1 worker is enough" in done.stdout
    assert "recovery" not in done.stdout
    assert (home / "c.svg").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "many"], "--workers is 'many'; write numbers"),
        (["--workers", "0,2"], "--workers is '0,2'; write numbers"),
        (["--workers", "8", "--partitions", "4"], "8 workers share 4 partitions"),
        (["--workers", "2", "--machines", "1"], "with --workers use --worker-speed"),
        (["--workers", "2", "--worker-speed", "0"], "--worker-speed is 0"),
        (["--workers", "2", "--min-on-time", "99"], "--min-on-time is 99"),
        (["--workers", "2", "--rate", "1e12"], "use a lower --rate or --burst"),
        (["--workers", "2", "--lost-at", "10s"], "--lost-at is 10s, after the end"),
        (["--workers", "2", "--skew", "9"], "the skew is 9"),
        (["--workers", "2", "--burst", "0x"], "use rates above 0"),
        (["--workers", "2", "--workload", "tides"], "use spikes or steps"),
    ],
)
def test_invalid_options_of_a_cluster_are_reported_with_their_value(home, options, message):
    done = run_program("simulate", "absent.safetensors", *options, cwd=home)  # checked before the model is read
    assert done.returncode == 2
    assert message in done.stderr
