"""A model file that changes while ``anystream classify`` runs never ends the run by a signal."""

import os
import shutil
import subprocess
import sys

import pytest

from cli.program import run_program

FIRST = 20  # records that are classified before the file changes


def copy_over(model):
    """Copy another model over the file, as `cp` does: it is emptied and written again."""
    shutil.copyfile(model.with_name("other.safetensors"), model)


def truncate(model):
    os.truncate(model, 100)


def write_zeros(model):
    """Write zeros over everything but the first and the last bytes, as a failing disk or `dd` may."""
    size = model.stat().st_size
    with open(model, "r+b") as file:
        file.seek(4000)
        file.write(bytes(size - 4100))


def append(model):
    with open(model, "ab") as file:
        file.write(b"more")


def replace(model):
    os.replace(model.with_name("other.safetensors"), model)


def classify_while(change, home, *options):
    """Classify some records, change the model file, classify the others."""
    header, *lines = (home / "test.csv").read_text().splitlines(keepends=True)
    command = [sys.executable, "-m", "anystream", "classify", "model.safetensors", "--input-format", "csv", *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=home, text=True, **pipes) as process:
        process.stdin.write("".join([header, *lines[:FIRST]]))
        process.stdin.flush()
        answers = [process.stdout.readline() for _ in range(FIRST)]
        change(home / "model.safetensors")
        try:
            process.stdin.write("".join(lines[FIRST:]))
            process.stdin.close()
        except BrokenPipeError:  # the run has ended
            pass
        answers += process.stdout.readlines()
        errors = process.stderr.read()
    return process.returncode, [line.split(",")[:2] for line in answers], errors


@pytest.fixture
def expected(home):
    """Keys and labels of the answers of the model, with another model beside it."""
    other = ("--label", "class", "--key", "id", "--model", "locust", "-o", "other.safetensors")
    assert run_program("fit", "test.csv", *other, cwd=home).returncode == 0
    done = run_program("classify", "model.safetensors", "test.csv", "--output-format", "csv", cwd=home)
    return [line.split(",")[:2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("change", [copy_over, truncate, write_zeros])
def test_a_model_in_memory_does_not_notice_that_its_file_changes(home, expected, change):
    code, answers, errors = classify_while(change, home, "--output-format", "csv")
    assert code == 0, errors
    assert answers == expected


@pytest.mark.parametrize("change", [copy_over, truncate, write_zeros, append])
def test_a_mapped_model_that_changes_ends_the_run_with_one_line(home, expected, change):
    code, answers, errors = classify_while(change, home, "--output-format", "csv", "--mmap")
    assert code == 2, errors
    assert errors.startswith("anystream: model.safetensors: the file was changed while it was mapped; load")
    assert errors.count("\n") == 1
    assert answers == expected[: len(answers)], "an answer was made from the changed file"


def test_a_mapped_model_whose_file_is_replaced_stays_the_same(home, expected):
    code, answers, errors = classify_while(replace, home, "--output-format", "csv", "--mmap")
    assert code == 0, errors
    assert answers == expected
