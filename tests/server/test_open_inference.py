"""The Open Inference Protocol over HTTP."""

import json
import struct
import warnings

import numpy as np
import pytest

import anystream
from anystream.server.tensors import read_raw_tensor


def infer(served, body, path="/v2/models/numbers/infer"):
    return served.post(path, body)


def tensor(values, datatype="FP64", name="features", **more):
    values = np.asarray(values)
    return {"name": name, "shape": list(values.shape), "datatype": datatype, "data": values.ravel().tolist()} | more


def output(response, name):
    return next(found for found in response.json()["outputs"] if found["name"] == name)


def test_health_and_metadata_have_the_form_of_the_protocol(served):
    assert served.get("/v2/health/live").status == 200
    assert served.get("/v2/health/ready").json() == {"ready": True}
    server = served.get("/v2").json()
    assert server["name"] == "anystream"
    assert server["version"] == anystream.__version__
    assert "binary_tensor_data" in server["extensions"]
    model = served.get("/v2/models/numbers").json()
    assert model["inputs"] == [{"name": "features", "datatype": "FP64", "shape": [-1, 4]}]
    assert {"name": "probabilities", "datatype": "FP64", "shape": [-1, 3]} in model["outputs"]
    assert served.get("/v2/models/numbers/versions/1").json() == model
    assert served.get("/v2/models/numbers/versions/1/ready").status == 200
    mixed = served.get("/v2/models/mixed").json()
    assert [(column["name"], column["datatype"]) for column in mixed["inputs"]] == [
        ("size", "FP64"),
        ("colour", "BYTES"),
    ]


def test_a_tensor_of_all_features_gets_the_labels_of_the_model(served, blobs, model_files):
    X, _ = blobs
    model = anystream.load(model_files / "numbers.safetensors")
    response = infer(served, {"id": "a 1", "inputs": [tensor(X[:50])]})
    assert response.status == 200
    answer = response.json()
    assert (answer["id"], answer["model_name"], answer["model_version"]) == ("a 1", "numbers", "1")
    labels, proba = output(response, "label"), output(response, "probabilities")
    assert labels["datatype"] == "INT64"
    assert labels["data"] == model.predict(X[:50]).tolist()
    assert proba["shape"] == [50, 3]
    assert np.allclose(np.reshape(proba["data"], (50, 3)), model.predict_proba(X[:50]))
    assert answer["parameters"]["on_time"] is True
    assert answer["parameters"]["steps"] > 0
    assert answer["parameters"]["waited_us"] > 0


def test_one_tensor_per_column_with_categories_as_bytes(served, model_files):
    model = anystream.load(model_files / "mixed.safetensors")
    size, colours = [0.9, -0.9, 0.2], ["red", "blue", "red"]
    inputs = [tensor(size, name="size"), {"name": "colour", "shape": [3, 1], "datatype": "BYTES", "data": colours}]
    response = infer(served, {"inputs": inputs}, "/v2/models/mixed/infer")
    expected = model.predict(np.array([[0.9, 0, 1], [-0.9, 1, 0], [0.2, 0, 1]]))
    assert output(response, "label") | {"data": 0} == {"name": "label", "datatype": "BYTES", "shape": [3], "data": 0}
    assert output(response, "label")["data"] == expected.tolist()


def test_outputs_are_those_asked_for(served, blobs):
    names = ["steps", "certified", "on_time", "waited_us", "reached", "label"]
    response = infer(served, {"inputs": [tensor(blobs[0][:3])], "outputs": [{"name": name} for name in names]})
    found = response.json()["outputs"]
    assert [each["name"] for each in found] == names
    assert [each["datatype"] for each in found] == ["INT64", "BOOL", "BOOL", "INT64", "BOOL", "INT64"]
    assert all(each["shape"] == [3] for each in found)


@pytest.mark.parametrize(
    ("datatype", "kind"),
    [("BOOL", "?"), ("FP16", "<f2"), ("FP32", "<f4"), ("FP64", "<f8")]
    + [(f"{sign}INT{8 * size}", f"<{kind}{size}") for sign, kind in (("", "i"), ("U", "u")) for size in (1, 2, 4, 8)],
)
def test_every_numeric_type_in_json_and_as_bytes_gives_the_same_answer(served, datatype, kind):
    values = np.array([[0, 1, 1, 0], [1, 1, 0, 1]]).astype(kind)
    plain = infer(served, {"inputs": [tensor(values, datatype)]})
    nested = infer(served, {"inputs": [tensor(values, datatype) | {"data": values.tolist()}]})
    raw = values.tobytes()
    head = json.dumps(
        {
            "inputs": [
                {"name": "x", "shape": [2, 4], "datatype": datatype, "parameters": {"binary_data_size": len(raw)}}
            ],
            "parameters": {"binary_data_output": True, "timeout": 20_000_000},
        }
    ).encode()
    headers = {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/json"}
    binary = served.request("POST", "/v2/models/numbers/infer", head + raw, headers)
    assert (plain.status, nested.status, binary.status) == (200, 200, 200), (plain.body, nested.body, binary.body)
    assert output(plain, "probabilities") == output(nested, "probabilities")
    n_json = int(binary.headers["inference-header-content-length"])
    described = json.loads(binary.body[:n_json])["outputs"]
    assert [each["parameters"]["binary_data_size"] for each in described] == [16, 48]
    assert struct.unpack("<6d", binary.body[n_json + 16 :]) == tuple(output(plain, "probabilities")["data"])


def test_bf16_is_the_upper_half_of_fp32(served, blobs):
    values = blobs[0][:5].astype("<f4")
    raw = values.view("<u4") >> 16
    rounded = (raw << 16).view("<f4")
    assert not np.array_equal(rounded, values)
    content = raw.astype("<u2").tobytes()
    described = {"name": "x", "shape": [5, 4], "datatype": "BF16", "parameters": {"binary_data_size": len(content)}}
    head = json.dumps({"inputs": [described], "parameters": {"timeout": 20_000_000}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))}
    binary = served.request("POST", "/v2/models/numbers/infer", head + content, headers)
    assert binary.status == 200, binary.body
    plain = infer(served, {"inputs": [tensor(rounded, "BF16")]})
    assert output(binary, "probabilities") == output(plain, "probabilities")
    assert output(plain, "probabilities") == output(infer(served, {"inputs": [tensor(rounded)]}), "probabilities")


def test_bytes_go_in_and_out_as_raw_tensors(served):
    colours = b"".join(struct.pack("<I", len(text)) + text for text in (b"red", b"blue"))
    sizes = struct.pack("<2d", 3.0, -3.0)
    inputs = [
        {"name": "colour", "shape": [2], "datatype": "BYTES", "parameters": {"binary_data_size": len(colours)}},
        {"name": "size", "shape": [2], "datatype": "FP64", "parameters": {"binary_data_size": len(sizes)}},
    ]
    outputs = [{"name": "label", "parameters": {"binary_data": True}}, {"name": "steps"}]
    head = json.dumps({"inputs": inputs, "outputs": outputs}).encode()
    response = served.request(
        "POST",
        "/v2/models/mixed/infer",
        head + colours + sizes,
        {"Inference-Header-Content-Length": str(len(head)), "X-Request-Timeout-Seconds": "20"},
    )
    n_json = int(response.headers["inference-header-content-length"])
    assert response.body[n_json:] == b"\x03\x00\x00\x00yes\x02\x00\x00\x00no"
    assert "data" in json.loads(response.body[:n_json])["outputs"][1]


def test_null_is_a_missing_value(served, blobs, model_files):
    row = blobs[0][0].tolist()
    model = anystream.load(model_files / "numbers.safetensors")
    response = infer(served, {"inputs": [tensor([row]) | {"data": [None, *row[1:]]}]})
    assert output(response, "label")["data"] == model.predict([[np.nan, *row[1:]]]).tolist()


GOOD = {"name": "x", "shape": [1, 4], "datatype": "FP64", "data": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "malformed"),
        (b"{", "malformed"),
        (b'{"inputs": 3}', "$.inputs"),
        (b"[" * 100_000, "malformed"),
        (b'{"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP64", "data": ' + b"[" * 50_000, "nested"),
        ({}, "inputs"),
        ({"inputs": []}, "inputs"),
        ({"inputs": [GOOD | {"datatype": "FP128"}]}, "FP128"),
        ({"inputs": [GOOD | {"shape": [4]}, GOOD]}, "missing"),
        ({"inputs": [GOOD | {"shape": [1, 3]}]}, "shape"),
        ({"inputs": [GOOD | {"shape": [1, 3], "data": [1, 2, 3]}]}, "[records, 4]"),
        ({"inputs": [GOOD | {"shape": [-1, 4]}]}, "shape"),
        ({"inputs": [GOOD | {"shape": [10**9, 10**9]}]}, "maximum"),
        ({"inputs": [GOOD | {"shape": [0, 4], "data": []}]}, "no records"),
        ({"inputs": [GOOD | {"data": [1, 2, 3]}]}, "3 values"),
        ({"inputs": [GOOD | {"data": [1, 2, 3, "4"]}]}, "FP64 values"),
        ({"inputs": [GOOD | {"data": {"a": 1}}]}, "FP64 values"),
        ({"inputs": [GOOD | {"datatype": "UINT8", "data": [1, 2, 3, 256]}]}, "UINT8 values"),
        ({"inputs": [GOOD | {"datatype": "BYTES", "data": ["a"] * 4}]}, "shape"),
        ({"inputs": [GOOD | {"parameters": {"binary_data_size": 32}}]}, "binary_data_size"),
        ({"inputs": [GOOD], "outputs": [{"name": "nonsense"}]}, "nonsense"),
        ({"inputs": [GOOD], "parameters": {"timeout": -1}}, "timeout"),
        ({"inputs": [GOOD], "parameters": {"timeout": "soon"}}, "timeout"),
        ({"inputs": [{k: v for k, v in GOOD.items() if k != "data"}]}, "no data"),
    ],
)
def test_a_bad_body_is_an_error_that_names_the_field(served, body, word):
    response = infer(served, body)
    assert response.status == 400, response.body
    assert word in response.json()["error"]


def test_infinite_features_are_an_error_of_their_record(served):
    raw = struct.pack("<8d", 1, 2, 3, 4, 1, float("inf"), 3, 4)
    head = json.dumps(
        {"inputs": [{"name": "x", "shape": [2, 4], "datatype": "FP64", "parameters": {"binary_data_size": 64}}]}
    ).encode()
    response = served.request(
        "POST", "/v2/models/numbers/infer", head + raw, {"Inference-Header-Content-Length": str(len(head))}
    )
    assert response.status == 400
    assert "record 1: a feature is infinite" in response.json()["error"]


@pytest.mark.parametrize("length", ["-1", "x", "99999", "9" * 30, ""])
def test_a_wrong_length_of_the_json_is_an_error(served, length):
    headers = {"Inference-Header-Content-Length": length}
    response = served.request("POST", "/v2/models/numbers/infer", b"{}", headers)
    assert response.status == 400
    assert "error" in response.json()


def test_unknown_models_versions_paths_and_methods_are_errors_in_json(served):
    for method, path, status in [
        ("GET", "/v2/models/other", 404),
        ("GET", "/v2/models/numbers/versions/7", 404),
        ("POST", "/v2/models/other/infer", 404),
        ("GET", "/v2/nothing", 404),
        ("GET", "/v2/models/numbers/infer", 405),
    ]:
        response = served.request(method, path)
        assert response.status == status
        assert response.json()["error"]


@pytest.mark.parametrize(("datatype", "bits"), [("FP16", "017c"), ("FP32", "0100807f"), ("BF16", "817f")])
def test_a_signalling_nan_is_a_missing_value_without_a_warning(datatype, bits):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(read_raw_tensor("x", datatype, 1, memoryview(bytes.fromhex(bits)))).all()
