"""Damaged records through ``anystream classify``: they end in the dead letters, and all others are answered."""

import io
import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from attack.cases import Attack, Failure
from attack.hostile import JSON_VALUES, TEXTS
from attack.program import run_program, write

N_RECORDS = 60
KINDS = ("bayes-tree", "neighbors", "locust", "micro-clusters", "kaoginc")
NAMES = ("id", "size", "weight", "colour", "class")


def make(folder: Path) -> Attack:
    return Records(folder)


class Records(Attack):
    """One damaged stream, and a few options, for every case."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rng = np.random.default_rng(0)
        self.rows = [_row(i, rng) for i in range(N_RECORDS)]
        table = write(folder / "train.csv", _csv([_row(i, rng) for i in range(90)]))
        self.models = {kind: str(folder / f"{kind}.safetensors") for kind in KINDS}
        for kind, path in self.models.items():
            done = run_program("fit", table, "--label", "class", "--key", "id", "--model", kind, "-o", path)
            if done.code != 0:
                raise Failure(f"fit {kind}: {done.err}")

    def run(self, number: int, dice: random.Random) -> None:
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir()
        form = dice.choice(("csv", "jsonl", "jsonl", "arrow"))
        data, sound, may_be_refused = DAMAGE[form]([list(row) for row in self.rows], dice)
        kind = dice.choice(KINDS)
        options = [self.models[kind], write(run / f"records.{form}", data), "-o", str(run / "answers.jsonl"), "--json"]
        options += ["--input-format", form, "--budget", "5"]
        learns = dice.random() < 0.6
        if learns:
            options += ["--learn", "--save", str(run / "saved.safetensors")]
        if learns and dice.random() < 0.5:
            labels, _, _ = damage_json([[row[0], row[-1]] for row in self.rows], dice, ("id", "class"))
            options += ["--labels", write(run / "labels.jsonl", labels)]
        if dice.random() < 0.5:
            options += ["--dead-letters", str(run / "dead.jsonl")]
        if dice.random() < 0.3:
            options += ["--checkpoint", str(run / "checkpoint"), "--checkpoint-every", "20 records"]
        options += dice.choice(([], ["--proba"], ["--within", "60s"], ["--queue", "7"]))
        self.check(run_program("classify", *options), run, sound, may_be_refused, learns)

    def check(self, done: Any, run: Path, sound: set[str], may_be_refused: bool, learns: bool) -> None:
        """Raise Failure unless every record is accounted for."""
        if done.code == 2 and may_be_refused and done.err.splitlines()[-1].startswith("anystream: "):
            return
        answered_none = done.code == 2 and '"answered": 0,' in done.err
        if done.code != 0 and not answered_none:
            raise Failure(f"exit code {done.code}: {done.err}")
        summary = json.loads(done.err.splitlines()[-1])
        if summary["taken"] != summary["answered"] + summary["shed"] + summary["dead_letters"]:
            raise Failure(f"records are missing: {summary}")
        answers = [json.loads(line, parse_constant=_refuse) for line in (run / "answers.jsonl").open("rb")]
        if len(answers) != summary["answered"]:
            raise Failure(f"{len(answers)} answers in the file, {summary['answered']} in the summary")
        if missing := sound - {str(answer["key"]) for answer in answers}:
            raise Failure(f"sound records were not answered: {sorted(missing)[:5]}; {done.err}")
        if (run / "dead.jsonl").exists():
            dead = [json.loads(line, parse_constant=_refuse) for line in (run / "dead.jsonl").open("rb")]
            if len(dead) < summary["dead_letters"]:
                raise Failure(f"{len(dead)} dead letters in the file, {summary['dead_letters']} in the summary")
        if learns and run_program("inspect", str(run / "saved.safetensors")).code != 0:
            raise Failure("the saved model cannot be inspected")


def damage_csv(rows: list[list[Any]], dice: random.Random) -> tuple[bytes, set[str], bool]:
    """Return a damaged file, the keys of records that are sound, and whether the file may be refused as a whole."""
    if dice.random() < 0.3:
        data = _damage_bytes(_csv(rows), dice)
        return data, set(), not data.startswith(_csv([]))
    changed = [dice.randrange(len(rows)) for _ in range(dice.choice((1, 1, 3)))]
    for at in changed:
        rows[at][dice.randrange(len(NAMES))] = _csv_cell(dice)
    keys = {row[0] for i, row in enumerate(rows) if i not in changed}
    quotes = any(str(cell).count('"') % 2 for row in rows for cell in row)  # may open a cell that goes on
    return _csv(rows), set() if quotes else keys, False


def damage_json(
    rows: list[list[Any]], dice: random.Random, names: tuple[str, ...] = NAMES
) -> tuple[bytes, set[str], bool]:
    """Return damaged JSON lines, where each line stands for itself."""
    lines = [_json(row, names) for row in rows]
    changed = set()
    for _ in range(dice.choice((1, 1, 3, 10))):
        at = dice.randrange(len(lines))
        changed.add(at)
        if dice.random() < 0.3:
            lines[at] = _damage_bytes(lines[at], dice).replace(b"\n", b" ")
        else:
            name = dice.choice(names)
            members = [
                f'"{other}": {dice.choice(JSON_VALUES) if other == name else json.dumps(value)}'
                for other, value in zip(names, rows[at], strict=True)
            ]
            lines[at] = ("{" + ", ".join(members) + "}").encode("latin-1")
    return b"\n".join(lines) + b"\n", {row[0] for i, row in enumerate(rows) if i not in changed}, False


def damage_arrow(rows: list[list[Any]], dice: random.Random) -> tuple[bytes, set[str], bool]:
    """Return a damaged Parquet file, or a sound one with odd columns."""
    columns: dict[str, Any] = dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
    name = dice.choice(NAMES)
    odd: list[Any] = dice.choice(
        (
            [dice.choice(TEXTS) for _ in rows],
            [dice.choice((None, float("nan"), float("inf"), 1e200, 0.0)) for _ in rows],
            [dice.choice((0, 2**62, -(2**63), None)) for _ in rows],
            [None for _ in rows],
            [[1.0] for _ in rows],
            [b"\xff\xfe" for _ in rows],
            [True for _ in rows],
        )
    )
    if dice.random() < 0.6:
        columns[name] = odd
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    data = file.getvalue()
    if dice.random() < 0.5:
        data = _damage_bytes(data, dice)
    return data, set(), True


DAMAGE = {"csv": damage_csv, "jsonl": damage_json, "arrow": damage_arrow}


def _damage_bytes(data: bytes, dice: random.Random) -> bytes:
    for _ in range(dice.choice((1, 1, 2, 5))):
        at = dice.randrange(len(data) + 1)
        piece = dice.choice((b"\r", b"\n", b'"', b"\0", b"\xff", b",", b"{", b"[" * 2000, b"\\", dice.randbytes(8)))
        kept = at + dice.choice((0, 1, 8, 200))
        data = data[:at] + dice.choice((piece, b"", data[at : at + 40] * 2)) + data[kept:]
    return data


def _csv_cell(dice: random.Random) -> str:
    text = dice.choice((*TEXTS, "y" * 200_000, "z" * 1_100_000))
    return dice.choice((text, '"' + text.replace('"', '""') + '"'))


def _row(number: int, rng: np.random.Generator) -> list[Any]:
    label = int(rng.integers(2))
    colour = ("red", "blue")[int(rng.random() < 0.3 + 0.4 * label)]
    numbers = [float(round(value, 4)) for value in rng.normal(size=2) + 2 * label]
    return [f"r{number}", *numbers, colour, ("no", "yes")[label]]


def _csv(rows: list[list[Any]]) -> bytes:
    lines = [",".join(map(str, row)) for row in [list(NAMES), *rows]]
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")


def _json(row: list[Any], names: tuple[str, ...]) -> bytes:
    return json.dumps(dict(zip(names, row, strict=True))).encode()


def _refuse(constant: str) -> Any:
    raise Failure(f"{constant} is not JSON")
