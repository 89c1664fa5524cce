"""The calls of real clients against our server and against a real Triton, field by field.

Triton serves the same model in its Python backend. Without the dependency group ``clients`` or without Triton (``make
triton``) the tests are skipped; ``make test-clients`` sets up both.
"""

import asyncio
import http.client
import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest
from benchmarks.server.triton import NoTriton, TritonModel, running_triton

from server.serving import PATIENT_MS, serving

WORD = "needs the dependency group clients"
TIMEOUT_US = PATIENT_MS * 1000
OURS_ALONE = {
    "steps",
    "certified",
    "confident",
    "on_time",
    "waited_us",
    "reached",
}  # outputs that Triton's model has not

NUMBERS = TritonModel(
    """
max_batch_size: 0
input [{ name: "features", data_type: TYPE_FP64, dims: [-1, 4] }]
output [
  { name: "label", data_type: TYPE_INT64, dims: [-1] },
  { name: "probabilities", data_type: TYPE_FP64, dims: [-1, 3] }
]
instance_group [{ kind: KIND_CPU }]
""",
    """
from pathlib import Path

import anystream
import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        self.model = anystream.load(Path(__file__).with_name("model.safetensors"))

    def execute(self, requests):
        return [self.respond(triton.get_input_tensor_by_name(request, "features").as_numpy()) for request in requests]

    def respond(self, X):
        answer = self.model.classify(X)
        outputs = [triton.Tensor("label", answer.labels), triton.Tensor("probabilities", answer.proba)]
        return triton.InferenceResponse(outputs)
""",
)
MIXED = TritonModel(
    """
max_batch_size: 0
input [{ name: "size", data_type: TYPE_FP64, dims: [-1] }, { name: "colour", data_type: TYPE_STRING, dims: [-1] }]
output [
  { name: "label", data_type: TYPE_STRING, dims: [-1] },
  { name: "probabilities", data_type: TYPE_FP64, dims: [-1, 2] }
]
instance_group [{ kind: KIND_CPU }]
""",
    """
from pathlib import Path

import anystream
import numpy as np
import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        self.model = anystream.load(Path(__file__).with_name("model.safetensors"))

    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        size, colour = (triton.get_input_tensor_by_name(request, name).as_numpy() for name in ("size", "colour"))
        answer = self.model.classify(np.column_stack([size, colour == b"blue", colour == b"red"]))
        labels = np.array([label.encode() for label in answer.labels.tolist()], dtype=object)
        return triton.InferenceResponse([triton.Tensor("label", labels), triton.Tensor("probabilities", answer.proba)])
""",
)


@pytest.fixture(scope="module")
def servers(model_files, tmp_path_factory):
    """HTTP and gRPC ports of our server and of Triton."""
    models = {
        name: model._replace(files={"model.safetensors": (model_files / f"{name}.safetensors").read_bytes()})
        for name, model in {"numbers": NUMBERS, "mixed": MIXED}.items()
    }
    try:
        with (
            running_triton(models, tmp_path_factory.mktemp("triton")) as theirs,
            serving(model_files, grpc_port=0) as ours,
        ):
            yield (ours.port, ours.server.grpc_port), (theirs.port, theirs.grpc_port)
    except NoTriton as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def X(blobs):
    return blobs[0][:40]


def tensor_of(client, name, values, kind, **options):
    found = client.InferInput(name, list(values.shape), kind)
    found.set_data_from_numpy(values, **options)
    return found


def without_parameters(response):
    """Return a response without its parameters: ours tell steps, certificate and time."""
    assert response.get("parameters", {}).keys() <= OURS_ALONE
    return {name: value for name, value in response.items() if name != "parameters"}


def metadata_of(found):
    """Return metadata of a model without what differs by nature: the platform, and outputs that we have beyond."""
    outputs = [output for output in found["outputs"] if output["name"] not in OURS_ALONE]
    return {**found, "outputs": outputs, "platform": ""}


def test_tritonclient_over_http(servers, X):
    triton = pytest.importorskip("tritonclient.http", reason=WORD)
    pytest.importorskip("tritonclient.http.aio", reason=WORD)
    wanted = ("label", "probabilities")

    def talk(port):
        found = {}
        with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
            found["live"] = client.is_server_live(), client.is_server_ready()
            found["ready"] = [
                client.is_model_ready(name, version) for name in ("numbers", "x") for version in ("", "1", "9")
            ]
            found["server metadata"] = client.get_server_metadata().keys()
            for name in ("numbers", "mixed"):
                found[f"metadata of {name}"] = metadata_of(client.get_model_metadata(name))
                row = next(row for row in client.get_model_repository_index() if row["name"] == name)
                found[f"index of {name}"] = row["version"], row["state"]
            for binary_in in (True, False):
                for binary_out in (True, False, None):
                    outputs = (
                        binary_out
                        if binary_out is None
                        else [triton.InferRequestedOutput(name, binary_data=binary_out) for name in wanted]
                    )
                    result = client.infer(
                        "numbers",
                        [tensor_of(triton, "features", X, "FP64", binary_data=binary_in)],
                        model_version="1",
                        outputs=outputs,
                        request_id="7",
                        timeout=TIMEOUT_US,
                    )
                    found[binary_in, binary_out] = without_parameters(result.get_response())
                    for name in wanted:
                        values = result.as_numpy(name)
                        found[binary_in, binary_out, name] = values.dtype, values.tolist()
            inputs = [
                tensor_of(triton, "size", np.array([3.0, -3.0, 0.2]), "FP64"),
                tensor_of(triton, "colour", np.array(["red", "blue", "red"], dtype=object), "BYTES"),
            ]
            for binary in (True, False):
                outputs = [triton.InferRequestedOutput("label", binary_data=binary)]
                result = client.infer("mixed", inputs, outputs=outputs, timeout=TIMEOUT_US)
                found["texts", binary] = without_parameters(result.get_response()), result.as_numpy("label").tolist()
            for name, columns in (("nothing", X), ("numbers", X[:, :3].copy())):
                with pytest.raises(triton.InferenceServerException) as error:
                    client.infer(name, [tensor_of(triton, "features", columns, "FP64")])
                found["error", name] = error.value.status()
        return found

    ours, theirs = (talk(port) for port, _ in servers)
    assert ours == theirs


def test_tritonclient_over_http_with_asyncio(servers, X):
    triton = pytest.importorskip("tritonclient.http.aio", reason=WORD)

    async def talk(port):
        async with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
            calls = [
                client.infer(
                    "numbers",
                    [tensor_of(triton, "features", X[i : i + 1], "FP64", binary_data=i % 2 == 0)],
                    request_id=str(i),
                    timeout=TIMEOUT_US,
                )
                for i in range(len(X))
            ]
            results = await asyncio.gather(*calls)
            return [
                (
                    without_parameters(result.get_response()),
                    result.as_numpy("label").tolist(),
                    result.as_numpy("probabilities").tolist(),
                )
                for result in results
            ]

    ours, theirs = (asyncio.run(talk(port)) for port, _ in servers)
    assert ours == theirs


def test_tritonclient_over_grpc(servers, X):
    triton = pytest.importorskip("tritonclient.grpc", reason=WORD)

    def talk(port):
        found = {}
        with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
            found["live"] = client.is_server_live(), client.is_server_ready()
            found["ready"] = [client.is_model_ready("numbers", version) for version in ("", "1")]
            for name in ("numbers", "mixed"):
                found[f"metadata of {name}"] = metadata_of(client.get_model_metadata(name, as_json=True))
            for outputs in (
                None,
                [triton.InferRequestedOutput("label")],
                [triton.InferRequestedOutput("probabilities")],
            ):
                names = ["label", "probabilities"] if outputs is None else [output.name() for output in outputs]
                result = client.infer(
                    "numbers",
                    [tensor_of(triton, "features", X, "FP64")],
                    outputs=outputs,
                    request_id="7",
                    timeout=TIMEOUT_US,
                    client_timeout=60,
                )
                response = result.get_response(as_json=True)
                raw = response.pop("raw_output_contents")
                found[tuple(names)] = (
                    without_parameters(response),
                    raw,
                    [result.as_numpy(name).tolist() for name in names],
                )
            inputs = [
                tensor_of(triton, "size", np.array([3.0, -3.0, 0.2]), "FP64"),
                tensor_of(triton, "colour", np.array(["red", "blue", "red"], dtype=object), "BYTES"),
            ]
            found["texts"] = client.infer("mixed", inputs, client_timeout=60).as_numpy("label").tolist()
            for name, columns in (("nothing", X), ("numbers", X[:, :3].copy())):
                with pytest.raises(triton.InferenceServerException) as error:
                    client.infer(name, [tensor_of(triton, "features", columns, "FP64")])
                found["error", name] = error.value.status()
        return found

    ours, theirs = (talk(port) for _, port in servers)
    assert ours == theirs


KSERVE = """
import asyncio, json, sys
import kserve, numpy as np

port, X = int(sys.argv[1]), np.array(json.loads(sys.argv[2]))

async def talk():
    client = kserve.InferenceRESTClient(kserve.inference_client.RESTConfig(protocol="v2", timeout=60))
    base = f"http://127.0.0.1:{port}"
    found = []  # it cannot read what Triton says about its health
    for binary in (False, True):
        tensor = kserve.InferInput("features", list(X.shape), "FP64")
        tensor.set_data_from_numpy(X, binary_data=binary)
        request = kserve.InferRequest("numbers", [tensor], request_id="7", parameters={"timeout": 20_000_000})
        response = await client.infer(base, request, model_name="numbers")
        found.append([response.id, response.model_name, response.model_version])
        found += [[o.name, o.datatype, list(o.shape), o.as_numpy().tolist()] for o in response.outputs]
    try:
        await client.infer(base, kserve.InferRequest("nothing", [tensor]), model_name="nothing")
    except Exception as error:
        found.append([type(error).__name__, error.response.status_code])
    return found

print(json.dumps(asyncio.run(talk())))
"""


def test_kserve_over_http(servers, X):
    if importlib.util.find_spec("kserve") is None:
        pytest.skip(WORD)

    def talk(port):  # in a process of its own: its generated messages and those of tritonclient are in conflict
        command = [sys.executable, "-c", KSERVE, str(port), json.dumps(X.tolist())]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    ours, theirs = (talk(port) for port, _ in servers)
    assert len(ours) == 7
    assert ours == theirs


def test_open_inference_openapi_over_http(servers, X):
    openapi = pytest.importorskip("open_inference.openapi.client", reason=WORD)

    def talk(port):
        client = openapi.OpenInferenceClient(base_url=f"http://127.0.0.1:{port}", timeout=60)
        client.check_server_liveness()
        client.check_server_readiness()
        client.check_model_readiness("numbers")
        client.check_model_version_readiness("numbers", "1")
        tensor = {"name": "features", "datatype": "FP64", "shape": list(X.shape), "data": X.tolist()}
        request = openapi.InferenceRequest(id="7", inputs=[tensor], parameters={"timeout": TIMEOUT_US})
        response = client.model_infer("numbers", request=request)
        metadata = client.read_model_metadata("numbers")
        return without_parameters(json.loads(response.json(exclude_none=True))), metadata_of(
            json.loads(metadata.json(exclude_none=True))
        )

    ours, theirs = (talk(port) for port, _ in servers)
    assert ours == theirs


BODY = {"inputs": [{"name": "features", "shape": [1, 4], "datatype": "FP64", "data": [1, 2, 3, 4]}]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v2/models/nothing/infer", BODY),
        ("/v2/models/numbers/versions/9/infer", BODY),
        ("/v2/models/numbers/infer", {"inputs": []}),
        ("/v2/models/numbers/infer", {}),
        ("/v2/models/numbers/infer", [1]),
        ("/v2/models/numbers/infer", {"inputs": [BODY["inputs"][0] | {"shape": [1, 3], "data": [1, 2, 3]}]}),
        ("/v2/models/numbers/infer", {"inputs": [BODY["inputs"][0] | {"data": [1, 2, 3]}]}),
        ("/v2/models/numbers/infer", {"inputs": [BODY["inputs"][0] | {"datatype": "FP63"}]}),
        ("/v2/models/numbers/infer", {"inputs": [BODY["inputs"][0] | {"data": ["a", "b", "c", "d"]}]}),
        ("/v2/models/numbers/infer", BODY | {"outputs": [{"name": "nothing"}]}),
        ("/v2/models/numbers/infer", b"{"),
        ("/v2/models/numbers/infer", b""),
    ],
)
def test_errors_have_the_form_of_triton_and_its_status_where_that_is_4xx(servers, path, body):
    def talk(port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body))
        response = connection.getresponse()
        content = json.loads(response.read())
        connection.close()
        return response.status, [(name, type(value)) for name, value in content.items()]

    (our_status, ours), (their_status, theirs) = (talk(port) for port, _ in servers)
    assert ours == theirs == [("error", str)]
    assert our_status == (400 if their_status == 500 else their_status)  # Triton has 500 for most malformed bodies
