"""A model file that changes while ``anystream classify`` runs never ends the run by a signal."""

import contextlib
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from anystream.drift import GaussianNaiveBayes
from cli.program import run_program

STEP = 20  # records that are classified before the file changes


def copy_over(model):
    """Copy another model over the file, as `cp` does: it is emptied and written again."""
    shutil.copyfile(model.with_name("other.safetensors"), model)


def truncate(model):
    os.truncate(model, 100)


def write_zeros(model):
    """Write zeros over everything but the first bytes, as a failing disk or `dd` may."""
    with open(model, "r+b") as file:
        file.seek(4000)
        file.write(bytes(model.stat().st_size - 4000))


def replace(model):
    os.replace(model.with_name("other.safetensors"), model)


def classify_while(changes, home, *options):
    """Classify some records, change the model file, classify more, and so on."""
    header, *lines = (home / "test.csv").read_text().splitlines(keepends=True)
    command = [sys.executable, "-m", "anystream", "classify", "model.safetensors", "--input-format", "csv"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command += ["--output-format", "csv", *options]
    with subprocess.Popen(command, cwd=home, text=True, **pipes) as process:
        process.stdin.write(header)
        answers = []
        for change in changes:
            process.stdin.write("".join(lines[:STEP]))
            process.stdin.flush()
            answers += [process.stdout.readline() for _ in range(STEP + (not answers))]  # the first line is a header
            lines = lines[STEP:]
            change(home / "model.safetensors")
        with contextlib.suppress(BrokenPipeError):  # the run has ended
            process.stdin.write("".join(lines))
            process.stdin.close()
        answers += process.stdout.readlines()
        errors = process.stderr.read()
    return process.returncode, [line.split(",")[:2] for line in answers], errors


@pytest.fixture(scope="module")
def expected(fitted):
    """Keys and labels of the answers of the model."""
    done = run_program("classify", "model.safetensors", "test.csv", "--output-format", "csv", cwd=fitted)
    return [line.split(",")[:2] for line in done.stdout.splitlines()]


@pytest.fixture
def changed_home(home):
    """The folder with another model in it."""
    y = np.arange(60) % 2
    GaussianNaiveBayes().fit(np.random.default_rng(0).normal(size=(60, 500)), y).save(home / "other.safetensors")
    return home


def test_a_model_in_memory_does_not_notice_that_its_file_changes(changed_home, expected):
    code, answers, errors = classify_while([copy_over, write_zeros, truncate], changed_home)
    assert code == 0, errors
    assert answers == expected


@pytest.mark.parametrize("change", [copy_over, truncate, write_zeros])
def test_a_mapped_model_that_changes_ends_the_run_with_one_line(changed_home, expected, change):
    code, answers, errors = classify_while([change], changed_home, "--mmap")
    assert code == 2, errors
    assert errors.startswith("anystream: model.safetensors: the file was changed while it was mapped; load")
    assert errors.count("\n") == 1
    assert answers == expected[: len(answers)], "an answer was made from the changed file"


def test_a_mapped_model_whose_file_is_replaced_stays_the_same(changed_home, expected):
    code, answers, errors = classify_while([replace], changed_home, "--mmap")
    assert code == 0, errors
    assert answers == expected
