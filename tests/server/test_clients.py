"""Real clients of the Open Inference Protocol; without the dependency group ``clients`` the tests are skipped."""

import asyncio
import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

import anystream
from anystream.server.grpc_messages import MESSAGES
from server.serving import PATIENT_MS, serving

WORD = "needs the dependency group clients"
TIMEOUT_US = PATIENT_MS * 1000


@pytest.fixture(scope="module")
def both(model_files):
    """A server with HTTP and gRPC."""
    with serving(model_files, folders=(model_files,), grpc_port=0) as served:
        yield served


@pytest.fixture(scope="module")
def expected(model_files, blobs):
    X = blobs[0][:40]
    model = anystream.load(model_files / "numbers.safetensors")
    return X, model.predict(X), model.predict_proba(X)


def triton_inputs(triton, X, **options):
    found = triton.InferInput("features", list(X.shape), "FP64")
    found.set_data_from_numpy(X, **options)
    return [found]


def test_tritonclient_over_http_in_binary_and_json(both, expected):
    triton = pytest.importorskip("tritonclient.http", reason=WORD)
    X, labels, proba = expected
    with triton.InferenceServerClient(f"127.0.0.1:{both.port}") as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("numbers")
        assert not client.is_model_ready("nothing")
        assert client.get_server_metadata()["name"] == "anystream"
        assert client.get_model_metadata("numbers")["inputs"][0]["shape"] == [-1, 4]
        assert [model["name"] for model in client.get_model_repository_index()] == ["mixed", "numbers"]
        client.load_model("numbers")
        for binary in (True, False):
            result = client.infer(
                "numbers",
                triton_inputs(triton, X, binary_data=binary),
                outputs=[
                    triton.InferRequestedOutput(n, binary_data=binary) for n in ("label", "probabilities", "on_time")
                ],
                request_id="7",
                timeout=TIMEOUT_US,
            )
            assert result.as_numpy("label").tolist() == labels.tolist()
            assert np.array_equal(result.as_numpy("probabilities"), proba)
            assert result.as_numpy("on_time").all()
            assert result.get_response()["id"] == "7"
        whole = client.infer("numbers", triton_inputs(triton, X), timeout=TIMEOUT_US)  # all outputs, binary
        assert np.array_equal(whole.as_numpy("probabilities"), proba)
        with pytest.raises(triton.InferenceServerException, match="no model"):
            client.infer("nothing", triton_inputs(triton, X))
        with pytest.raises(triton.InferenceServerException, match="4"):
            client.infer("numbers", triton_inputs(triton, X[:, :3].copy()))


def test_tritonclient_sends_categories_as_bytes(both):
    triton = pytest.importorskip("tritonclient.http", reason=WORD)
    size, colour = triton.InferInput("size", [2], "FP32"), triton.InferInput("colour", [2], "BYTES")
    size.set_data_from_numpy(np.array([3.0, -3.0], dtype=np.float32))
    colour.set_data_from_numpy(np.array(["red", "blue"], dtype=object))
    with triton.InferenceServerClient(f"127.0.0.1:{both.port}") as client:
        result = client.infer("mixed", [size, colour], timeout=TIMEOUT_US)
    assert result.as_numpy("label").tolist() == [b"yes", b"no"]


def test_tritonclient_over_http_with_asyncio(both, expected):
    triton = pytest.importorskip("tritonclient.http.aio", reason=WORD)
    X, labels, _ = expected

    async def run():
        async with triton.InferenceServerClient(f"127.0.0.1:{both.port}") as client:
            calls = [
                client.infer("numbers", triton_inputs(triton, X[i : i + 1], binary_data=i % 2 == 0), timeout=TIMEOUT_US)
                for i in range(len(X))
            ]
            return [result.as_numpy("label")[0] for result in await asyncio.gather(*calls)]

    assert asyncio.run(run()) == labels.tolist()


def test_tritonclient_over_grpc(both, expected):
    triton = pytest.importorskip("tritonclient.grpc", reason=WORD)
    X, labels, proba = expected
    with triton.InferenceServerClient(f"127.0.0.1:{both.server.grpc_port}") as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("numbers", "1")
        assert client.get_model_metadata("numbers").inputs[0].shape == [-1, 4]
        result = client.infer("numbers", triton_inputs(triton, X), request_id="7", client_timeout=60)
        assert result.as_numpy("label").tolist() == labels.tolist()
        assert np.array_equal(result.as_numpy("probabilities"), proba)
        assert result.get_response().id == "7"
        with pytest.raises(triton.InferenceServerException, match="NOT_FOUND"):
            client.infer("nothing", triton_inputs(triton, X))


def test_our_messages_have_the_fields_of_tritonclient(both):
    theirs = pytest.importorskip("tritonclient.grpc.service_pb2", reason=WORD)
    for name, ours in MESSAGES.items():
        found = theirs
        for part in name.split("."):
            found = getattr(found, part)
        known = {field.number: (field.name, field.type, field.is_repeated) for field in found.DESCRIPTOR.fields}
        for field in ours.DESCRIPTOR.fields:
            assert known[field.number] == (field.name, field.type, field.is_repeated), f"{name}.{field.name}"


KSERVE = """
import asyncio, json, sys
import kserve, numpy as np

port, X = int(sys.argv[1]), np.array(json.loads(sys.argv[2]))

async def run():
    client = kserve.InferenceRESTClient(kserve.inference_client.RESTConfig(protocol="v2", timeout=60))
    tensor = kserve.InferInput("features", list(X.shape), "FP64")
    tensor.set_data_from_numpy(X, binary_data=False)
    request = kserve.InferRequest("numbers", [tensor], request_id="7", parameters={"timeout": 20_000_000})
    base = f"http://127.0.0.1:{port}"
    assert await client.is_server_live(base)
    assert await client.is_model_ready(base, "numbers")
    response = await client.infer(base, request, model_name="numbers")
    print(json.dumps([response.id, response.outputs[0].data]))

asyncio.run(run())
"""


def test_kserve_over_http(both, expected):
    if importlib.util.find_spec("kserve") is None:
        pytest.skip(WORD)
    X, labels, _ = expected  # in a process of its own: its generated messages and those of tritonclient are in conflict
    command = [sys.executable, "-c", KSERVE, str(both.port), json.dumps(X.tolist())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == ["7", labels.tolist()]


def test_open_inference_openapi_over_http(both, expected):
    openapi = pytest.importorskip("open_inference.openapi.client", reason=WORD)
    X, labels, _ = expected
    client = openapi.OpenInferenceClient(base_url=f"http://127.0.0.1:{both.port}", timeout=60)
    client.check_server_liveness()
    client.check_model_version_readiness("numbers", "1")
    assert client.read_model_metadata("numbers").name == "numbers"
    tensor = {"name": "features", "datatype": "FP64", "shape": list(X.shape), "data": X.tolist()}
    response = client.model_infer(
        "numbers",
        request=openapi.InferenceRequest(id="7", inputs=[tensor], parameters={"timeout": TIMEOUT_US}),
    )
    assert response.id == "7"
    assert response.outputs[0].data.__root__ == labels.tolist()
