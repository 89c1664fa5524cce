import json
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import anystream
from anystream import AnytimeForestClassifier
from cli.program import run_program

NAMES = ["size", "age"]


@pytest.fixture
def data(tmp_path):
    """Records with a column that the model does not use, as a table and as arrays."""
    rng = np.random.default_rng(0)
    records, labels = rng.normal(size=(300, 2)).round(3), np.repeat([0, 1, 2], 100)
    records[:, 0] += 2 * labels
    lines = ["id,age,size,class"]
    lines += [
        f"r{i},{age},{size},{'abc'[label]}" for i, ((size, age), label) in enumerate(zip(records, labels, strict=True))
    ]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    return records, labels


@pytest.fixture
def booster(data, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    records, labels = data
    parameters = {"objective": "multiclass", "num_class": 3, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(records, labels, feature_name=NAMES), 10)
    booster.save_model(tmp_path / "model.txt")
    return booster


def test_an_imported_model_classifies_a_table_as_its_framework(booster, data, tmp_path):
    done = run_program("import", "model.txt", "--classes", "a,b,c", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "classes (3): a, b, c" in done.stdout
    assert "lightgbm" in done.stdout.lower()
    assert "30 trees" in done.stdout
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = run_program("classify", "model.safetensors", "data.csv", "--within", "10s", "--key", "id", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    expected = {f"r{i}": "abc"[best] for i, best in enumerate(booster.predict(data[0]).argmax(axis=1))}
    assert {answer["key"]: answer["label"] for answer in answers} == expected


def test_evaluate_simulate_and_inspect_work_on_an_imported_model(booster, data, tmp_path):
    assert run_program("import", "model.txt", "--classes", "a,b,c", cwd=tmp_path).returncode == 0
    arguments = ("evaluate", "model.safetensors", "data.csv", "--label", "class", "--budgets", "0,10,10000", "--json")
    done = run_program(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    own = (booster.predict(data[0]).argmax(axis=1) == data[1]).mean()
    assert json.loads(done.stdout)["accuracy"][-1] == pytest.approx(own)
    done = run_program("inspect", "model.safetensors", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert (content["kind"], content["classes"]) == ("forest", ["a", "b", "c"])
    assert [column["name"] for column in content["schema"]["columns"]] == NAMES
    arguments = ("simulate", "model.safetensors", "--data", "data.csv", "--duration", "1s", "--machines", "1")
    done = run_program(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_summary_as_json_and_columns_that_the_file_does_not_name(data, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    features = xgboost.DMatrix(data[0], data[1])
    booster = xgboost.train({"objective": "multi:softprob", "num_class": 3, "nthread": 1}, features, 4)
    booster.save_model(tmp_path / "model.ubj")
    done = run_program("import", "model.ubj", "-o", "x.safetensors", "--features", "size, age", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["trees"], summary["classes"]) == (12, [0, 1, 2])
    assert [column["name"] for column in summary["schema"]["columns"]] == NAMES
    assert summary["max_steps"] == anystream.load(tmp_path / "x.safetensors").max_steps_


@pytest.mark.parametrize("order", ["gain", "squirrel"])
def test_the_order_is_computed_on_a_table_and_all_steps_give_the_same_labels(booster, data, tmp_path, order):
    arguments = ("import", "model.txt", "--classes", "a,b,c", "--order-on", "data.csv", "--label", "class")
    done = run_program(*arguments, "--order", order, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["order"] == order
    model = anystream.load(tmp_path / "model.safetensors")
    expected = AnytimeForestClassifier.from_model(booster, order=order).order_on(*data)
    assert model.order_.tolist() == expected.order_.tolist()
    labels = np.array(list("abc"))[booster.predict(data[0]).argmax(axis=1)]
    assert (model.predict(data[0], budget=model.max_steps_) == labels).all()


@pytest.mark.parametrize("dump", [joblib.dump, lambda model, path: path.write_bytes(pickle.dumps(model))])
def test_pickles_are_refused_with_the_lines_that_import_them(dump, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dump(RandomForestClassifier(3).fit(*data), tmp_path / "model.joblib")
    done = run_program("import", "model.joblib", cwd=tmp_path)
    assert done.returncode == 2
    assert "pickle or joblib file, which can run any code" in done.stderr
    assert not (tmp_path / "model.safetensors").exists()
    lines = done.stderr.partition("run in Python: ")[2]
    if dump is joblib.dump:
        exec("import anystream, joblib\n" + lines)  # as printed
        assert anystream.load("model.safetensors").n_features_in_ == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("model.txt", "--classes", "a,b"), "--classes has 2 names, the model has 3 classes"),
        (("model.txt", "--classes", "a,b,a"), "has the name 'a' twice"),
        (("model.txt", "--features", "size"), "--features has 1 names, the model has 2 features"),
        (("model.txt", "-o", "model.txt"), "--output is model.txt"),
        (("model.txt", "--order", "random"), "--order is 'random'; choose auto, gain or squirrel"),
        (("model.txt", "--label", "class"), "--order, --confidence and --label belong to --order-on"),
        (("model.txt", "--order-on", "data.csv"), "name the column of the class label with --label"),
        (("model.txt", "--order-on", "data.csv", "--label", "class"), "those of the model are of type int"),
        (("data.csv",), "which no known format does"),
        (("nothing.txt",), "nothing.txt"),
    ],
)
def test_wrong_usage_is_reported_and_writes_nothing(booster, tmp_path, arguments, message):
    before = sorted(tmp_path.iterdir())
    done = run_program("import", *arguments, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert sorted(tmp_path.iterdir()) == before
