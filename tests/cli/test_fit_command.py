import json

import pytest

from anystream import BayesTreeClassifier, KAOGINCClassifier, LocustClassifier
from anystream.anytime import PerformanceProfile
from anystream.cli.models import MAIN_KINDS, OTHER_KINDS, make_model
from anystream.connectors.saved_model import open_model
from cli.program import run_program


def test_fit_prints_the_columns_and_the_sizes(home):
    done = run_program("fit", "train.csv", "--label", "class", "--key", "id", "--model", "locust", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "2 categories: blue, red" in done.stdout
    assert "400 records, 2 features, 2 classes: fitted locust in" in done.stdout


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


def test_a_profile_is_the_curve_on_every_tenth_record(home):
    arguments = ("fit", "train.csv", "--label", "class", "--ignore", "id", "--model", "locust", "--profile")
    done = run_program(*arguments, cwd=home)
    assert done.returncode == 0, done.stderr
    found = open_model(home / "model.safetensors")
    profile = PerformanceProfile.from_json(found.notes["performance_profile"])
    assert profile.n_records == 40
    assert profile.stages[0] == 0
    assert profile.accuracy[-1] > 0.7
    assert json.loads(run_program("inspect", "model.safetensors", "--json", cwd=home).stdout)["profile"]
    lines = (home / "test.csv").read_text().splitlines()
    (home / "short.csv").write_text("\n".join(lines[:200]) + "\n")  # with the header, 199 records
    done = run_program("fit", "short.csv", "--label", "class", "--ignore", "id", "--profile", cwd=home)
    assert done.returncode == 2
    assert "--profile needs at least 200 records, there are 199" in done.stderr


def test_settings_are_literals_or_text():
    model = make_model("bayes-tree", ["fanout=5", "bandwidth=haerdle", "n_jobs=None"])
    assert (model.fanout, model.bandwidth, model.n_jobs) == (5, "haerdle", None)
    with pytest.raises(ValueError, match="write name=value"):
        make_model("bayes-tree", ["fanout"])


def test_an_unknown_model_is_reported_with_all_that_there_are():
    with pytest.raises(ValueError, match=r"there is no model 'oracle'; choose one of bayes-tree, .*, of bt-star, "):
        make_model("oracle", [])


def test_published_algorithms_are_those_of_their_classes():
    assert make_model("bt-star", ["fanout=5"]).get_params() == BayesTreeClassifier.bt_star(fanout=5).get_params()
    assert make_model("published-locust", []).get_params() == LocustClassifier.paper().get_params()
    assert make_model("published-kaoginc", []).get_params() == KAOGINCClassifier.paper().get_params()
    assert make_model("published-sea", []).capacity == 25
    with pytest.raises(ValueError, match=r"published-locust has no parameter 'fanout'; it has .*bias"):
        make_model("published-locust", ["fanout=5"])


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_every_model_for_comparison_is_fitted_and_evaluated_prequentially(home, kind):
    target = f"{kind}.safetensors"
    arguments = ("fit", "train.csv", "--label", "class", "--key", "id", "--model", kind, "-o", target)
    done = run_program(*arguments, cwd=home)
    assert done.returncode == 0, done.stderr
    done = run_program("evaluate", target, "test.csv", "--prequential", "--delay", "20", "--json", cwd=home)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["accuracy"] > 0.7
