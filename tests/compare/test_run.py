from dataclasses import replace

import pytest

from anystream.compare import Method, load_task, run_comparison
from anystream.compare import run as run_module
from anystream.compare.tasks import Task
from cli.program import run_program
from compare.tiny import TINY, make_result

pytestmark = pytest.mark.slow

NB = Method("scikit-learn", "GaussianNB")


@pytest.fixture(scope="module")
def task():
    return load_task("SEA", TINY)


def test_a_finished_cell_is_read_instead_of_measured_again(task, tmp_path, monkeypatch):
    measured = []

    def measure(method, task: Task, settings):
        measured.append(method)
        return make_result(method.library, method.name, task=task.name)

    monkeypatch.setattr(run_module, "run_cell", measure)
    first = run_comparison([task], [NB], TINY, folder=tmp_path, isolate=False)
    assert run_comparison([task], [NB], TINY, folder=tmp_path, isolate=False) == first
    assert measured == [NB]
    both = [NB, Method("river", "HoeffdingTree")]
    assert run_comparison([task], both, TINY, folder=tmp_path, isolate=False, measure=False) == first
    assert measured == [NB]


def test_another_setting_is_measured_again(task, tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "run_cell", lambda method, task, settings: make_result(holdout=settings.seed / 10))
    run_comparison([task], [NB], TINY, folder=tmp_path, isolate=False)
    (other,) = run_comparison([task], [NB], replace(TINY, seed=2), folder=tmp_path, isolate=False)
    assert other.holdout == 0.2


def test_a_method_that_fails_does_not_end_the_comparison(task, monkeypatch):
    def measure(method, task, settings):
        if method == NB:
            raise RuntimeError("out of luck")
        return make_result(method.library, method.name)

    monkeypatch.setattr(run_module, "run_cell", measure)
    messages = []
    results = run_comparison([task], [NB, Method("river", "HoeffdingTree")], TINY, isolate=False, log=messages.append)
    assert [result.library for result in results] == ["river"]
    assert "SEA, scikit-learn GaussianNB failed: RuntimeError: out of luck" in messages


@pytest.mark.slow
def test_the_command_compares_in_processes_of_their_own_and_writes_the_report(tmp_path):
    pytest.importorskip("matplotlib")
    options = ["--quick", "--train", "100", "--test", "20", "--methods", "scikit-learn GaussianNB,micro-clusters"]
    done = run_program("compare", "SEA", *options, "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "anystream micro-clusters" in done.stdout
    assert "scikit-learn GaussianNB" in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("accuracy-over-latency.png", "budgets.csv", "cells", "report.md", "results.csv"),
    ]


def test_an_unknown_data_set_and_no_other_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("anystream.compare.tasks.load_dataset", lambda name: (_ for _ in ()).throw(LookupError("gone")))
    done = run_program("compare", "nowhere", "--quick", cwd=tmp_path)
    assert done.returncode == 2
    assert "nowhere is skipped: gone" in done.stderr
    assert "no data set is left to compare on" in done.stderr
