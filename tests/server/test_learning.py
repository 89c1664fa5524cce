"""Learning over HTTP: labelled records, labels by key, and nothing acknowledged lost."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import anystream
from anystream.runtime.records import Records
from anystream.server.journal import Journal, JournalError
from anystream.server.model_store import LearningSettings
from server.serving import serving


def learning_in(folder, **more):
    return LearningSettings(folder=folder, **more)


def records(n, label, first=0.0):
    return [{"0": first + i, "1": 40.0, "2": 40.0, "3": 40.0, "label": label} for i in range(n)]


def wait_until_learned(served, n, model="numbers"):
    until = time.monotonic() + 60
    while served.get(f"/v1/models/{model}").json()["learning"]["learned"] < n:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_labelled_records_are_learned_and_change_the_answers(model_files, tmp_path):
    with serving(model_files / "numbers.safetensors", learning=learning_in(tmp_path)) as served:
        far = {"0": 1.0, "1": 40.0, "2": 40.0, "3": 40.0}
        assert served.post("/v1/classify", far).json()["answers"][0]["label"] in (0, 1, 2)
        response = served.post("/v1/learn", records(30, 9))
        assert response.status == 200
        assert response.json() == {"model": "numbers", "accepted": 30, "acknowledged": 30}
        wait_until_learned(served, 30)
        assert served.post("/v1/classify", far).json()["answers"][0]["label"] == 9
        assert served.get("/v1/models/numbers").json()["classes"] == [0, 1, 2, 9]


def test_labels_by_key_are_matched_with_the_records_that_were_classified(model_files, tmp_path):
    with serving(model_files / "mixed.safetensors", learning=learning_in(tmp_path)) as served:
        rows = [{"id": f"k{i}", "size": i - 5.0, "colour": "red"} for i in range(10)]
        served.post("/v1/classify", rows)
        labels = [{"key": f"k{i}", "label": "yes" if i > 4 else "no"} for i in range(8)] + [
            {"key": "k0", "label": "no"}
        ]
        response = served.post("/v1/learn", {"labels": labels}).json()
        assert (response["accepted"], response["unmatched_keys"]) == (8, ["k0"])
        wait_until_learned(served, 8, "mixed")
        counts = next(iter(served.service.store.figures().values())).snapshot()["counts"]
        assert (counts["judged"], counts["acknowledged"]) == (8, 8)
        assert 0 < counts["right"] <= 8


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ([{"0": 1.0}], 400, "label is missing"),
        ([{"0": 1.0, "label": "text"}], 400, "'text'"),
        ([{"0": 1.0, "label": 1.5}], 400, "1.5"),
        ([{"0": 1e101, "label": 1}], 400, "beyond"),
        ({"labels": [{"key": "a"}]}, 400, "label"),
        ({"labels": [{"key": "a", "label": "x"}]}, 400, "labels[0]"),
        ({"labels": []}, 400, "no records"),
        ({"labels": [{"key": ["a"], "label": 1}]}, 400, "key"),
        (b"", 400, "malformed"),
    ],
)
def test_what_cannot_be_learned_is_an_error_and_nothing_is_learned(learning_server, body, status, word):
    response = learning_server.post("/v1/learn", body)
    assert response.status == status, response.body
    assert word in response.json()["error"]
    assert learning_server.get("/v1/models/numbers").json()["learning"]["acknowledged"] == 0


@pytest.fixture(scope="module")
def learning_server(model_files, tmp_path_factory):
    with serving(model_files / "numbers.safetensors", learning=learning_in(tmp_path_factory.mktemp("learn"))) as served:
        yield served


def test_a_server_without_learning_says_so(served):
    response = served.post("/v1/learn?model=numbers", records(1, 1))
    assert response.status == 409
    assert "--learn" in response.json()["error"]


def test_a_restarted_server_continues_with_what_it_has_learned(model_files, tmp_path):
    path = model_files / "numbers.safetensors"
    for n_before in (0, 20, 40):
        with serving(path, learning=learning_in(tmp_path, checkpoint_s=0.05)) as served:
            assert served.get("/v1/models/numbers").json()["learning"]["acknowledged"] == n_before
            wait_until_learned(served, n_before)
            assert served.post("/v1/learn", records(20, 50 + n_before)).json()["acknowledged"] == n_before + 20
    with serving(path, learning=learning_in(tmp_path)) as served:
        assert served.get("/v1/models/numbers").json()["classes"] == [0, 1, 2, 50, 70, 90]
    with serving(path) as served:
        assert served.get("/v1/models/numbers").json()["classes"] == [0, 1, 2]


def test_rolling_back_finds_what_each_model_had_learned(model_files, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    model = anystream.load(model_files / "numbers.safetensors")
    model.save(folder / "m.safetensors")
    model.partial_fit([[9.0, 9.0, 9.0, 9.0]], [7]).save(folder / "next.safetensors")
    with serving(folder / "m.safetensors", folders=(folder,), learning=learning_in(tmp_path / "learn")) as served:
        served.post("/v1/learn", records(5, 100))
        served.post("/v1/models/m/load", {"file": "next.safetensors"})
        served.post("/v1/learn", records(5, 200))
        wait_until_learned(served, 5, "m")
        assert served.get("/v1/models/m").json()["classes"] == [0, 1, 2, 7, 200]
        assert served.post("/v1/models/m/rollback", b"").json()["classes"] == [0, 1, 2, 100]


def test_nothing_acknowledged_is_lost_when_the_server_is_killed():
    command = [sys.executable, str(Path(__file__).with_name("killed_server.py")), "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["kills"] == 3
    assert report["lost"] == 0
    assert report["acknowledged"] > 0


def labelled(n, first=0):
    return Records.from_features([[float(first + i), 0.5] for i in range(n)], label=[first + i for i in range(n)])


def test_a_journal_is_read_from_any_position_over_segments(tmp_path):
    journal = Journal(tmp_path)
    for first in range(0, 50, 5):
        journal.append(labelled(5, first))
        if first % 10 == 5:
            journal.begin_segment()
    journal.close()
    for position in (0, 3, 10, 25, 49, 50):
        reopened = Journal(tmp_path)
        found = [label for part in reopened.read_from(position) for label in part.label.tolist()]
        assert found == list(range(position, 50))
        assert reopened.position == 50
        reopened.close()
    journal.remove_before(20)
    with pytest.raises(JournalError):
        list(journal.read_from(0))
    assert [label for part in journal.read_from(20) for label in part.label.tolist()] == list(range(20, 50))


def test_an_unfinished_entry_is_removed_and_a_damaged_one_is_an_error(tmp_path):
    journal = Journal(tmp_path)
    for first in (0, 5, 10):
        journal.append(labelled(5, first))
    journal.close()
    path = tmp_path / "journal-0.log"
    whole = path.read_bytes()
    for n_bytes in range(len(whole)):
        path.write_bytes(whole[:n_bytes])
        cut = Journal(tmp_path)
        assert cut.position == 5 * (3 * n_bytes // len(whole))
        cut.append(labelled(1, cut.position))
        cut.close()
        assert Journal(tmp_path).position == cut.position
    path.write_bytes(whole[:20] + b"\xff" + whole[21:])
    with pytest.raises(JournalError, match="damaged"):
        Journal(tmp_path)
