"""The records API: every content type, one record and many."""

import json

import numpy as np
import pyarrow as pa
import pytest

import anystream
from server.serving import PATIENT_MS


def test_one_record_and_many_get_the_labels_of_the_model(served, blobs, model_files):
    X, _ = blobs
    expected = anystream.load(model_files / "numbers.safetensors").predict(X[:40]).tolist()
    names = [str(name) for name in range(4)]
    rows = [dict(zip(names, row, strict=True)) for row in X[:40].tolist()]
    one = served.post("/v1/classify?model=numbers", rows[0]).json()
    assert (one["model"], one["version"], len(one["answers"])) == ("numbers", "1", 1)
    assert one["answers"][0]["label"] == expected[0]
    assert set(one["answers"][0]) == {"label", "confidence", "steps", "certified", "on_time", "waited_us", "reached"}
    many = served.post("/v1/classify?model=numbers&probabilities=true", rows).json()["answers"]
    assert [answer["label"] for answer in many] == expected
    assert all(sum(answer["probabilities"].values()) == pytest.approx(1) for answer in many)
    assert all(answer["on_time"] for answer in many)


def test_json_lines_arrow_and_raw_float32_are_the_same_records(served, blobs):
    X = blobs[0][:25].astype(np.float32).astype(np.float64)
    names = [str(name) for name in range(4)]
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    expected = [answer["label"] for answer in served.post("/v1/classify?model=numbers", rows).json()["answers"]]
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    found = served.post("/v1/classify?model=numbers", lines, {"Content-Type": "application/x-ndjson"})
    assert [json.loads(line)["label"] for line in found.body.splitlines()] == expected
    raw = X.astype("<f4").tobytes()
    found = served.post("/v1/classify?model=numbers", raw, {"Content-Type": "application/octet-stream"})
    assert [answer["label"] for answer in found.json()["answers"]] == expected
    table = pa.table(dict(zip(names, X.T, strict=True)))
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)
    kind = "application/vnd.apache.arrow.stream"
    headers = {"Content-Type": kind, "Accept": kind}
    found = served.post("/v1/classify?model=numbers", stream.getvalue().to_pybytes(), headers)
    assert pa.ipc.open_stream(found.body).read_all()["label"].to_pylist() == expected


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("values", [[1.0] * 100, pa.array(["red"] * 100).dictionary_encode()], ids=["numbers", "texts"])
def test_compressed_arrow_streams_are_refused_before_they_grow(served, compression, values):
    table = pa.table({"size": values})
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    kind = "application/vnd.apache.arrow.stream"
    response = served.post("/v1/classify?model=mixed", stream.getvalue().to_pybytes(), {"Content-Type": kind})
    assert response.status == 400
    assert "compress" in response.json()["error"]


def test_keys_are_echoed_and_categories_are_names(served):
    rows = [{"id": "a", "size": 2.0, "colour": "red"}, {"id": 7, "size": None, "colour": "blue"}, {"size": 1}]
    answers = served.post("/v1/classify?model=mixed", rows).json()["answers"]
    assert [answer["key"] for answer in answers] == ["a", 7, None]
    assert answers[0]["label"] == "yes"


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        (b"", 400, "malformed"),
        (b"3", 400, "no record"),
        (b"[]", 400, "no records"),
        (b"[1]", 400, "record 0"),
        (b'[{"size": 1}, {"sise": 1}]', 400, "record 1"),
        (b'{"size": "large"}', 400, "'large'"),
        (b'{"size": [1]}', 400, "'size'"),
        (b'{"size": 1e400}', 400, "out of range"),
        (b'{"size": 1, "colour": "green"}', 400, "'green'"),
        (b'{"size": 1, "colour": ' + b"[" * 20_000, 400, "nested"),
        (b'{"size": 1}' + b" " * 10 + b"x", 400, "malformed"),
        (b'{"size": "\xff"}', 400, "malformed"),
        (json.dumps([{"size": 1}] * 8193).encode(), 413, "8192"),
    ],
)
def test_a_bad_body_is_an_error_that_names_the_record(served, body, status, word):
    response = served.post("/v1/classify?model=mixed", body)
    assert response.status == status, response.body
    assert word in response.json()["error"]


@pytest.mark.parametrize(
    "kind", ["application/x-ndjson", "application/vnd.apache.arrow.stream", "application/octet-stream"]
)
@pytest.mark.parametrize("body", [b"", b"\x00" * 7, b"nonsense", b"{}\n{"])
def test_bad_bodies_of_other_types_are_errors(served, kind, body):
    response = served.post("/v1/classify?model=mixed", body, {"Content-Type": kind})
    assert response.status == 400, response.body
    assert response.json()["error"]


def test_an_unknown_content_type_or_encoding_is_an_error(served):
    for headers in ({"Content-Type": "text/html"}, {"Content-Encoding": "gzip"}):
        assert served.post("/v1/classify?model=mixed", b"{}", headers).status == 415


def test_one_of_several_models_must_be_named(served):
    response = served.post("/v1/classify", {"size": 1})
    assert response.status == 400
    assert "mixed, numbers" in response.json()["error"]


def test_models_are_listed_with_their_columns_and_classes(served):
    models = served.get("/v1/models").json()["models"]
    assert [model["name"] for model in models] == ["mixed", "numbers"]
    assert models[0]["classes"] == ["no", "yes"]
    assert models[0]["schema"]["columns"][1] == {"name": "colour", "categories": ["blue", "red"]}
    assert served.get("/v1/models/numbers").json() == models[1]


def test_the_server_is_alive_and_ready(served):
    assert served.get("/healthz").status == 200
    assert served.get("/readyz").json()["models"] == ["mixed", "numbers"]


def test_a_late_answer_says_so(served):
    assert PATIENT_MS > 0
    response = served.post("/v1/classify?model=mixed", {"size": 1}, {"X-Request-Timeout-Seconds": "0.000001"})
    assert response.status == 200
    assert response.json()["answers"][0]["on_time"] is False
