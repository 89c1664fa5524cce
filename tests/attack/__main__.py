"""Attack the library: ``make attack``, or ``python -m attack`` with ``tests`` on the path.

Each attack runs in a process of its own and gets a share of the time. A failing case is printed with the command that
repeats it. Exit code 1 if any failed.
"""

import argparse
import json
import os
import queue
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from attack.cases import Kind
from attack.preload import HERE, build, compiler
from model_file.fuzz import MODELS

ATTACKS: dict[str, Kind] = {
    "files": Kind("damaged and forged model files", sanitized=True),
    "states": Kind("damaged states of queries", sanitized=True, max_case_s=30.0),
    "records": Kind("damaged records through classify", sanitized=True),
    "text": Kind("hostile names and labels through every command"),
    "checkpoints": Kind("damaged checkpoints", preload="failing_calls.cpp"),
    "kills": Kind("SIGKILL at every call that changes a file", preload="failing_calls.cpp"),
    "random_kills": Kind("SIGKILL at random moments, several times"),
    "disk": Kind("a full or failing disk at every call that changes a file", preload="failing_calls.cpp"),
    "allocations": Kind("allocations of the native core fail", preload="failing_allocations.cpp"),
    "interrupts": Kind("Ctrl-C at random moments of learning and classifying"),
    "threads": Kind("many threads use a model and a query while one learns"),
}
"""All attacks, by name."""

MAX_SHOWN = 5  # failures of one attack that are printed
START_S = 120.0  # seconds to import and prepare, on a busy machine


@dataclass
class Result:
    """Account of one attack."""

    cases: int = 0
    total: int | None = None
    seconds: float = 0.0
    done: bool = False
    failures: list[tuple[int | None, str]] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="time for all attacks together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help=f"names, divided by commas, of {', '.join(ATTACKS)}")
    parser.add_argument("--jobs", type=int, default=2, help="attacks that run at the same time")
    parser.add_argument("--case", type=int, help="repeat one case")
    parser.add_argument("--model", type=int, help="number of the only model whose threads run; needs --only threads")
    parser.add_argument("--sanitized", help="command of a Python that has the sanitized build, with its environment")
    parser.add_argument("--all-sanitized", action="store_true", help="run every attack with that Python")
    parser.add_argument("--fail-at", type=int, default=20, help="end an attack after this many failures")
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name] or list(ATTACKS)
    if unknown := [name for name in names if name not in ATTACKS]:
        parser.error(f"there is no attack {', '.join(unknown)}; use {', '.join(ATTACKS)}")
    if skipped := [name for name in names if ATTACKS[name].preload and compiler() is None]:
        print(f"left out, since they need Linux and a C++ compiler: {', '.join(skipped)}")
        names = [name for name in names if name not in skipped]

    if options.model is not None and (names != ["threads"] or not 0 <= options.model < len(MODELS)):
        parser.error(f"--model is a number below {len(MODELS)}, with --only threads")

    weight = sum(ATTACKS[name].weight for name in names)
    with progress_bar() as show, ThreadPoolExecutor(options.jobs) as pool:
        jobs = {
            name: pool.submit(
                run_attack, name, options.seconds * options.jobs * ATTACKS[name].weight / weight, options, show
            )
            for name in names
        }
        results = {name: job.result() for name, job in jobs.items()}
    report(results, options)
    return 1 if any(result.failures for result in results.values()) else 0


def run_attack(name: str, seconds: float, options: argparse.Namespace, show: Any) -> Result:
    """Run the process of an attack, and again after every case that ended it."""
    result = Result()
    started = time.monotonic()
    while not result.done and len(result.failures) < options.fail_at:
        left = seconds - (time.monotonic() - started)
        if left <= 0.0 and result.cases:
            break
        before = result.cases
        run_process(name, max(left, 0.01), result, options, lambda: show(name, result, started, seconds))
        if result.cases == before:  # it did not even begin
            break
        if options.case is not None:
            break
    result.seconds = time.monotonic() - started
    return result


def run_process(name: str, seconds: float, result: Result, options: argparse.Namespace, show: Any) -> None:
    """Start the process of an attack and read its lines until it ends, or hangs and is ended."""
    kind = ATTACKS[name]
    arguments = [name, f"--seed={options.seed}", f"--seconds={seconds:.2f}", f"--skip={result.cases}"]
    if options.case is not None:
        arguments.append(f"--case={options.case}")
    if options.model is not None:  # a case uses the model of its number modulo that of models
        arguments += [f"--first={options.model}", f"--step={len(MODELS)}"]
    command = [sys.executable, "-P", "-m", "attack.process", *arguments]
    if options.sanitized and (kind.sanitized or options.all_sanitized):
        command = ["sh", "-c", f"exec env {options.sanitized} -m attack.process {shlex.join(arguments)}"]
    environment = os.environ | {"PYTHONPATH": str(HERE.parent), "PYTHONFAULTHANDLER": "1"}
    if kind.preload is not None:
        environment["LD_PRELOAD"] = str(build(kind.preload))
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True, errors="replace"
    )
    case, patience_s = None, START_S
    tail: list[str] = []
    lines = read_lines(process, tail)
    while True:
        try:
            line = lines.get(timeout=patience_s)
        except queue.Empty:
            process.kill()
            process.wait()
            result.failures.append((case, f"hangs for more than {patience_s:.0f} s\n{''.join(tail)}"))
            return
        if line is None:
            break
        message = json.loads(line)
        if "failure" in message:
            result.failures.append((case, message["failure"]))
            if len(result.failures) >= options.fail_at:
                process.kill()
                process.wait()
                return
        elif "case" in message:
            case, result.total, patience_s = message["case"], message["of"], kind.max_case_s
            result.cases += 1
        else:
            result.done = message["done"]
            case = None
        show()
    if process.wait() != 0:
        result.failures.append((case, f"ended the process with code {process.returncode}\n{''.join(tail)}"))


def read_lines(process: Any, tail: list[str]) -> "queue.Queue[str | None]":
    """Return a queue of the lines on standard output, ended by None; keep the last lines of standard error."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read_output() -> None:
        for line in process.stdout:
            lines.put(line)
        errors.join(10.0)
        lines.put(None)

    def read_errors() -> None:
        for line in process.stderr:
            if not line.startswith("Extension modules:"):  # of faulthandler
                tail.append(line)
                del tail[:-60]

    errors = threading.Thread(target=read_errors, daemon=True)
    errors.start()
    threading.Thread(target=read_output, daemon=True).start()
    return lines


@contextmanager
def progress_bar() -> Iterator[Any]:
    """Yield a function that shows how far an attack is, in a terminal by a bar."""
    console = Console(stderr=True)
    counts = TextColumn("{task.fields[counts]}")
    columns = (TextColumn("{task.description:12}"), BarColumn(), counts, TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        tasks: dict[str, Any] = {}

        def show(name: str, result: Result, started: float, seconds: float) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=seconds, counts="")
            done = seconds if result.done else min(time.monotonic() - started, seconds)
            counts = f"{result.cases:,} cases, {len(result.failures)} failures"
            bar.update(tasks[name], completed=done, counts=counts)

        yield show


def report(results: dict[str, Result], options: argparse.Namespace) -> None:
    """Print the failing cases, then a table with a row for each attack."""
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    for name, result in results.items():
        for case, text in result.failures[:MAX_SHOWN]:
            where = "before the first case" if case is None else f"case {case}"
            console.print(Text(f"\n{name}, {where}, seed {options.seed}:"))
            console.print(Text(text.strip()))
            repeat = f"make attack ONLY={name} SEED={options.seed}" + ("" if case is None else f" CASE={case}")
            console.print(Text(f"repeat it with: {repeat}"))
        if len(result.failures) > MAX_SHOWN:
            console.print(Text(f"\n{name}: {len(result.failures) - MAX_SHOWN} further failures"))
    table = Table("attack", "what it tries", "cases", "failures", "seconds")
    for column in table.columns[2:]:
        column.justify = "right"
    for name, result in results.items():
        cases = f"{result.cases:,}" + (" (all)" if result.done and result.cases == result.total else "")
        table.add_row(name, ATTACKS[name].about, cases, str(len(result.failures)), f"{result.seconds:.0f}")
    console.print(table)
    if not any(result.failures for result in results.values()):
        console.print(f"seed {options.seed}: nothing failed")


if __name__ == "__main__":
    sys.exit(main())
