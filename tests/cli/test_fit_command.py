import json

import pytest

from anystream.cli.models import MAIN_KINDS, make_model
from cli.program import run_program


def test_fit_prints_the_columns_and_the_sizes(home):
    done = run_program("fit", "train.csv", "--label", "class", "--key", "id", "--model", "locust", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "2 categories: blue, red" in done.stdout
    assert "400 records, 3 features, 2 classes: fitted locust in" in done.stdout


def test_fit_prints_its_summary_as_json(home):
    arguments = ("fit", "train.csv", "--label", "class", "--ignore", "id", "--model", "locust", "--json")
    summary = json.loads(run_program(*arguments, cwd=home).stdout)
    assert (summary["kind"], summary["records"], summary["classes"]) == ("locust", 400, ["no", "yes"])
    assert [column["name"] for column in summary["schema"]["columns"]] == ["size", "colour"]


@pytest.mark.parametrize("kind", MAIN_KINDS)
def test_every_kind_of_model_is_fitted_and_classifies(home, kind):
    target = f"{kind}.safetensors"
    arguments = ("fit", "train.csv", "--label", "class", "--key", "id", "--model", kind, "-o", target)
    done = run_program(*arguments, cwd=home)
    assert done.returncode == 0, done.stderr
    done = run_program("classify", target, "test.csv", "--within", "5s", "--json", "-o", "answers.jsonl", cwd=home)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stderr)
    assert summary["answered"] == 200
    assert summary["accuracy"] > 0.7


def test_true_and_false_are_labels_as_json_writes_them(home):
    lines = [json.dumps({"size": size + 0.01 * i, "ok": size > 1}) for i in range(20) for size in (0.0, 2.0)]
    (home / "bool.jsonl").write_text("\n".join(lines) + "\n")
    assert run_program("fit", "bool.jsonl", "--label", "ok", "-o", "bool.safetensors", cwd=home).returncode == 0
    done = run_program("classify", "bool.safetensors", "bool.jsonl", "--json", cwd=home)
    assert {json.loads(line)["label"] for line in done.stdout.splitlines()} == {"true", "false"}
    assert json.loads(done.stderr)["accuracy"] == 1.0


def test_a_gain_table_needs_200_records(home):
    done = run_program("fit", "test.csv", "--label", "class", "--ignore", "id", "--gain-table", cwd=home)
    assert done.returncode == 0, done.stderr
    lines = (home / "test.csv").read_text().splitlines()
    (home / "short.csv").write_text("\n".join(lines[:200]) + "\n")  # with the header, 199 records
    done = run_program("fit", "short.csv", "--label", "class", "--ignore", "id", "--gain-table", cwd=home)
    assert done.returncode == 2
    assert "--gain-table needs at least 200 records, there are 199" in done.stderr


def test_settings_are_literals_or_text():
    model = make_model("bayes-tree", ["fanout=5", "bandwidth=haerdle", "n_jobs=None"])
    assert (model.fanout, model.bandwidth, model.n_jobs) == (5, "haerdle", None)
    with pytest.raises(ValueError, match="write name=value"):
        make_model("bayes-tree", ["fanout"])


def test_classifiers_for_comparison_are_not_offered():
    with pytest.raises(ValueError, match="there is no model 'locust-blocks'; choose one of bayes-tree, neighbors"):
        make_model("locust-blocks", [])
