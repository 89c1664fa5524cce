"""Runs of the program that are disturbed, and what must be on disk when they have ended in spite of it.

A run works in a folder and can be started again and again until it ends by itself; then its files must be those of a
run that nothing disturbed. It runs in a forked child, so that a start costs milliseconds.
"""

import contextlib
import gc
import io
import json
import os
import shutil
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

from anystream import load
from anystream.cli.app import main
from attack.cases import Failure
from runtime import killed_stream

N_RECORDS = 400


class Run(ABC):
    """One run, and the check of its result.

    Parameters
    ----------
    inputs : path
        Folder with what all runs read.
    """

    name: str
    prints_one_line = True  # when a file cannot be written

    def __init__(self, inputs: Path) -> None:
        self.inputs = inputs
        if not (inputs / "model.safetensors").exists():
            write_inputs(inputs)

    def prepare(self, folder: Path) -> None:  # noqa: B027  # most runs begin in an empty folder
        """Write what lies in the folder before the first start."""

    @abstractmethod
    def start(self, folder: Path) -> None:
        """Run to the end, or continue what an earlier start left."""

    @abstractmethod
    def results(self, folder: Path) -> dict[str, bytes]:
        """Return what must be the same whatever happened, by name."""

    def check_between(self, folder: Path) -> None:  # noqa: B027
        """Raise Failure if what a disturbed start left behind is not in order."""


class LearningStream(Run):
    """A stream that learns as it classifies, in the library's own engine."""

    name = "engine that learns"
    prints_one_line = False

    def start(self, folder: Path) -> None:
        killed_stream.run(self.inputs / "stream.csv", folder, N_RECORDS)

    def results(self, folder: Path) -> dict[str, bytes]:
        return {name: (folder / name).read_bytes() for name in ("answers.jsonl", "dead.jsonl", "final.safetensors")}


class ClassifyCommand(Run):
    """The command line with a checkpoint, a model that does not learn, and files for answers and dead letters."""

    name = "classify"
    options = ("--budget", "10")
    files = ("answers.jsonl", "dead.jsonl")

    def start(self, folder: Path) -> None:
        inputs = self.inputs
        run_main(
            "classify", f"{inputs}/model.safetensors", f"{inputs}/records.csv", "-o", f"{folder}/answers.jsonl",
            "--dead-letters", f"{folder}/dead.jsonl", "--checkpoint", f"{folder}/checkpoint",
            "--checkpoint-every", "60 records", "--json", *self.options, *self.more(folder),
        )  # fmt: skip

    def more(self, folder: Path) -> tuple[str, ...]:
        return ()

    def results(self, folder: Path) -> dict[str, bytes]:
        return {name: (folder / name).read_bytes() for name in self.files}


class ClassifyAndLearn(ClassifyCommand):
    """The command line with ``--learn``: labels may depend on what was learned in time, all else may not."""

    name = "classify --learn"

    def more(self, folder: Path) -> tuple[str, ...]:
        return ("--learn", "--save", f"{folder}/final.safetensors")

    def results(self, folder: Path) -> dict[str, bytes]:
        answers = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
        keys = sorted(answer["key"] for answer in answers)
        learned = load(folder / "final.safetensors")
        counts = json.dumps([learned.classes_.tolist(), learned.forest_.records])
        return {
            "keys of answers.jsonl": json.dumps(keys).encode(),
            "dead.jsonl": (folder / "dead.jsonl").read_bytes(),
            "classes and records of final.safetensors": counts.encode(),
        }


class FitCommand(Run):
    """A model that is fitted again, over the file of the old one."""

    name = "fit"

    def prepare(self, folder: Path) -> None:
        shutil.copy(self.inputs / "model.safetensors", folder / "model.safetensors")

    def start(self, folder: Path) -> None:
        run_main("fit", f"{self.inputs}/train.csv", "--label", "class", "--key", "id", "-o",
                 f"{folder}/model.safetensors", "--set", "fanout=4")  # fmt: skip

    def results(self, folder: Path) -> dict[str, bytes]:
        found = {path.name: path.read_bytes() for path in folder.iterdir()}
        return {"names of files": json.dumps(sorted(found)).encode(), **found}

    def check_between(self, folder: Path) -> None:
        load(folder / "model.safetensors").predict_proba(np.zeros((1, 3)))


RUNS: list[type[Run]] = [LearningStream, ClassifyCommand, ClassifyAndLearn, FitCommand]


def write_inputs(folder: Path) -> None:
    """Write a table to fit, a model of it, and streams of records with some that are malformed."""
    killed_stream.write_stream(folder / "stream.csv", N_RECORDS)
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, N_RECORDS)
    X = rng.normal(size=(N_RECORDS, 3)) + y[:, None]
    lines = [f"k{i},{','.join(f'{value:.5f}' for value in X[i])},c{y[i]}" for i in range(N_RECORDS)]
    header = "id,a,b,c,class"
    (folder / "train.csv").write_text("\n".join([header, *lines[:80]]) + "\n")
    lines[5::97] = ["malformed"] * len(lines[5::97])
    (folder / "records.csv").write_text("\n".join([header, *lines]) + "\n")
    with contextlib.suppress(SystemExit):
        run_main("fit", f"{folder}/train.csv", "--label", "class", "--key", "id", "-o", f"{folder}/model.safetensors")


def run_main(*arguments: str) -> None:
    """Run the program in this process; it ends by SystemExit."""
    with mock.patch.object(sys, "argv", ["anystream", *arguments]):
        main()


def in_child(work: Callable[[], None], output: Path) -> int:
    """Run `work` in a forked child whose standard output and error go to a file; return the process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        with contextlib.redirect_stdout(io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), write_through=True)):
            try:
                work()
                code = 0
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
        gc.collect()  # closes the files that an error left open
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def run_undisturbed(run: Run, folder: Path, output: Path) -> None:
    """Start a run and wait for its end; raise Failure if it fails."""
    status = os.waitpid(in_child(lambda: run.start(folder), output), 0)[1]
    if status != 0:
        raise Failure(f"{run.name} ended with status {status} although nothing disturbed it:\n{output.read_text()}")


def compare(run: Run, folder: Path, expected: dict[str, bytes]) -> None:
    """Raise Failure unless the results of a run are those expected."""
    found = run.results(folder)
    for name in expected | found:
        if found.get(name) != expected.get(name):
            raise Failure(
                f"{run.name}: {name} differs from that of a run that nothing disturbed: "
                f"{_difference(expected.get(name, b''), found.get(name, b''))}"
            )


def _difference(expected: bytes, found: bytes) -> str:
    at = next((i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), -1)
    return f"{len(found)} bytes instead of {len(expected)}, different from byte {at} on: {found[at : at + 80]!r}"
