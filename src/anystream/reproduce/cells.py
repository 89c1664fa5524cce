"""Cells: the measurements of an experiment, each a pure function of its inputs, computed once and kept on disk.

A cell is named by a hash of its function, its inputs, the version and the source of everything that can compute, the
native core included, and the data files that it reads. If any of these changes, it is another cell; otherwise its
stored result is used. Results are written one by one by the process that computed them, so a run that was killed
continues where it ended.
"""

from __future__ import annotations

import functools
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import sklearn

from anystream import _native
from anystream.model_file.replace_file import replace_file
from anystream.reproduce.data import data_digest

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Cell:
    """One measurement: a function of a module, and the inputs that it is called with.

    Parameters
    ----------
    function : callable
        A function of a module; it returns what JSON can hold.
    inputs : mapping of str to any
        Its arguments, which JSON can hold.
    data : tuple of str, default=()
        Names of the data sets that it reads.
    cost : float, default=1.0
        Expected work, relative to other cells: the most expensive ones run first, and the time left is estimated by it.
    """

    function: Callable[..., Any]
    inputs: Mapping[str, Any]
    data: tuple[str, ...] = ()
    cost: float = field(default=1.0, compare=False)

    @property
    def name(self) -> str:
        """The function and its inputs in one line, for messages."""
        given = ", ".join(f"{key}={value!r}" for key, value in self.inputs.items())
        return f"{self.function.__name__}({given})"

    @property
    def key(self) -> str:
        """Hash of everything that the result depends on."""
        parts = {
            "function": f"{self.function.__module__}.{self.function.__qualname__}",
            "inputs": dict(self.inputs),
            "code": code_digest(self.function.__module__),
            "data": {name: data_digest(name) for name in self.data},
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


_NOT_COMPUTING = {"cli", "connectors", "demo", "reproduce", "server"}  # packages on which no measurement depends


@functools.cache
def code_digest(module: str) -> str:
    """Return a hash of the source and the version of the package, NumPy and scikit-learn, and of a module.

    Packages that only show or deliver results are left out, so that a changed report keeps its cells.
    """
    digest = hashlib.sha256(f"{_versions()}".encode())
    digest.update(Path(str(sys.modules[module].__file__)).read_bytes())
    return digest.hexdigest()


@functools.cache
def _versions() -> str:
    import anystream

    folder = Path(anystream.__file__).parent
    digest = hashlib.sha256(f"{anystream.__version__} {np.__version__} {sklearn.__version__}".encode())
    digest.update(Path(str(_native.__file__)).read_bytes())
    for path in sorted(folder.rglob("*.py")):
        if path.relative_to(folder).parts[0] not in _NOT_COMPUTING:
            digest.update(path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Results:
    """Results of the cells that were computed, and the errors of those that failed.

    Parameters
    ----------
    values : mapping
        Result of each cell, by the key that the experiment gave it.
    errors : mapping
        Message of each cell that failed.
    reused : int
        Number of results that were on disk already.
    left_out : mapping of str to str
        Data sets of the paper that the run is without, with the reason.
    """

    values: Mapping[Any, Any]
    errors: Mapping[Any, str]
    reused: int
    left_out: Mapping[str, str] = field(default_factory=dict)

    def get(self, *key: Any) -> Any:
        """Return the result of a cell, or None if there is none."""
        return self.values.get(key if len(key) > 1 else key[0])

    def why_missing(self, name: str) -> str:
        """Return why the run is without a data set; "" if it is not."""
        return f"{name} ({self.left_out[name]})" if name in self.left_out else ""


class CellCache:
    """Folder with one file per computed cell.

    Parameters
    ----------
    folder : path
        It is created when the first result is stored.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, key: str) -> tuple[bool, Any]:
        """Return whether the result of a cell is stored, and the result; a damaged file counts as missing."""
        try:
            stored = json.loads(self._path(key).read_text())
            return True, stored["result"]
        except (OSError, ValueError, KeyError, TypeError):
            return False, None

    def write(self, key: str, cell: Cell, result: Any, cpu_s: float) -> None:
        """Store a result beside what it was computed from, so that the file can be read alone."""
        self.folder.mkdir(parents=True, exist_ok=True)
        stored = {"cell": cell.name, "data": list(cell.data), "cpu_s": round(cpu_s, 3), "result": result}
        replace_file(self._path(key), [json.dumps(stored, allow_nan=False).encode()])

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def run_cells(
    cells: Mapping[Key, Cell],
    cache: CellCache,
    *,
    jobs: int = 1,
    observe: Callable[[float, float, str], None] | None = None,
) -> Results:
    """Compute the cells that are not stored yet, on `jobs` processes, and return the results of all.

    Parameters
    ----------
    cells : mapping of key to Cell
        Equal cells under several keys are computed once.
    cache : CellCache
        Where results are read and stored.
    jobs : int, default=1
        Number of processes; 1 computes in this one.
    observe : callable, optional
        Called at the start and after each cell, with the cost that is done, the total cost, and the name of the cell.

    Notes
    -----
    A cell that raises is listed in the errors of the results; the others are computed all the same.
    """
    by_hash: dict[str, Cell] = {}
    hashes = {key: cell.key for key, cell in cells.items()}
    for key, cell in cells.items():
        by_hash.setdefault(hashes[key], cell)
    stored, waiting = {}, []
    for name in by_hash:
        found, value = cache.read(name)
        if found:
            stored[name] = value
        else:
            waiting.append(name)
    total = sum(by_hash[name].cost for name in waiting)
    done = 0.0
    if observe:
        observe(0.0, total, f"{len(stored)} of {len(by_hash)} cells are there already")
    waiting.sort(key=lambda name: -by_hash[name].cost)
    errors: dict[str, str] = {}
    for name, value, error in _compute({name: by_hash[name] for name in waiting}, cache, jobs):
        done += by_hash[name].cost
        if error is None:
            stored[name] = value
        else:
            errors[name] = error
        if observe:
            observe(done, total, by_hash[name].name)
    values = {key: stored[name] for key, name in hashes.items() if name in stored}
    failed = {key: errors[name] for key, name in hashes.items() if name in errors}
    return Results(values, failed, len(by_hash) - len(waiting))


Outcome = tuple[str, Any, str | None]


def _compute(cells: Mapping[str, Cell], cache: CellCache, jobs: int) -> Iterator[Outcome]:
    if jobs == 1 or len(cells) <= 1:
        for name, cell in cells.items():
            yield _run_one(name, cell, cache)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(cells)), context, _set_up_process) as processes:
        pending: set[Future[Outcome]] = {processes.submit(_run_one, name, cell, cache) for name, cell in cells.items()}
        try:
            yield from _as_they_end(pending)
        except BaseException:
            processes.shutdown(wait=False, cancel_futures=True)
            raise


def _as_they_end(pending: set[Future[Outcome]]) -> Iterable[Outcome]:
    while pending:
        ended, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in ended:
            yield future.result()


def _set_up_process() -> None:
    """End with the parent, even if that is killed; Ctrl-C ends this process at once, and the parent reports it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), name="anystream: parent", daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _run_one(name: str, cell: Cell, cache: CellCache) -> Outcome:
    started = time.process_time()
    try:
        result = cell.function(**cell.inputs)
        cache.write(name, cell, result, time.process_time() - started)
    except Exception as error:  # whatever a measurement raises is reported beside the others
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        return name, None, f"{cell.name}: {type(error).__name__}: {error} ({place})"
    return name, json.loads(json.dumps(result)), None
