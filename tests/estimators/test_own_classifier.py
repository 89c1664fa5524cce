"""The example of docs/how-to/own-classifier.md is short, runs, and keeps the contract."""

import ast
import re
from importlib import import_module
from pathlib import Path

import numpy as np

from anystream import check_anytime_classifier
from anystream.estimators import StepwiseClassifier

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "own-classifier.md"
CODE = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[1]


def test_the_example_takes_at_most_six_methods_and_eighty_lines():
    (definition,) = (node for node in ast.parse(CODE).body if isinstance(node, ast.ClassDef))
    assert sum(isinstance(node, ast.FunctionDef) for node in definition.body) <= 6
    assert len(CODE.splitlines()) < 80


def test_the_example_runs_and_improves_with_the_budget(capsys, tmp_path, monkeypatch):
    (tmp_path / "own_example.py").write_text(CODE, encoding="utf-8")  # a module, so that its class can be pickled
    monkeypatch.syspath_prepend(tmp_path)
    own = import_module("own_example").FeatureByFeature
    *lines, answer = capsys.readouterr().out.splitlines()
    accuracy = [float(line.split()[2]) for line in lines]
    assert len(accuracy) == 4
    assert accuracy[0] < accuracy[1] < accuracy[2] <= accuracy[3] + 0.02
    assert answer.startswith("Answer(898 records")
    assert issubclass(own, StepwiseClassifier)
    check_anytime_classifier(own(smoothing=0.5))
    with_missing = np.array([[np.nan, 1.0], [0.0, 1.0], [5.0, np.nan], [5.0, 2.0]])
    assert own().fit(with_missing, [0, 0, 1, 1]).predict([[5.0, np.nan]])[0] == 1
