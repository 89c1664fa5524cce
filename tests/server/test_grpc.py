"""The Open Inference Protocol over gRPC, by a client without generated code."""

import struct

import grpc
import numpy as np
import pytest

import anystream
from anystream.server.grpc_messages import MESSAGES, METHODS, SERVICE
from server.serving import serving, wait_until

TOKEN = "a-token-of-some-length"


class Client:
    def __init__(self, port):
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self._calls = {
            name: self._channel.unary_unary(
                f"/{SERVICE}/{name}",
                request_serializer=MESSAGES[f"{name}Request"].SerializeToString,
                response_deserializer=MESSAGES[f"{name}Response"].FromString,
            )
            for name in METHODS
        }

    def call(self, name, /, timeout=60, metadata=None, **fields):
        return self._calls[name](MESSAGES[f"{name}Request"](**fields), timeout=timeout, metadata=metadata)

    def close(self):
        self._channel.close()


@pytest.fixture(scope="module")
def client(model_files):
    with serving(model_files, grpc_port=0) as served:
        client = Client(served.server.grpc_port)
        yield client
        client.close()


def test_health_and_metadata(client):
    assert client.call("ServerLive").live
    assert client.call("ServerReady").ready
    assert client.call("ModelReady", name="numbers", version="1").ready
    assert client.call("ServerMetadata").name == "anystream"
    model = client.call("ModelMetadata", name="mixed")
    assert [(each.name, each.datatype, list(each.shape)) for each in model.inputs] == [
        ("size", "FP64", [-1]),
        ("colour", "BYTES", [-1]),
    ]


def test_raw_and_typed_contents_give_the_labels_of_the_model(client, blobs, model_files):
    X = blobs[0][:20]
    expected = anystream.load(model_files / "numbers.safetensors").predict(X).tolist()
    tensor = {"name": "features", "datatype": "FP64", "shape": [20, 4]}
    raw = client.call(
        "ModelInfer", model_name="numbers", id="7", inputs=[tensor], raw_input_contents=[X.astype("<f8").tobytes()]
    )
    assert (raw.id, raw.model_name, raw.model_version) == ("7", "numbers", "1")
    assert np.frombuffer(raw.raw_output_contents[0], "<i8").tolist() == expected
    assert raw.parameters["on_time"].bool_param
    assert raw.parameters["steps"].int64_param > 0
    typed = client.call(
        "ModelInfer", model_name="numbers", inputs=[tensor | {"contents": {"fp64_contents": X.ravel().tolist()}}]
    )
    assert list(typed.outputs[0].contents.int64_contents) == expected
    assert not typed.raw_output_contents


def test_categories_are_bytes(client):
    inputs = [
        {"name": "size", "datatype": "FP32", "shape": [2], "contents": {"fp32_contents": [3.0, -3.0]}},
        {"name": "colour", "datatype": "BYTES", "shape": [2], "contents": {"bytes_contents": [b"red", b"blue"]}},
    ]
    found = client.call("ModelInfer", model_name="mixed", inputs=inputs, outputs=[{"name": "label"}])
    assert list(found.outputs[0].contents.bytes_contents) == [b"yes", b"no"]


GOOD = {"name": "x", "datatype": "FP64", "shape": [1, 4], "contents": {"fp64_contents": [1, 2, 3, 4]}}


@pytest.mark.parametrize(
    ("fields", "code", "word"),
    [
        ({"model_name": "nothing"}, "NOT_FOUND", "nothing"),
        ({"model_name": "numbers", "model_version": "9"}, "NOT_FOUND", "9"),
        ({"model_name": "numbers"}, "INVALID_ARGUMENT", "inputs"),
        ({"model_name": "numbers", "inputs": [GOOD | {"datatype": "X"}]}, "INVALID_ARGUMENT", "'X'"),
        ({"model_name": "numbers", "inputs": [GOOD | {"shape": [2, 4]}]}, "INVALID_ARGUMENT", "4 FP64"),
        ({"model_name": "numbers", "inputs": [GOOD | {"datatype": "FP16"}]}, "INVALID_ARGUMENT", "FP16"),
        ({"model_name": "numbers", "inputs": [GOOD], "raw_input_contents": [b"", b""]}, "INVALID_ARGUMENT", "raw"),
        ({"model_name": "numbers", "inputs": [GOOD], "raw_input_contents": [b"abc"]}, "INVALID_ARGUMENT", "3 bytes"),
        ({"model_name": "numbers", "inputs": [GOOD], "outputs": [{"name": "y"}]}, "INVALID_ARGUMENT", "'y'"),
        (
            {"model_name": "numbers", "inputs": [GOOD], "raw_input_contents": [struct.pack("<4d", 1, 2, 3, np.inf)]},
            "INVALID_ARGUMENT",
            "infinite",
        ),
    ],
)
def test_a_bad_call_is_an_error_that_names_the_field(client, fields, code, word):
    with pytest.raises(grpc.RpcError) as failed:
        client.call("ModelInfer", **fields)
    assert failed.value.code().name == code
    assert word in failed.value.details()


def test_the_deadline_of_the_call_is_the_deadline_of_its_records(model_files, monkeypatch):
    from anystream.server.model_engine import ModelEngine

    seen = []
    classify = ModelEngine.classify

    def note(self, features, *, arrival, deadline, **more):
        seen.append(deadline - arrival)
        return classify(self, features, arrival=arrival, deadline=deadline, **more)

    monkeypatch.setattr(ModelEngine, "classify", note)
    with serving(model_files / "numbers.safetensors", grpc_port=0) as served:
        client = Client(served.server.grpc_port)
        for timeout, parameters in ((30, {}), (None, {}), (30, {"timeout": {"int64_param": 20_000_000}})):
            client.call("ModelInfer", timeout=timeout, model_name="numbers", inputs=[GOOD], parameters=parameters)
        client.close()
    assert 20 < seen[0] <= 30.1  # gRPC rounds the time that it sends up to tenths of a second
    assert seen[1] == pytest.approx(0.05)  # the default of the server
    assert seen[2] == pytest.approx(20)


def test_the_token_is_required_by_option(model_files):
    with serving(model_files / "numbers.safetensors", grpc_port=0, token=TOKEN, token_for_all=True) as served:
        client = Client(served.server.grpc_port)
        assert client.call("ServerLive").live
        with pytest.raises(grpc.RpcError) as failed:
            client.call("ModelMetadata", name="numbers")
        assert failed.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert client.call("ModelMetadata", name="numbers", metadata=[("authorization", f"Bearer {TOKEN}")]).name
        client.close()


def test_bytes_that_are_no_message_do_no_harm(client):
    call = client._channel.unary_unary(f"/{SERVICE}/ModelInfer")
    for content in (b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x0f", b"\x00"):
        with pytest.raises(grpc.RpcError):
            call(content, timeout=60)
    assert client.call("ServerLive").live


def test_a_cancelled_call_takes_its_records_out_of_the_queue(model_files, gates):
    with serving(model_files / "numbers.safetensors", grpc_port=0) as served:
        client, engine = Client(served.server.grpc_port), served.service.store.find(None).engine
        infer = client._calls["ModelInfer"]
        request = MESSAGES["ModelInferRequest"](model_name="numbers", inputs=[GOOD])
        gates[0].close_gate()
        held = infer.future(request, timeout=60)
        gates[0].entered.wait(60)
        gone = infer.future(request, timeout=60)
        wait_until(lambda: engine.waiting == 2)
        gone.cancel()
        wait_until(lambda: engine.waiting == 1)
        gates[0].gate.set()
        assert held.result().model_name == "numbers"
        assert len(gates[0].batches) == 1
        client.close()
