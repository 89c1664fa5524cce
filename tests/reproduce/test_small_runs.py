"""Every paper from cells to report, on small generated data."""

import dataclasses

import numpy as np
import pytest

from anystream.reproduce import Scale, Verdict, load_paper
from anystream.reproduce.cells import CellCache, run_cells
from anystream.reproduce.data import data_digest, fold, load
from anystream.reproduce.facts import Facts
from anystream.reproduce.markdown import render_markdown
from anystream.reproduce.paper import Report
from anystream.reproduce.run import NOT_THERE
from anystream.streams import Dataset
from anystream.streams.npz import write_npz

pytestmark = pytest.mark.slow


def write_data(folder, name, n_classes=3, n_features=4, n_records=96):
    rng = np.random.default_rng(len(name))
    y = np.arange(n_records) % n_classes
    X = rng.normal(size=(n_records, n_features)) + 1.5 * y[:, None]
    features = tuple(f"f{i}" for i in range(n_features))
    classes = tuple(f"c{i}" for i in range(n_classes))
    is_test = np.arange(n_records) % 4 == 3
    data = Dataset(name=name, X=X, y=y.astype(np.int64), feature_names=features, class_names=classes, is_test=is_test)
    write_npz(data, folder / f"{name}.npz")


@pytest.fixture
def data_home(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("ANYSTREAM_DATA", str(folder))
    for cached in (load, fold, data_digest):
        cached.cache_clear()
    yield folder
    for cached in (load, fold, data_digest):
        cached.cache_clear()


def run_small(name, folder, sources, wanted=lambda key: True, **inputs):
    """Run the wanted cells of a quick run, some inputs replaced; return the report as text, and its judgements."""
    paper, facts, scale = load_paper(name), Facts.load(name), Scale(quick=True)
    cells = {
        key: dataclasses.replace(cell, inputs={k: inputs.get(k, v) for k, v in cell.inputs.items()})
        for key, cell in paper.plan(scale, sources).items()
        if wanted(key)
    }
    left_out = {each: NOT_THERE for each in paper.data if each not in sources}
    results = dataclasses.replace(run_cells(cells, CellCache(folder / "cells")), left_out=left_out)
    assert not results.errors
    sections = paper.sections(results, scale, sources, facts)
    report = Report(paper, facts.reference, True, paper.settings(scale), {}, [], sections)
    claims = [claim for section in sections for claim in section.claims]
    return render_markdown(report, name), [claim.judgement for claim in claims]


def test_bulk_loading_runs_on_small_data(data_home):
    for name in ("letter", "vowel", "covtype"):
        write_data(data_home, name)
    sources = {name: name for name in ("letter", "vowel", "covtype")}
    text, judged = run_small("bulk-loading", data_home, sources, lambda key: key[3] == 0 or "Virtual" not in key[2])
    assert "pendigits (not in the data home)" in text
    assert "letter: EMTopDown" in text
    assert Verdict.UNTESTED in {each.verdict for each in judged}


def test_kaoginc_runs_on_one_seed(data_home, monkeypatch):
    from anystream.evaluate import place_interleaved_drifts
    from anystream.reproduce.measures import graph as measures
    from anystream.reproduce.papers import kaoginc

    drifts, length = place_interleaved_drifts(4, pairs_per_concept=5)
    for name, value in (("PAIRS", 5), ("DRIFTS", drifts), ("LENGTH", length)):
        monkeypatch.setattr(measures, name, value)
    monkeypatch.setattr(kaoginc, "seeds", lambda scale: range(7, 8))
    text, judged = run_small("kaoginc", data_home, {})
    assert Verdict.UNTESTED not in {each.verdict for each in judged}  # everything is generated
    assert "Sine: OnlineTree2" in text


def test_locust_runs_on_a_generated_stream_and_judges_only_the_workloads(data_home, monkeypatch):
    from anystream.reproduce.measures import locust as measures

    monkeypatch.setattr(measures, "BLOCK", 800)
    monkeypatch.setattr(measures, "_SAMPLES", (1, 4))
    small = {
        "max_records": 3000,
        "test_every": 40,
        "n_clusters": 20,
        "duration_s": 40.0,
        "speed": 0.02,
        "max_steps": 20,
    }
    text, judged = run_small("locust", data_home, {}, **small)
    assert "kddcup99_10pct (not in the data home" in text
    assert "generated, published" in text
    assert sum(each.verdict is not Verdict.UNTESTED for each in judged) == 3  # Figure 4 needs no data set


def test_anytime_neighbours_run_on_small_data(data_home):
    for name in ("australian", "ionosphere", "Fish"):
        write_data(data_home, name)
    sources = {name: name for name in ("australian", "ionosphere", "Fish")}
    text, judged = run_small("anytime-neighbours", data_home, sources, lambda key: key[1] != "JF", n_queries=3)
    assert "| Fish | 3 (4.2 %)" in text
    assert Verdict.NOT in {each.verdict for each in judged} or Verdict.REPRODUCED in {each.verdict for each in judged}
