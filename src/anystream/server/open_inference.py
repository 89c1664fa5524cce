"""Open Inference Protocol, version 2, over HTTP: JSON, and the extension for binary tensors.

Whether a body has binary tensors is decided by the header ``Inference-Header-Content-Length`` alone: clients send both
kinds under any content type.
"""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import anystream
from anystream.server.classify_request import classify_request
from anystream.server.deadlines import read_timeout_s
from anystream.server.errors import BAD_REQUEST, RequestError
from anystream.server.inference import (
    Tensor,
    choose_outputs,
    describe_model,
    output_values,
    response_parameters,
    to_features,
)
from anystream.server.json_bodies import decode_json, json_response
from anystream.server.limits import Limits, read_body
from anystream.server.model_store import ModelStore, ServedModel
from anystream.server.tensors import (
    check_tensor,
    datatype_of,
    read_json_tensor,
    read_raw_tensor,
    to_json_values,
    to_raw_bytes,
)

_JSON_LENGTH = "inference-header-content-length"
EXTENSIONS = ["binary_tensor_data", "schedule_policy", "model_repository"]


class _Input(msgspec.Struct):
    name: str
    shape: list[int]
    datatype: str
    parameters: dict[str, Any] = {}
    data: msgspec.Raw = msgspec.Raw(b"")


class _Output(msgspec.Struct):
    name: str
    parameters: dict[str, Any] = {}


class _InferRequest(msgspec.Struct):
    inputs: list[_Input]
    id: str | None = None
    parameters: dict[str, Any] = {}
    outputs: list[_Output] | None = None


_decoder = msgspec.json.Decoder(_InferRequest)

MODELS, INFER = "/v2/models/", "/infer"


class OpenInference:
    """Routes of the protocol.

    Parameters
    ----------
    store : ModelStore
        The models.
    limits : Limits
        Bounds on requests.
    """

    def __init__(self, store: ModelStore, limits: Limits) -> None:
        self._store = store
        self._limits = limits

    def routes(self) -> list[Route]:
        """Return the routes, with and without a version."""
        prefixes = (MODELS + "{name}", MODELS + "{name}/versions/{version}")
        routes = [Route(prefix + INFER, self.infer, methods=["POST"]) for prefix in prefixes]
        for prefix in prefixes:
            routes += [Route(prefix, self.model_metadata), Route(f"{prefix}/ready", self.model_ready)]
        return [
            *routes,
            Route("/v2", self.server_metadata),
            Route("/v2/", self.server_metadata),
            Route("/v2/health/live", self.live),
            Route("/v2/health/ready", self.ready),
        ]

    async def live(self, request: Request) -> Response:
        """Tell that the server runs."""
        return json_response({"live": True})

    async def ready(self, request: Request) -> Response:
        """Tell whether all models can classify."""
        ready = self._store.is_ready
        return json_response({"ready": ready}, status=200 if ready else 503)

    async def server_metadata(self, request: Request) -> Response:
        """Describe the server."""
        return json_response({"name": "anystream", "version": anystream.__version__, "extensions": EXTENSIONS})

    async def model_metadata(self, request: Request) -> Response:
        """Describe a model."""
        return json_response(describe_model(self._find(request)))

    async def model_ready(self, request: Request) -> Response:
        """Tell whether a model can classify."""
        model = self._find(request)
        ready = model.engine.is_alive
        return json_response({"name": model.loaded.name, "ready": ready}, status=200 if ready else 503)

    async def infer(self, request: Request) -> Response:
        """Classify the records of a request."""
        body = await read_body(request, self._limits)
        model = self._find(request)
        head, tensors = _split_body(request, body)
        wanted = decode_json(_decoder, head)
        timeout_s = read_timeout_s(request.headers, wanted.parameters, self._limits)
        outputs = wanted.outputs or []
        names = choose_outputs([output.name for output in outputs])
        schema = model.loaded.saved.schema
        features = to_features(schema, _read_inputs(wanted, tensors, self._limits, schema.n_features), self._limits)
        answers = await classify_request(request, model, features, timeout_s)
        binary = {output.name for output in outputs if output.parameters.get("binary_data")}
        if wanted.parameters.get("binary_data_output"):
            binary = set(names) - {o.name for o in outputs if o.parameters.get("binary_data") is False}
        return _respond(
            model,
            wanted.id,
            {name: output_values(answers, name) for name in names},
            binary,
            response_parameters(answers),
        )

    def _find(self, request: Request) -> ServedModel:
        return self._store.find(request.path_params["name"], request.path_params.get("version"))


def _split_body(request: Request, body: bytes) -> tuple[bytes, memoryview]:
    """Return the JSON and the bytes after it."""
    length = request.headers.get(_JSON_LENGTH)
    if length is None:
        return body, memoryview(b"")
    if not (length.isascii() and length.isdigit() and len(length) < 12 and int(length) <= len(body)):
        raise RequestError(
            BAD_REQUEST,
            f"the header Inference-Header-Content-Length is {length[:60]!r}, the body has {len(body)} bytes",
        )
    view = memoryview(body)
    return bytes(view[: int(length)]), view[int(length) :]


def _read_inputs(wanted: _InferRequest, tensors: memoryview, limits: Limits, n_features: int) -> list[Tensor]:
    inputs, at, max_values = [], 0, limits.max_records * max(n_features, 1)
    for found in wanted.inputs:
        name = found.name[:100]
        n_values = check_tensor(name, found.datatype, found.shape, max_values)
        n_bytes = found.parameters.get("binary_data_size")
        if n_bytes is None:
            if not found.data:
                raise RequestError(BAD_REQUEST, f"inputs: {name!r} has no data; send data or binary_data_size")
            values = read_json_tensor(name, found.datatype, n_values, bytes(found.data))
        else:
            if type(n_bytes) is not int or not 0 <= n_bytes <= len(tensors) - at:
                raise RequestError(
                    BAD_REQUEST,
                    f"inputs: binary_data_size of {name!r} is {str(n_bytes)[:60]}, {len(tensors) - at} bytes follow",
                )
            values = read_raw_tensor(name, found.datatype, n_values, tensors[at : at + n_bytes])
            at += n_bytes
        inputs.append(Tensor(found.name, found.shape, values))
    if at != len(tensors):
        raise RequestError(BAD_REQUEST, f"inputs: {len(tensors) - at} bytes follow that belong to no input")
    return inputs


def _respond(
    model: ServedModel,
    request_id: str | None,
    outputs: dict[str, Any],
    binary: set[str],
    parameters: dict[str, Any],
) -> Response:
    described, raw = [], []
    for name, values in outputs.items():
        output: dict[str, Any] = {"name": name, "datatype": datatype_of(values), "shape": list(values.shape)}
        if name in binary:
            raw.append(to_raw_bytes(values))
            output["parameters"] = {"binary_data_size": len(raw[-1])}
        else:
            output["data"] = to_json_values(values)
        described.append(output)
    head: dict[str, Any] = {"model_name": model.loaded.name, "model_version": str(model.loaded.version)}
    if request_id is not None:
        head["id"] = request_id
    content = msgspec.json.encode(head | {"parameters": parameters, "outputs": described})
    if not raw:
        return Response(content, media_type="application/json")
    return Response(
        b"".join([content, *raw]),
        headers={"Inference-Header-Content-Length": str(len(content))},
        media_type="application/octet-stream",
    )
