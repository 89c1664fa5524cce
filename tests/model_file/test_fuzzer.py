"""The fuzzer of model files finds loaders that trust their file, and nothing in the library."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from anystream.model_file import ModelFileError, read_model

pytestmark = pytest.mark.filterwarnings("ignore:.*cannot be mapped:RuntimeWarning")

FUZZER = Path(__file__).with_name("fuzz.py")


@pytest.fixture
def fuzzer():
    spec = importlib.util.spec_from_file_location("fuzz", FUZZER)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_some_hundred_damaged_files_give_no_finding(fuzzer, tmp_path):
    campaign = fuzzer.Campaign(tmp_path)
    campaign.run(seed=1, executions=600)
    assert campaign.findings == {}
    assert campaign.executions == 600
    assert 200 < campaign.rejected < 550  # otherwise it does not search


def test_half_of_the_damaged_files_have_valid_checksums(fuzzer, tmp_path):
    path = tmp_path / "model.safetensors"
    fuzzer.write_csr(path)
    intact, rng = path.read_bytes(), fuzzer.random.Random(3)
    fuzzer.MUTATORS[:] = [lambda data, rng: data[:-1] + bytes([rng.randrange(256)])]  # the last byte of an array
    valid = 0
    for _ in range(200):
        path.write_bytes(fuzzer.mutate(intact, rng))
        try:
            read_model(path)
            valid += 1
        except ModelFileError:
            pass
    assert 60 < valid < 130


def test_the_fuzzer_finds_a_loader_that_trusts_its_file(fuzzer, tmp_path):
    def trusting(path):
        arrays = read_model(path).arrays
        arrays["mean"][arrays["first"][1:] - 1]

    fuzzer.SEEDS[:], fuzzer.TARGETS[:] = [fuzzer.write_csr], [trusting]
    campaign = fuzzer.Campaign(tmp_path)
    campaign.run(seed=1, executions=300)
    assert any("IndexError" in finding for finding in campaign.findings)
    assert all(path.exists() for path in campaign.findings.values())
    assert campaign.close(seed=1) == 1


def test_the_fuzzer_repeats_itself_by_seed(fuzzer):
    rng, again = fuzzer.random.Random(5), fuzzer.random.Random(5)
    data = b"\x08\0\0\0\0\0\0\0{}      "
    assert [fuzzer.mutate(data, rng) for _ in range(50)] == [fuzzer.mutate(data, again) for _ in range(50)]


def test_the_fuzzer_runs_as_a_script():
    command = [sys.executable, str(FUZZER), "--seconds", "0.5", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert " 0 findings, seed 7" in done.stdout.splitlines()[-1]
