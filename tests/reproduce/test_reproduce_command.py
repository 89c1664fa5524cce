import json

import numpy as np
import pytest

from anystream.reproduce.data import data_digest, fold, load
from anystream.streams import Dataset
from anystream.streams.npz import write_npz
from cli.program import run_program


@pytest.fixture
def data_home(tmp_path, monkeypatch):
    """A data home whose only data set is a small one of the name vowel."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + 2.0 * y[:, None]
    folder = tmp_path / "data"
    folder.mkdir()
    names = tuple("abcd")
    data = Dataset(name="vowel", X=X, y=y.astype(np.int64), feature_names=names, class_names=("x", "y", "z"))
    write_npz(data, folder / "vowel.npz")
    monkeypatch.setenv("ANYSTREAM_DATA", str(folder))
    for cached in (load, fold, data_digest):
        cached.cache_clear()
    yield tmp_path
    for cached in (load, fold, data_digest):
        cached.cache_clear()


def test_a_paper_runs_from_data_to_report_and_again_from_its_cells(data_home):
    command = ("reproduce", "bt-star", "--quick", "--sets", "vowel,gender", "--jobs", "1", "--out", "out")
    done = run_program(*command, cwd=data_home)
    assert done.returncode == 0, done.stderr
    assert "left out: not in the data home: gender" in done.stdout
    assert "left out: not asked for by --sets: page_blocks, optdigits," in done.stdout
    out = data_home / "out"
    found = json.loads((out / "bt-star.json").read_text())
    verdicts = [claim["verdict"] for claim in found["claims"]]
    assert "cannot be tested here" in verdicts
    assert len(set(verdicts)) > 1
    assert found["quick"] is True
    assert found["errors"] == []
    text = (out / "bt-star.md").read_text()
    assert "at most 150 per fold" in text
    assert "left out: page_blocks (not asked for by --sets)" in text
    assert "data:image/svg+xml" in (out / "bt-star.html").read_text()
    assert (out / "bt-star" / "figure-11.svg").exists()
    stored = {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    again = run_program(*command, cwd=data_home)
    assert f"{len(stored)} of {len(stored)} cells are there already" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()} == stored
    assert json.loads((out / "bt-star.json").read_text())["claims"] == found["claims"]


def test_an_unknown_paper_is_named_with_the_known_ones(tmp_path):
    done = run_program("reproduce", "bt-plus", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no paper 'bt-plus'; use bt-star, bulk-loading" in done.stderr


def test_an_unknown_data_set_is_named_with_the_known_ones(tmp_path):
    done = run_program("reproduce", "bt-star", "--sets", "iris", cwd=tmp_path)
    assert done.returncode == 2
    assert "--sets names iris; the data sets are covtype" in done.stderr
