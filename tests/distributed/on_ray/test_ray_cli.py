"""``anystream fit`` and ``anystream classify`` with ``--on``, as programs of their own beside a cluster."""

import json
import os
import subprocess
import sys

import pytest
from streams_of_parts import check_outputs, same_outputs, write_model, write_stream

N_RECORDS = 2_000


def run_program(*arguments, cwd, **environment):
    """Run ``anystream``; return what it wrote to standard error, at whose end the summary is."""
    command = [sys.executable, "-m", "anystream", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    paths = write_stream(folder, 3, N_RECORDS)
    write_model(folder / "model.safetensors")
    classify(folder, "calm", "local")
    return folder, paths


def classify(folder, name, on, **environment):
    """Classify the stream on two workers into the folder `name`; return the summary."""
    arguments = ["classify", "model.safetensors", "part-*.csv", "--workers", "2", "--on", on, "-o", f"{name}/"]
    arguments += ["--dead-letters", f"{name}/dead", "--checkpoint", f"{name}/c", "--json"]
    done = run_program(*arguments, cwd=folder, **environment)
    return json.loads(done.stderr.splitlines()[-1])


def check(stream, name, summary):
    folder, paths = stream
    check_outputs(paths, folder / name, N_RECORDS)
    assert same_outputs(paths, folder / name, folder / "calm")
    assert summary["answered"] == 3 * (N_RECORDS - len(range(5, N_RECORDS, 997)))


def test_classify_on_the_cluster_that_the_environment_names(cluster, stream):
    check(stream, "named", classify(stream[0], "named", "ray", RAY_ADDRESS=cluster.address))


def test_classify_on_a_remote_cluster(cluster, stream):
    check(stream, "remote", classify(stream[0], "remote", cluster.client_address))


def test_fit_on_a_remote_cluster_gives_the_model_of_local_workers(cluster, tmp_path):
    write_stream(tmp_path, 2, 5)  # no line of so few is malformed
    fit = ["fit", "part-*.csv", "--label", "class", "--key", "id", "--workers"]
    run_program(*fit, "1", "-o", "local.safetensors", cwd=tmp_path)
    run_program(*fit, "2", "-o", "remote.safetensors", "--on", cluster.client_address, cwd=tmp_path)
    assert (tmp_path / "remote.safetensors").read_bytes() == (tmp_path / "local.safetensors").read_bytes()
