"""Speed of the command line: rows per second of ``anystream classify`` from file to file, and time until it is ready.

    python -m benchmarks.runtime.command_line
    python -m benchmarks.runtime.command_line --rows 100000 --budget 20

Sixteen numeric columns, four classes. The time of a run with one record is subtracted from that with all of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.table import machine, print_table

COLUMNS = 16
REPEATS = 3


def write_tables(folder: Path, n_rows: int) -> list[tuple[str, Path, Path]]:
    """Write a training table, and the records as tables of one row and of all, in each format."""
    X, y = make_classification(3_000 + n_rows, COLUMNS, n_informative=10, n_classes=4, random_state=0)
    rows = np.round(X, 4).tolist()
    names = [f"f{i}" for i in range(COLUMNS)]
    training = [",".join(map(str, [*row, label])) for row, label in zip(rows[:3_000], y[:3_000], strict=True)]
    (folder / "train.csv").write_text("\n".join([",".join([*names, "y"]), *training, ""]))
    rows = rows[3_000:]
    formats = {
        "CSV": ([",".join(names)], [",".join(map(str, row)) for row in rows], "csv"),
        "CSV with a key": ([",".join(["id", *names])], [f"r{i}," + ",".join(map(str, row)) for i, row in enumerate(rows)], "csv"),
        "JSON lines": ([], [json.dumps(dict(zip(names, row, strict=True))) for row in rows], "jsonl"),
    }  # fmt: skip
    found = []
    for name, (header, lines, ending) in formats.items():
        one, all_rows = (folder / f"{name.replace(' ', '-')}-{part}.{ending}" for part in ("one", "all"))
        one.write_text("\n".join([*header, *lines[:1], ""]))
        all_rows.write_text("\n".join([*header, *lines, ""]))
        found.append((name, one, all_rows))
    return found


def seconds(*arguments: str | Path) -> float:
    """Return the shortest wall time of a command."""
    shortest = np.inf
    for _ in range(REPEATS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "anystream", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
        shortest = min(shortest, time.perf_counter() - started)
    return float(shortest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--budget", default="0", help="steps per record")
    options = parser.parse_args()
    rows = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        tables = write_tables(folder, options.rows)
        model = folder / "model.safetensors"
        subprocess.run([sys.executable, "-m", "anystream", "fit", folder / "train.csv", "--label", "y", "-o", model], check=True)  # fmt: skip
        for kind, one, all_rows in tables:
            key = ["--key", "id"] if "key" in kind else []
            command = ["classify", model, *key, "--budget", options.budget, "-q", "-o", folder / f"answers{one.suffix}"]
            ready, whole = seconds(*command, one), seconds(*command, all_rows)
            rows.append([kind, f"{options.rows / (whole - ready):,.0f}", f"{ready:.2f}"])
    notes = [f"anystream --help in {seconds('--help'):.2f} s; {machine()}"]
    header = ["records as", "rows per second", "one record, seconds"]
    print_table(f"anystream classify, {options.rows:,} rows, budget {options.budget}", header, rows, notes)


if __name__ == "__main__":
    main()
