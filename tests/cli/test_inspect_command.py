import json

from cli.program import run_program


def test_inspect_shows_the_content_of_a_model_file(home):
    found = json.loads(run_program("inspect", "model.safetensors", "--json", cwd=home).stdout)
    assert (found["kind"], found["classes"], found["gain_table"]) == ("bayes-tree", ["no", "yes"], True)
    assert found["chosen"].keys() >= {"metric", "bandwidth", "decision", "root_weight"}
    assert all(found["parameters"].get(name) != value for name, value in found["chosen"].items())
    text = run_program("inspect", "model.safetensors", cwd=home).stdout
    assert "gain table: yes" in text
    assert "chosen by fit: metric=" in text


def test_inspect_names_the_options_that_add_a_gain_table_and_a_profile(home):
    run_program("fit", "train.csv", "--label", "class", "--ignore", "id", "--model", "locust", cwd=home)
    text = run_program("inspect", "model.safetensors", cwd=home).stdout
    assert "gain table: no (fit with --gain-table)" in text
    assert "profile: no (fit with --profile)" in text
    assert "chosen by fit" not in text
