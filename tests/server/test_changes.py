"""Models that are loaded, swapped, rolled back and watched; and who may do that."""

import shutil

import numpy as np
import pytest

from anystream import BayesTreeClassifier
from server.serving import serving, wait_until

TOKEN = "a-token-of-some-length"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
RECORD = {"0": 1.0, "1": 2.0, "2": 0.5, "3": 1.0}


@pytest.fixture
def folder(model_files, tmp_path):
    """A folder with one model, `m`, and a file beside it whose labels are others."""
    shutil.copy(model_files / "numbers.safetensors", tmp_path / "m.safetensors")
    rng = np.random.default_rng(3)
    BayesTreeClassifier().fit(rng.normal(size=(80, 4)), rng.integers(5, 7, size=80)).save(
        tmp_path / "other.safetensors"
    )
    return tmp_path


def label_of(served):
    answer = served.post("/v1/classify?model=m", RECORD).json()
    return answer["version"], answer["answers"][0]["label"] >= 5


def test_a_model_is_swapped_rolled_back_and_unloaded(folder):
    with serving(folder / "m.safetensors", folders=(folder,)) as served:
        assert label_of(served) == ("1", False)
        swapped = served.post("/v1/models/m/load", {"file": "other.safetensors"})
        assert (swapped.status, swapped.json()["version"], swapped.json()["previous_version"]) == (200, "2", "1")
        assert label_of(served) == ("2", True)
        assert served.post("/v1/models/m/load", {"file": "other.safetensors"}).json()["version"] == "2"
        assert served.post("/v1/models/m/rollback", b"").json()["version"] == "1"
        assert label_of(served) == ("1", False)
        assert served.post("/v1/models/m/rollback", b"").json()["version"] == "2"
        index = served.post("/v2/repository/index", b"").json()
        assert [(each["name"], each["version"], each["state"]) for each in index] == [("m", "2", "READY")]
        assert served.post("/v2/repository/models/m/unload", b"").status == 200
        assert served.get("/v1/models/m").status == 404
        assert served.get("/readyz").status == 503
        assert served.post("/v2/repository/models/m/load", {}).status == 200
        assert label_of(served)[1] is True
        assert served.post("/v1/models/other/load", b"").json()["name"] == "other"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/models/m/load", {"file": "../m.safetensors"}, 404),
        ("/v1/models/m/load", {"file": "/etc/passwd"}, 404),
        ("/v1/models/m/load", {"file": "a\x00b"}, 404),
        ("/v1/models/m/load", {"file": "broken.safetensors"}, 400),
        ("/v1/models/m/load", {"file": 3}, 400),
        ("/v1/models/..%2Fm/load", {}, 404),
        ("/v1/models/nothing/load", {}, 404),
        ("/v1/models/nothing/rollback", {}, 404),
        ("/v1/models/m/rollback", {}, 409),
        ("/v1/models/nothing/unload", {}, 404),
    ],
)
def test_a_change_that_fails_leaves_the_model(folder, path, body, status):
    (folder / "broken.safetensors").write_bytes(b"nonsense")
    inner = folder / "inner"
    inner.mkdir()
    shutil.copy(folder / "m.safetensors", inner)
    with serving(inner / "m.safetensors", folders=(inner,)) as served:
        shutil.copy(folder / "broken.safetensors", inner)
        response = served.post(path, body)
        assert response.status == status, response.body
        assert response.json()["error"]
        assert label_of(served) == ("1", False)


def test_changes_need_the_token_and_answers_do_not(folder):
    with serving(folder / "m.safetensors", folders=(folder,), token=TOKEN) as served:
        load = {"file": "other.safetensors"}
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "Bearer é"}):
            response = served.request("POST", "/v1/models/m/load", b"{}", headers)
            assert response.status == 401
            assert response.headers["www-authenticate"] == "Bearer"
        assert label_of(served) == ("1", False)
        assert served.post("/v1/models/m/load", load, BEARER).status == 200
        assert label_of(served) == ("2", True)


def test_everything_but_health_needs_the_token_by_option(folder):
    with serving(folder / "m.safetensors", token=TOKEN, token_for_all=True) as served:
        assert served.post("/v1/classify", RECORD).status == 401
        assert served.get("/metrics").status == 401
        assert served.get("/v2/models/m").status == 401
        assert served.get("/healthz").status == served.get("/v2/health/live").status == 200
        assert served.post("/v1/classify", RECORD, BEARER).status == 200


def test_without_a_token_changes_do_not_exist_beyond_loopback(folder):
    with serving(folder / "m.safetensors", host="0.0.0.0") as served:
        assert served.post("/v1/models/m/unload", b"").status == 404
        assert served.post("/v1/learn", b"{}").status == 404
        assert served.post("/v1/classify", RECORD).status == 200


def test_a_page_of_another_site_may_not_change_models_on_loopback(folder):
    with serving(folder / "m.safetensors") as served:
        assert served.post("/v1/models/m/unload", b"", {"Origin": "http://evil.example"}).status == 403
        host = f"127.0.0.1:{served.port}"
        assert served.post("/v1/models/m/unload", b"", {"Origin": f"http://{host}"}).status == 200


def test_a_short_token_and_a_missing_one_are_refused(folder):
    for settings in ({"token": "short"}, {"token_for_all": True}):
        with pytest.raises(ValueError, match="token"), serving(folder / "m.safetensors", **settings):
            pass


def test_watched_files_are_loaded_when_they_are_replaced_and_damaged_ones_are_not(folder):
    models = folder / "watched"
    models.mkdir()
    shutil.copy(folder / "m.safetensors", models)
    with serving(models, watched=(str(models),)) as served:
        assert label_of(served) == ("1", False)
        (models / "m.safetensors").write_bytes(b"half a file")
        shutil.copy(folder / "other.safetensors", models / "new.safetensors")
        wait_until(lambda: served.get("/v1/models/new").status == 200)
        assert label_of(served) == ("1", False)
        shutil.copy(folder / "other.safetensors", models / "m.safetensors")
        wait_until(lambda: label_of(served) == ("2", True))
        (models / "new.safetensors").unlink()
        wait_until(lambda: served.get("/v1/models/new").status == 404)
