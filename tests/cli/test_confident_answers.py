"""Answers that a test ended, not a certificate, are marked so wherever answers are written."""

import csv
import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import anystream
from anystream import AnytimeForestClassifier
from anystream.connectors.schema import Column, Schema
from cli.program import run_program


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A forest that stops at a confidence, one that does not, and a table."""
    folder = tmp_path_factory.mktemp("confident")
    rng = np.random.default_rng(0)
    y = np.arange(900) % 2
    X = (rng.normal(size=(900, 2)) + 2.0 * y[:, None]).round(3)
    forest = RandomForestClassifier(60, random_state=0, n_jobs=1).fit(X[:300], y[:300])
    model = AnytimeForestClassifier.from_model(forest, confidence=0.95, n_jobs=1).calibrate_on(X[300:700])
    notes = {"schema": Schema((Column("a"), Column("b")), label="class", label_type="int").to_json()}
    model.save(folder / "early.safetensors", notes=notes)
    AnytimeForestClassifier.from_model(forest, n_jobs=1).save(folder / "whole.safetensors", notes=notes)
    lines = [f"{a},{b},{label}" for (a, b), label in zip(X[700:].tolist(), y[700:].tolist(), strict=True)]
    (folder / "test.csv").write_text("\n".join(["a,b,class", *lines]) + "\n")
    return folder


def classify(folder, model, output, *options):
    arguments = ("classify", model, "test.csv", "-o", output, "--budget", "14", "--json", *options)
    done = run_program(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1] if done.stderr.strip().endswith("}") else done.stdout)


def expected_marks(folder):
    table = np.loadtxt(folder / "test.csv", delimiter=",", skiprows=1)
    answer = anystream.load(folder / "early.safetensors").classify(table[:, :2], budget=14)
    assert 0 < answer.confident.sum() < len(answer)
    assert not (answer.confident & answer.certified).any()
    return answer.confident.tolist()


def test_json_lines_csv_parquet_and_the_summary_mark_confident_answers(folder):
    marks = expected_marks(folder)
    summary = classify(folder, "early.safetensors", "answers.jsonl")
    assert summary["confident"] == sum(marks)
    answers = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    assert [answer.get("confident", False) for answer in answers] == marks
    assert not any(answer["certified"] for answer in answers if answer.get("confident"))
    classify(folder, "early.safetensors", "answers.csv")
    with (folder / "answers.csv").open() as file:
        assert [row["confident"] == "1" for row in csv.DictReader(file)] == marks
    parquet = pytest.importorskip("pyarrow.parquet")
    classify(folder, "early.safetensors", "answers.parquet")
    assert parquet.read_table(folder / "answers.parquet")["confident"].to_pylist() == marks


def test_models_without_a_confidence_have_no_such_column(folder):
    summary = classify(folder, "whole.safetensors", "whole.csv")
    assert "confident" not in summary
    assert (folder / "whole.csv").read_text().startswith("key,label,confidence,steps,certified,late,reached\n")


def test_evaluate_tells_the_shares_of_certified_and_confident_answers(folder):
    marks = expected_marks(folder)
    arguments = ("evaluate", "early.safetensors", "test.csv", "--label", "class", "--budgets", "0,14")
    done = run_program(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"{np.mean(marks):.1%} confident" in done.stdout
    figures = json.loads(run_program(*arguments, "--json", cwd=folder).stdout)
    assert figures["confident"] == pytest.approx(np.mean(marks))
    done = run_program("evaluate", "whole.safetensors", *arguments[2:], cwd=folder)
    assert "certified" in done.stdout
    assert "confident" not in done.stdout
