import json
import re

import numpy as np
import pytest
from sklearn import metrics

from anystream import anytime_curve, load
from anystream.connectors.encode_table import encode_table
from anystream.connectors.file_formats import Table
from anystream.connectors.saved_model import open_model
from anystream.evaluate import run_prequential
from cli.program import run_program


def test_the_json_output_holds_the_anytime_curve(home):
    found = json.loads(run_program("evaluate", "model.safetensors", "test.csv", "--json", cwd=home).stdout)
    schema = open_model(home / "model.safetensors").schema
    X, y, _, _ = encode_table(schema, Table(str(home / "test.csv")), labelled=True)
    curve = anytime_curve(load(home / "model.safetensors"), X, np.array(y), stages=found["budgets"])
    assert found["budgets"] == [0, 1, 2, 5, 10, 20, 50, 100, 200]
    assert found["accuracy"] == curve.accuracy.tolist()
    assert found["records"] == 200
    assert found["mean"] == pytest.approx(curve.accuracy.mean())
    assert max(found["accuracy"]) > 0.8
    assert [found[name] for name in ("avg", "max", "mon", "area")] == [curve.avg, curve.max, curve.mon, curve.area]


def test_the_text_output_is_the_table_of_the_curve(home):
    done = run_program("evaluate", "model.safetensors", "test.csv", "--budgets", "0,3", cwd=home)
    title, header, *rows, measures, loss = done.stdout.split("\n")[:6]
    assert title == "200 records of test.csv"
    assert header.split() == ["steps", "accuracy"]
    assert [row.split()[0] for row in rows] == ["0", "3"]
    assert loss.startswith("log loss ")
    assert re.match(r"avg [\d.]+%, max [\d.]+%, mon [\d.]+% .*\barea [\d.]+%", measures)


def test_the_curve_is_drawn_into_a_file(home):
    done = run_program("evaluate", "model.safetensors", "test.csv", "--plot", "curve.png", cwd=home)
    assert done.returncode == 0, done.stderr
    assert (home / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_figures_by_class_and_log_loss_are_those_of_scikit_learn(home):
    done = run_program("evaluate", "model.safetensors", "test.csv", "--budgets", "0,5", "--json", cwd=home)
    found = json.loads(done.stdout)
    model, schema = load(home / "model.safetensors"), open_model(home / "model.safetensors").schema
    X, y, _, _ = encode_table(schema, Table(str(home / "test.csv")), labelled=True)
    answer = model.classify(X, budget=5)
    assert found["confusion"] == metrics.confusion_matrix(y, answer.labels).tolist()
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, answer.proba))
    precision, recall, _, support = metrics.precision_recall_fscore_support(y, answer.labels)
    assert [each["precision"] for each in found["classes"]] == pytest.approx(precision)
    assert [each["recall"] for each in found["classes"]] == pytest.approx(recall)
    assert [each["records"] for each in found["classes"]] == support.tolist()


@pytest.mark.parametrize("delay", [0, 30])
def test_a_prequential_run_has_the_measures_of_the_library(home, delay):
    arguments = ("evaluate", "model.safetensors", "test.csv", "--prequential", "--delay", str(delay), "--json")
    found = json.loads(run_program(*arguments, "--window", "50", cwd=home).stdout)
    model, schema = load(home / "model.safetensors"), open_model(home / "model.safetensors").schema
    X, y, _, _ = encode_table(schema, Table(str(home / "test.csv")), labelled=True)
    run = run_prequential(model, (X, np.array(y)), delay=delay, window=50)
    assert found["delay"] == delay
    measures = ("accuracy", "kappa", "kappa_m", "kappa_t")
    assert [found[name] for name in measures] == [getattr(run, name) for name in measures]
    assert found["errors"] == run.error_curve().tolist()
    again = json.loads(run_program(*arguments, "--window", "50", cwd=home).stdout)
    assert again == found  # the file has not learned


def test_a_prequential_run_prints_kappas_and_plots_the_error(home):
    arguments = ("evaluate", "model.safetensors", "test.csv", "--prequential", "--batch-size", "20", "--window", "50")
    done = run_program(*arguments, "--plot", "errors.png", cwd=home)
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in ("accuracy", "kappa-M", "kappa-T"))
    assert (home / "errors.png").read_bytes().startswith(b"\x89PNG")


def test_a_model_that_cannot_learn_has_no_prequential_run(home):
    run_program(
        "fit", "train.csv", "--label", "class", "--key", "id", "--model", "kaog", "-o", "k.safetensors", cwd=home
    )
    done = run_program("evaluate", "k.safetensors", "test.csv", "--prequential", cwd=home)
    assert done.returncode == 2
    assert "a model of kind kaog cannot learn from a stream; leave out --prequential" in done.stderr
