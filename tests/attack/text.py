"""Hostile names of columns, classes, categories and keys through every command: nothing that a terminal obeys."""

import csv
import io
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from attack.cases import Attack, Failure
from attack.hostile import TEXTS
from attack.program import Ended, check_printed, run_program, write
from attack.runs import in_child

HUGE = 10_000_000  # characters of a text
MAX_GROWTH_BYTES = 1_000_000_000  # of memory, by one case
N_RECORDS = 40


def make(folder: Path) -> Attack:
    return Text(folder)


class Text(Attack):
    """One table for every case, fitted, inspected, evaluated, classified and simulated in a child."""

    def run(self, number: int, dice: random.Random) -> None:
        run, report, output = self.folder / "run", self.folder / "report", self.folder / "output"
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir()
        report.unlink(missing_ok=True)

        def work() -> None:
            try:
                self.run_commands(run, dice)
            except Failure as failure:
                report.write_text(str(failure), errors="backslashreplace")

        _, status, usage = os.wait4(in_child(work, output), 0)
        if status != 0:
            text = output.read_text(errors="replace")
            raise Failure(f"ended with status {status}: {text[-3000:]}")
        if report.exists():
            raise Failure(report.read_text()[:3000])
        if usage.ru_maxrss * 1024 > _own_bytes() + MAX_GROWTH_BYTES:
            raise Failure(f"needed {usage.ru_maxrss / 1024:.0f} MB of memory")

    def run_commands(self, run: Path, dice: random.Random) -> None:
        """Fit a table and use the model, as long as the commands accept it."""
        huge = dice.random() < 0.1
        form = dice.choice(("csv", "jsonl"))
        table, label, key = write_table(run, form, dice, huge)
        model = str(run / "model.safetensors")
        kind = dice.choice(("bayes-tree", "neighbors", "locust", "micro-clusters", "kaoginc"))
        if checked("fit", table, "--label", label, "--key", key, "--model", kind, "-o", model).code != 0:
            return
        checked("inspect", model)
        checked("evaluate", model, table)
        checked("simulate", model, "--data", table, "--rate", "50", "--duration", "1s", "--within", "50ms")
        answers = run / "answers.jsonl"
        more = dice.choice(([], ["--learn"], ["--dead-letters", str(run / "dead.jsonl")]))
        done = run_program("classify", model, table, "-o", str(answers), "--json", *more)
        if done.code == 0:
            for line in answers.open("rb"):
                json.loads(line)


def write_table(run: Path, form: str, dice: random.Random, huge: bool) -> tuple[str, str, str]:
    """Write a table whose names are hostile; return its path and the names of the label and of the key."""
    texts = [text for text in TEXTS if text.strip()] + [text * 3 for text in TEXTS[:12] if text.strip()]
    names = dice.sample(texts, 5) if dice.random() < 0.6 else ["id", "a", "b", "colour", "class"]
    if len({name.strip() for name in names}) < 5 or any(name.startswith("-") for name in names):
        names = ["id", "a", "b", "colour", "class"]
    classes, colours = dice.sample(texts, 3), dice.sample(texts, 3)
    if huge:
        classes[0] = "h" * HUGE
    rng = np.random.default_rng(dice.randrange(2**32))
    rows: list[list[Any]] = []
    for i in range(N_RECORDS):
        label = int(rng.integers(3)) if i or not huge else 0
        if huge and i and label == 0:
            label = 1
        key = f"{dice.choice(texts)}{i}"
        rows.append([key, *map(float, rng.normal(size=2) + label), colours[int(rng.integers(3))], classes[label]])
    file = io.StringIO()
    if form == "csv":
        csv.writer(file, lineterminator="\n").writerows([names, *rows])
    else:
        file.writelines(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    path = write(run / f"table.{form}", file.getvalue().encode("utf-8", "surrogatepass"))
    return path, names[-1], names[0]


def checked(*arguments: str) -> Ended:
    """Run a command that prints for people."""
    done = run_program(*arguments)
    check_printed(done.out, f"anystream {' '.join(arguments)[:300]}")
    return done


def _own_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
