"""The examples and the code of the README run."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from anystream import BayesTreeClassifier

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_the_example_runs(example, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


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
