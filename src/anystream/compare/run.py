"""Run of a comparison: every method on every task, each in a process of its own, with results kept in a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, TypeVar

from anystream.compare.cell import CellResult, run_cell
from anystream.compare.machine import describe_machine
from anystream.compare.methods import Method
from anystream.compare.settings import Settings
from anystream.compare.tasks import Task, load_task

T = TypeVar("T")
_FORMAT = 1  # of the files of finished cells; to be raised when `CellResult` changes


def load_tasks(names: Iterable[str], settings: Settings, log: Callable[[str], None]) -> list[Task]:
    """Return the tasks whose data are at hand; `log` gets a message about each other one."""
    tasks = []
    for name in names:
        try:
            tasks.append(load_task(name, settings))
        except (LookupError, ValueError) as error:
            log(f"{name} is skipped: {error}")
    return tasks


def run_comparison(
    tasks: Sequence[Task],
    methods: Sequence[Method],
    settings: Settings,
    *,
    folder: Path | None = None,
    isolate: bool = True,
    measure: bool = True,
    log: Callable[[str], None] = lambda message: None,
) -> list[CellResult]:
    """Run every method on every task and return the results in this order.

    Parameters
    ----------
    tasks : sequence of Task
        From `load_tasks`.
    methods : sequence of Method
        From `find_methods`.
    settings : Settings
        How much is measured.
    folder : Path, optional
        Folder of results: a cell that was measured before with the same settings, version and kind of machine is read
        instead of measured, so that a run can be interrupted and continued.
    isolate : bool, default=True
        Whether each cell runs in a process of its own, one after another, so that no library has an influence on the
        time or memory of another.
    measure : bool, default=True
        Whether to measure cells that the folder does not have; False returns only those that it has.
    log : callable
        Gets a line before each cell, and a message about each cell that failed.
    """
    results = []
    for number, (task, method) in enumerate((task, method) for task in tasks for method in methods):
        done = f"{number + 1} of {len(tasks) * len(methods)}"
        key = settings.to_json() | {"format": _FORMAT, "version": method.version, "machine": describe_machine()}
        path = None if folder is None else folder / "cells" / f"{_file_name(f'{task.name} {method}')}.json"
        known = _read(path, key)
        if known is not None:
            results.append(CellResult.from_json(known))
            continue
        if not measure:
            continue
        log(f"{done}: {task.name}, {method}")
        try:
            result = run_isolated(run_cell, method, task, settings) if isolate else run_cell(method, task, settings)
        except Exception as error:  # a library may raise anything, or end its process; the others are still compared
            log(f"{task.name}, {method} failed: {type(error).__name__}: {str(error)[:300]}")
            continue
        results.append(result)
        _write(path, key, result.to_json())
    return results


def run_isolated(work: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a new process and return its result."""
    with ProcessPoolExecutor(1, mp_context=_process_context()) as pool:
        return pool.submit(work, *arguments).result()


@lru_cache(maxsize=1)
def _process_context() -> BaseContext:
    """Return the way to start processes: from one that has only imported what all of them need, where there is that."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(["anystream.compare.cell", "anystream.compare.published", "sklearn.ensemble"])
    return context


def _file_name(text: str) -> str:
    """Return a text as a file name without spaces and signs.

    Examples
    --------
    >>> _file_name("letter river KNN(1000)")
    'letter-river-KNN-1000'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")


def _read(path: Path | None, key: dict[str, Any]) -> dict[str, Any] | None:
    if path is None or not path.exists():
        return None
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    found: dict[str, Any] = stored["result"]
    return found if stored["key"] == json.loads(json.dumps(key)) else None


def _write(path: Path | None, key: dict[str, Any], result: dict[str, Any]) -> None:
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"key": key, "result": result}, indent=1), encoding="utf-8")
