import os
import signal
from pathlib import Path

import pytest

from anystream.reproduce import cells as cells_module
from anystream.reproduce.cells import Cell, CellCache, run_cells
from anystream.reproduce.data import data_digest
from anystream.reproduce.measures.graph import measure_surfaces

pytestmark = pytest.mark.slow


def square_and_note(number, log):
    """Return a square and note the call."""
    with Path(log).open("a") as file:
        file.write(f"{number}\n")
    return {"square": number**2}


def fail_for_two(number):
    if number == 2:
        raise ValueError("two is not measured")
    return number


def kill_at_two(number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.fixture
def log(tmp_path):
    return tmp_path / "calls"


@pytest.fixture
def cache(tmp_path):
    return CellCache(tmp_path / "cells")


def squares(log, numbers):
    return {number: Cell(square_and_note, {"number": number, "log": str(log)}) for number in numbers}


def test_a_stored_cell_is_not_computed_again(cache, log):
    first = run_cells(squares(log, [1, 2]), cache)
    second = run_cells(squares(log, [1, 2, 3]), cache)
    assert first.values == {1: {"square": 1}, 2: {"square": 4}}
    assert second.values[3] == {"square": 9}
    assert (first.reused, second.reused) == (0, 2)
    assert log.read_text().split() == ["1", "2", "3"]


def test_equal_cells_are_computed_once(cache, log):
    cell = squares(log, [4])[4]
    assert run_cells({"a": cell, "b": cell}, cache).values == {"a": {"square": 16}, "b": {"square": 16}}
    assert log.read_text().split() == ["4"]


def test_a_damaged_result_is_computed_again(cache, log):
    run_cells(squares(log, [1]), cache)
    (stored,) = cache.folder.iterdir()
    stored.write_text(stored.read_text()[:20])
    assert run_cells(squares(log, [1]), cache).values == {1: {"square": 1}}
    assert log.read_text().split() == ["1", "1"]


def test_a_cell_that_fails_is_named_and_the_others_are_computed(cache):
    cells = {number: Cell(fail_for_two, {"number": number}) for number in (1, 2, 3)}
    results = run_cells(cells, cache)
    assert results.values == {1: 1, 3: 3}
    assert "fail_for_two(number=2): ValueError: two is not measured" in results.errors[2]
    assert results.get(2) is None


def test_a_killed_run_continues_where_it_ended(cache):
    cells = {number: Cell(kill_at_two, {"number": number}) for number in (0, 1, 2)}
    child = os.fork()
    if child == 0:
        run_cells(cells, cache)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    results = run_cells({number: cells[number] for number in (0, 1)}, cache)
    assert results.reused == 2
    assert results.values == {0: 0, 1: 1}


def test_processes_compute_what_one_process_computes(tmp_path):
    cells = {seed: Cell(measure_surfaces, {"n_records": 30, "seed": seed}) for seed in (1, 2)}
    alone = run_cells(cells, CellCache(tmp_path / "one"), jobs=1)
    together = run_cells(cells, CellCache(tmp_path / "two"), jobs=2)
    assert alone.values == together.values


def test_the_key_follows_inputs_code_and_data(tmp_path, monkeypatch):
    monkeypatch.setenv("ANYSTREAM_DATA", str(tmp_path))
    (tmp_path / "mine.npz").write_bytes(b"first")
    cell = Cell(fail_for_two, {"number": 1}, ("mine",))
    key = cell.key
    assert Cell(fail_for_two, {"number": 1}, ("mine",)).key == key
    assert Cell(fail_for_two, {"number": 3}, ("mine",)).key != key
    data_digest.cache_clear()
    (tmp_path / "mine.npz").write_bytes(b"second")
    changed = Cell(fail_for_two, {"number": 1}, ("mine",)).key
    assert changed != key
    monkeypatch.setattr(cells_module, "code_digest", lambda module: "other code")
    assert cell.key != changed
    data_digest.cache_clear()


def test_progress_counts_the_cost_of_what_is_left(cache, log):
    run_cells(squares(log, [1]), cache)
    seen = []
    cells = squares(log, [1]) | {2: Cell(square_and_note, {"number": 2, "log": str(log)}, cost=3.0)}
    run_cells(cells, cache, observe=lambda done, total, name: seen.append((done, total)))
    assert seen == [(0.0, 3.0), (3.0, 3.0)]
