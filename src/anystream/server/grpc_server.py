"""Open Inference Protocol over gRPC; needs ``anystream[grpc]``. The deadline of a call is that of its client."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import anystream
from anystream.server.auth import require_token
from anystream.server.deadlines import read_timeout_s
from anystream.server.errors import (
    BAD_REQUEST,
    CONFLICT,
    FORBIDDEN,
    NOT_FOUND,
    TOO_LARGE,
    UNAUTHORIZED,
    UNAVAILABLE,
    RequestError,
)
from anystream.server.grpc_messages import MESSAGES, METHODS, SERVICE
from anystream.server.inference import (
    Tensor,
    choose_outputs,
    describe_model,
    output_values,
    response_parameters,
    to_features,
)
from anystream.server.limits import Limits
from anystream.server.model_store import ModelStore, ServedModel
from anystream.server.open_inference import EXTENSIONS
from anystream.server.settings import ServerSettings
from anystream.server.tensors import check_tensor, datatype_of, read_raw_tensor, to_json_values, to_raw_bytes

try:
    import grpc
except ImportError as error:  # pragma: no cover  the tests have it
    raise ImportError("gRPC needs grpcio and protobuf; install anystream[grpc]") from error

_CODES = {
    BAD_REQUEST: grpc.StatusCode.INVALID_ARGUMENT,
    TOO_LARGE: grpc.StatusCode.INVALID_ARGUMENT,
    UNAUTHORIZED: grpc.StatusCode.UNAUTHENTICATED,
    FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    CONFLICT: grpc.StatusCode.FAILED_PRECONDITION,
    UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
}
_CONTENTS = {  # field with the values of a type, and those that it can hold
    "bool_contents": ("BOOL",),
    "int_contents": ("INT8", "INT16", "INT32"),
    "int64_contents": ("INT64",),
    "uint_contents": ("UINT8", "UINT16", "UINT32"),
    "uint64_contents": ("UINT64",),
    "fp32_contents": ("FP32",),
    "fp64_contents": ("FP64",),
    "bytes_contents": ("BYTES",),
}
_FIELD_OF = {datatype: field for field, datatypes in _CONTENTS.items() for datatype in datatypes}
_OPEN = ("ServerLive", "ServerReady")  # calls that never need a token
_GRACE_S = 5.0


class GrpcServer:
    """The service in the running event loop.

    Parameters
    ----------
    store : ModelStore
        The models.
    settings : ServerSettings
        Address, token and limits.
    """

    def __init__(self, store: ModelStore, settings: ServerSettings) -> None:
        self._store = store
        self._settings = settings
        self._limits: Limits = settings.limits
        self._server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", self._limits.max_body_bytes),
                ("grpc.max_metadata_size", self._limits.max_header_bytes),
                ("grpc.so_reuseport", 0),
            ],
            maximum_concurrent_rpcs=self._limits.max_connections,
        )
        calls: dict[str, Callable[[Any, Any], Awaitable[Any]]] = {
            "ServerLive": self._live,
            "ServerReady": self._ready,
            "ModelReady": self._model_ready,
            "ServerMetadata": self._metadata,
            "ModelMetadata": self._model_metadata,
            "ModelInfer": self._infer,
        }
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(
                self._guard(name, calls[name]),
                request_deserializer=MESSAGES[f"{name}Request"].FromString,
                response_serializer=MESSAGES[f"{name}Response"].SerializeToString,
            )
            for name in METHODS
        }
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        self.port = 0

    async def start(self) -> None:
        """Listen."""
        host, port = self._settings.host, self._settings.grpc_port
        try:
            self.port = self._server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        except RuntimeError:
            raise OSError(None, "the port for gRPC is in use, or not allowed", f"{host}:{port}") from None
        await self._server.start()

    async def stop(self) -> None:
        """Take no more calls, and answer those that were taken."""
        await self._server.stop(_GRACE_S)

    def _guard(self, name: str, call: Callable[[Any, Any], Awaitable[Any]]) -> Callable[[Any, Any], Awaitable[Any]]:
        """Return a call that checks the token, and turns errors into statuses."""

        async def guarded(request: Any, context: Any) -> Any:
            try:
                if self._settings.token_for_all and name not in _OPEN:
                    require_token(self._settings, _headers(context))
                return await call(request, context)
            except RequestError as error:
                await context.abort(_CODES.get(error.status, grpc.StatusCode.INTERNAL), error.message)

        return guarded

    async def _live(self, request: Any, context: Any) -> Any:
        return MESSAGES["ServerLiveResponse"](live=True)

    async def _ready(self, request: Any, context: Any) -> Any:
        return MESSAGES["ServerReadyResponse"](ready=self._store.is_ready)

    async def _model_ready(self, request: Any, context: Any) -> Any:
        return MESSAGES["ModelReadyResponse"](ready=self._find(request.name, request.version).engine.is_alive)

    async def _metadata(self, request: Any, context: Any) -> Any:
        return MESSAGES["ServerMetadataResponse"](
            name="anystream", version=anystream.__version__, extensions=EXTENSIONS
        )

    async def _model_metadata(self, request: Any, context: Any) -> Any:
        return MESSAGES["ModelMetadataResponse"](**describe_model(self._find(request.name, request.version)))

    async def _infer(self, request: Any, context: Any) -> Any:
        arrival = time.monotonic()
        model = self._find(request.model_name, request.model_version)
        timeout_s = self._timeout_s(request, context)
        names = choose_outputs([output.name for output in request.outputs])
        schema = model.loaded.saved.schema
        inputs = _read_inputs(request, self._limits, schema.n_features)
        features = to_features(schema, inputs, self._limits)
        model.figures.count("requests")
        answers = await model.engine.classify(features, arrival=arrival, deadline=arrival + timeout_s)
        response = MESSAGES["ModelInferResponse"](
            model_name=model.loaded.name, model_version=str(model.loaded.version), id=request.id
        )
        for key, value in response_parameters(answers).items():
            _set_parameter(response.parameters[key], value)
        for name in names:
            _add_output(response, name, output_values(answers, name), raw=bool(request.raw_input_contents))
        return response

    def _find(self, name: str, version: str) -> ServedModel:
        return self._store.find(name, version or None)

    def _timeout_s(self, request: Any, context: Any) -> float:
        """Return the seconds for a call: the client's deadline and the parameter ``timeout``, the shorter one."""
        parameters = {key: _get_parameter(value) for key, value in request.parameters.items()}
        left_s: float | None = context.time_remaining()
        if left_s is None:
            return read_timeout_s(_headers(context), parameters, self._limits)
        given = {"timeout": parameters["timeout"]} if "timeout" in parameters else {"timeout": left_s * 1e6}
        return min(max(left_s, 0.0), read_timeout_s({}, given, self._limits), self._limits.max_within_s)


def _headers(context: Any) -> Mapping[str, str]:
    return {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}


def _get_parameter(parameter: Any) -> Any:
    chosen = parameter.WhichOneof("parameter_choice")
    return None if chosen is None else getattr(parameter, chosen)


def _set_parameter(parameter: Any, value: int | bool) -> None:
    if isinstance(value, bool):
        parameter.bool_param = value
    else:
        parameter.int64_param = value


def _read_inputs(request: Any, limits: Limits, n_features: int) -> list[Tensor]:
    raw = request.raw_input_contents
    if raw and len(raw) != len(request.inputs):
        raise RequestError(
            BAD_REQUEST, f"raw_input_contents: there are {len(raw)} for {len(request.inputs)} inputs; send one each"
        )
    inputs, max_values = [], limits.max_records * max(n_features, 1)
    for at, found in enumerate(request.inputs):
        name, shape = found.name[:100], list(found.shape)
        n_values = check_tensor(name, found.datatype, shape, max_values)
        if raw:
            values = read_raw_tensor(name, found.datatype, n_values, memoryview(raw[at]))
        else:
            values = _read_contents(name, found, n_values)
        inputs.append(Tensor(found.name, shape, values))
    return inputs


def _read_contents(name: str, found: Any, n_values: int) -> NDArray[np.float64] | list[str]:
    field = _FIELD_OF.get(found.datatype)
    values = [] if field is None else getattr(found.contents, field)
    if len(values) != n_values:
        raise RequestError(
            BAD_REQUEST, f"inputs: {name!r} has {len(values)} {found.datatype} values, its shape says {n_values}"
        )
    if found.datatype != "BYTES":
        return np.array(values, dtype=np.float64)
    try:
        return [value.decode() for value in values]
    except UnicodeDecodeError:
        raise RequestError(BAD_REQUEST, f"inputs: a value of {name!r} is not UTF-8") from None


def _add_output(response: Any, name: str, values: NDArray[Any], *, raw: bool) -> None:
    datatype = datatype_of(values)
    output = response.outputs.add(name=name, datatype=datatype, shape=values.shape)
    if raw:
        response.raw_output_contents.append(to_raw_bytes(values))
        return
    flat = to_json_values(values)
    content = [value.encode() for value in flat] if datatype == "BYTES" else flat
    getattr(output.contents, _FIELD_OF[datatype]).extend(content)
