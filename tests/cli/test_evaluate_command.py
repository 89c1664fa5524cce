import json

import numpy as np
import pytest

from anystream import anytime_curve, load
from anystream.cli.encode_table import encode_labelled_table
from anystream.cli.file_formats import read_columns
from anystream.cli.saved_model import open_model
from cli.program import run_program


def test_the_json_output_holds_the_anytime_curve(home):
    found = json.loads(run_program("evaluate", "model.safetensors", "test.csv", "--json", cwd=home).stdout)
    assert found.keys() == {"records", "budgets", "accuracy", "mean"}
    schema, columns = open_model(home / "model.safetensors").schema, read_columns(str(home / "test.csv"))
    X, y = encode_labelled_table(schema, columns, "test.csv")
    curve = anytime_curve(load(home / "model.safetensors"), X, np.array(y), stages=found["budgets"])
    assert found["budgets"] == [0, 1, 2, 5, 10, 20, 50, 100, 200]
    assert found["accuracy"] == curve.accuracy.tolist()
    assert found["records"] == 200
    assert found["mean"] == pytest.approx(curve.accuracy.mean())
    assert max(found["accuracy"]) > 0.8


def test_the_text_output_is_the_table_of_the_curve(home):
    done = run_program("evaluate", "model.safetensors", "test.csv", "--budgets", "0,3", cwd=home)
    title, header, *rows, measures = done.stdout.splitlines()
    assert title == "200 records of test.csv"
    assert header.split() == ["steps", "accuracy"]
    assert [row.split()[0] for row in rows] == ["0", "3"]
    assert measures.startswith("avg ")


def test_the_curve_is_drawn_into_a_file(home):
    done = run_program("evaluate", "model.safetensors", "test.csv", "--plot", "curve.png", cwd=home)
    assert done.returncode == 0, done.stderr
    assert (home / "curve.png").read_bytes().startswith(b"\x89PNG")
