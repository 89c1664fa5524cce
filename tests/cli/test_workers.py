"""``--workers`` of fit and classify."""

import json
import shutil

import pytest

from cli.program import run_program, write_table

pytestmark = pytest.mark.slow

TWO = ["classify", "model.safetensors", "test.csv", "--workers", "2"]


@pytest.fixture
def parts(home):
    """A folder with three tables."""
    (home / "parts").mkdir()
    for number in range(3):
        write_table(home / "parts" / f"{number}.csv", 150, seed=number)
    return home


def test_files_are_fitted_and_classified_by_workers_as_by_one_process(parts):
    done = run_program(
        *[
            "fit",
            "parts/*.csv",
            "--label",
            "class",
            "--key",
            "id",
            "--workers",
            "1",
            "-o",
            "parts.safetensors",
            "--json",
        ],
        cwd=parts,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"] == 450
    done = run_program(
        *["classify", "parts.safetensors", "parts/*.csv", "--workers", "1", "-o", "answers.csv", "--json"], cwd=parts
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr)["answered"] == 450
    expected = []
    for number in range(3):
        single = run_program("classify", "parts.safetensors", f"parts/{number}.csv", "-o", "one.csv", cwd=parts)
        assert single.returncode == 0, single.stderr
        expected += (parts / "one.csv").read_text().splitlines()[number > 0 :]
    assert (parts / "answers.csv").read_text().splitlines() == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["classify", "model.safetensors", "--workers", "2", "-o", "a.jsonl"], "not standard input"),
        (["classify", "model.safetensors", "test.csv", "--workers", "2"], "name one with -o answers.jsonl"),
        (["classify", "model.safetensors", "test.csv", "--workers", "0", "-o", "a.jsonl"], "there are 0 workers"),
        (["classify", "model.safetensors", "test.csv", "--on", "ray"], "say how many with --workers"),
        (
            [*TWO, "--on", "ray", "-o", "a.jsonl"],
            "--checkpoint",
        ),
        (
            [*TWO, "--rate", "5", "-o", "a"],
            "--rate is about one",
        ),
        (["classify", "model.safetensors", "x-*.csv", "--workers", "2", "-o", "a.jsonl"], "no file matches x-*.csv"),
        (["classify", "model.safetensors", "--from", "mqtt://h/t?client=c", "--workers", "2", "-o", "a"], "MQTT"),
        (["fit", "train.csv", "--label", "class", "--workers", "2", "--profile"], "--profile needs all records"),
        (["fit", "-", "--label", "class", "--workers", "2"], "not standard input"),
    ],
)
def test_what_workers_cannot_do_is_one_clear_line(home, arguments, message):
    done = run_program(*arguments, cwd=home)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_restart_with_workers_begins_from_the_first_record(parts):
    command = ["classify", "model.safetensors", "parts/*.csv", "--workers", "1", "-o", "a/", "--checkpoint", "c"]
    first = run_program(*command, "--json", cwd=parts)
    assert first.returncode == 0, first.stderr
    for number in range(3):
        write_table(parts / "parts" / f"{number}.csv", 60, seed=number + 10)
    again = run_program(*command, "--restart", "--json", cwd=parts)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stderr)["answered"] == 180
    shutil.rmtree(parts / "c")
