"""A forest of another framework, imported by the command line and served."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from anystream import AnytimeForestClassifier
from cli.program import run_program
from server.serving import serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("imported")


def draw(n, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    return rng.normal(size=(n, 2)) + 1.5 * labels[:, np.newaxis], labels


def test_an_imported_model_is_served_and_answers_as_its_framework(folder):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = draw(400, 0)
    parameters = {"objective": "multiclass", "num_class": 3, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, y, feature_name=["size", "age"]), 10)
    booster.save_model(folder / "model.txt")
    done = run_program("import", "model.txt", "--classes", "a,b,c", "-o", "boosted.safetensors", cwd=folder)
    assert done.returncode == 0, done.stderr
    queries = draw(60, 1)[0]
    expected = booster.predict(queries)
    with serving(folder / "boosted.safetensors") as served:
        metadata = served.get("/v2/models/boosted").json()
        assert metadata["platform"] == "anystream_forest"
        rows = [{"size": size, "age": age} for size, age in queries.tolist()]
        answers = served.post("/v1/classify?probabilities=true", rows).json()["answers"]
        assert [answer["label"] for answer in answers] == ["abc"[best] for best in expected.argmax(axis=1)]
        tensor = {"name": "features", "shape": [60, 2], "datatype": "FP64", "data": queries.ravel().tolist()}
        outputs = served.post("/v2/models/boosted/infer", {"inputs": [tensor]}).json()["outputs"]
        assert outputs[0]["data"] == [answer["label"] for answer in answers]
        refused = served.post("/v1/learn", rows[0] | {"label": "a"})
        assert refused.status >= 400


def test_confident_answers_are_marked_by_the_server_and_counted_in_its_metrics(folder):
    X, y = draw(900, 2)
    forest = RandomForestClassifier(60, random_state=0, n_jobs=1).fit(X[:400], y[:400])
    model = AnytimeForestClassifier.from_model(forest, confidence=0.9, n_jobs=1).calibrate_on(X[400:])
    model.save(folder / "early.safetensors")
    queries = draw(50, 3)[0]
    with serving(folder / "early.safetensors") as served:
        rows = [{"0": a, "1": b} for a, b in queries.tolist()]
        answers = served.post("/v1/classify", rows).json()["answers"]
        marks = [answer["confident"] for answer in answers]
        assert any(marks)
        assert not any(answer["certified"] for answer in answers if answer["confident"])
        body = {
            "inputs": [{"name": "features", "shape": [50, 2], "datatype": "FP64", "data": queries.ravel().tolist()}],
            "outputs": [{"name": "confident"}, {"name": "label"}],
        }
        response = served.post("/v2/models/early/infer", body).json()
        assert response["parameters"]["confident"] is True
        assert any(response["outputs"][0]["data"])
        counted = [line for line in served.get("/metrics").body.decode().splitlines() if "anystream_confident_" in line]
        assert sum(float(line.split()[-1]) for line in counted if line.startswith("anystream_confident_total")) > 0
