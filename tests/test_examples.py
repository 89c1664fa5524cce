"""The examples and the code of the README run."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from anystream import BayesTreeClassifier

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def run_example(name, capsys, monkeypatch, tmp_path):
    """Run an example small, without the data sets that it can do without, and return what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANYSTREAM_DATA", str(tmp_path))
    monkeypatch.setattr("sys.argv", [name])
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out


def percentages(line):
    return [float(number) for number in re.findall(r"([\d.]+)%", line)]


@pytest.mark.parametrize("name", ["deadline", "look_inside", "stream", "intrusion", "electricity"])
def test_the_example_runs(name, capsys, monkeypatch, tmp_path):
    assert run_example(name, capsys, monkeypatch, tmp_path)


def test_every_example_is_run_here_and_named_in_the_docs():
    tests, page = Path(__file__).read_text(), (ROOT / "docs" / "examples.md").read_text()
    for path in (ROOT / "examples").iterdir():
        if path.suffix in (".py", ".ipynb"):
            assert f'"{path.stem}"' in tests
            assert f"examples/{path.name}" in page


def test_the_insect_trap_decides_in_time_in_a_swarm(capsys, monkeypatch, tmp_path):
    fixed, shared = run_example("insect_trap", capsys, monkeypatch, tmp_path).splitlines()[-2:]
    assert percentages(fixed)[0] < 50
    assert percentages(shared)[0] > 99


def test_fish_are_recognised_in_any_rotation(capsys, monkeypatch, tmp_path):
    lines = run_example("fish_shapes", capsys, monkeypatch, tmp_path).splitlines()
    euclidean, rotation = percentages(lines[-2])
    assert rotation > euclidean + 20


@pytest.mark.slow
def test_a_lightgbm_model_is_served_by_its_deadlines(capsys, monkeypatch, tmp_path):
    pytest.importorskip("lightgbm")
    pytest.importorskip("starlette")
    patient, _ = run_example("lightgbm_server", capsys, monkeypatch, tmp_path).splitlines()
    answers, right = re.search(r"(\d+) answers .* (\d+) right", patient).groups()
    assert int(right) > 0.8 * int(answers)


@pytest.mark.slow
def test_the_notebook_runs_and_is_stored_with_small_outputs(tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="needs the group notebook; make test-docs installs it")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    path = ROOT / "examples" / ("anytime" + ".ipynb")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs for cell in codes)  # it renders where nobody runs it
    assert path.stat().st_size < 100_000
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()


def test_the_readme_example_improves_with_the_budget(capsys):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    exec(compile(code, "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    right = [float(line.split()[1]) for line in lines[:4]]
    assert right[0] < right[2] <= right[3] + 0.01
    assert lines[4].startswith("Answer(898 records")


def test_the_program_of_the_runtime_page_begins_a_run_and_continues_it(monkeypatch, tmp_path):
    page = (ROOT / "docs" / "explanations" / "runtime.md").read_text()
    code = re.search(r"begins a run and continues it:\n\n```python\n(.*?)```", page, re.S)[1]
    monkeypatch.chdir(tmp_path)
    BayesTreeClassifier().fit(np.array([[0.0, 0.0], [0.1, 0.2], [1.0, 1.0], [1.1, 0.9]]), [0, 0, 1, 1]).save(
        "model.safetensors"
    )
    Path("records.csv").write_text("id,a,b,class\n" + "".join(f"r{i},{i % 2},{i % 2},{i % 2}\n" for i in range(40)))
    for n_records in (40, 41, 42):
        names = {}
        exec(compile(code, "docs/explanations/runtime.md", "exec"), names)
        assert names["summary"].answered == n_records
        assert names["engine"].learner.learned == n_records
        keys = [json.loads(line)["key"] for line in Path("answers.jsonl").read_text().splitlines()]
        assert keys == [f"r{i}" for i in range(n_records)]
        with open("records.csv", "a") as file:
            file.write(f"r{n_records},0,0,0\n")
