"""Messages of the Open Inference Protocol for gRPC, made from a table of their fields; needs ``anystream[grpc]``.

The descriptors are built when this module is imported, in a pool of their own: there is no generated code, and clients
with generated code of the same protocol can be used in the same process.
"""

from __future__ import annotations

from typing import Any

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError as error:  # pragma: no cover  the tests have it
    raise ImportError("gRPC needs grpcio and protobuf; install anystream[grpc]") from error

PACKAGE = "inference"
SERVICE = f"{PACKAGE}.GRPCInferenceService"

_PARAMETERS = "map InferParameter"
_TENSOR = (("name", "string", 1), ("datatype", "string", 2), ("shape", "repeated int64", 3))
_NAMED = (("name", "string", 1), ("version", "string", 2))
_FIELDS: dict[str, tuple[tuple[str, str, int], ...]] = {
    "ServerLiveRequest": (),
    "ServerLiveResponse": (("live", "bool", 1),),
    "ServerReadyRequest": (),
    "ServerReadyResponse": (("ready", "bool", 1),),
    "ModelReadyRequest": _NAMED,
    "ModelReadyResponse": (("ready", "bool", 1),),
    "ServerMetadataRequest": (),
    "ServerMetadataResponse": (*_NAMED, ("extensions", "repeated string", 3)),
    "ModelMetadataRequest": _NAMED,
    "ModelMetadataResponse.TensorMetadata": _TENSOR,
    "ModelMetadataResponse": (
        ("name", "string", 1),
        ("versions", "repeated string", 2),
        ("platform", "string", 3),
        ("inputs", "repeated ModelMetadataResponse.TensorMetadata", 4),
        ("outputs", "repeated ModelMetadataResponse.TensorMetadata", 5),
    ),
    "InferParameter": (
        ("bool_param", "oneof bool", 1),
        ("int64_param", "oneof int64", 2),
        ("string_param", "oneof string", 3),
        ("double_param", "oneof double", 4),
        ("uint64_param", "oneof uint64", 5),
    ),
    "InferTensorContents": (
        ("bool_contents", "repeated bool", 1),
        ("int_contents", "repeated int32", 2),
        ("int64_contents", "repeated int64", 3),
        ("uint_contents", "repeated uint32", 4),
        ("uint64_contents", "repeated uint64", 5),
        ("fp32_contents", "repeated float", 6),
        ("fp64_contents", "repeated double", 7),
        ("bytes_contents", "repeated bytes", 8),
    ),
    "ModelInferRequest.InferInputTensor": (
        *_TENSOR,
        ("parameters", _PARAMETERS, 4),
        ("contents", "InferTensorContents", 5),
    ),
    "ModelInferRequest.InferRequestedOutputTensor": (("name", "string", 1), ("parameters", _PARAMETERS, 2)),
    "ModelInferRequest": (
        ("model_name", "string", 1),
        ("model_version", "string", 2),
        ("id", "string", 3),
        ("parameters", _PARAMETERS, 4),
        ("inputs", "repeated ModelInferRequest.InferInputTensor", 5),
        ("outputs", "repeated ModelInferRequest.InferRequestedOutputTensor", 6),
        ("raw_input_contents", "repeated bytes", 7),
    ),
    "ModelInferResponse.InferOutputTensor": (
        *_TENSOR,
        ("parameters", _PARAMETERS, 4),
        ("contents", "InferTensorContents", 5),
    ),
    "ModelInferResponse": (
        ("model_name", "string", 1),
        ("model_version", "string", 2),
        ("id", "string", 3),
        ("parameters", _PARAMETERS, 4),
        ("outputs", "repeated ModelInferResponse.InferOutputTensor", 5),
        ("raw_output_contents", "repeated bytes", 6),
    ),
}
METHODS = ("ServerLive", "ServerReady", "ModelReady", "ServerMetadata", "ModelMetadata", "ModelInfer")
"""Calls of the service; each takes a message ``<call>Request`` and returns a ``<call>Response``."""

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    name: getattr(_Field, f"TYPE_{name.upper()}")
    for name in ("bool", "int32", "int64", "uint32", "uint64", "float", "double", "string", "bytes")
}


def _describe() -> Any:
    """Return the file descriptor of all messages."""
    file = descriptor_pb2.FileDescriptorProto(name="anystream/open_inference.proto", package=PACKAGE, syntax="proto3")
    messages: dict[str, Any] = {}
    for full_name in sorted(_FIELDS, key=lambda name: name.count(".")):  # outer messages first
        outer, _, name = full_name.rpartition(".")
        messages[full_name] = (messages[outer].nested_type if outer else file.message_type).add(name=name)
    for full_name, fields in _FIELDS.items():
        for name, kind, number in fields:
            _add_field(messages[full_name], full_name, name, kind, number)
    return file


def _add_field(message: Any, full_name: str, name: str, kind: str, number: int) -> None:
    rule, _, type_name = kind.rpartition(" ")
    repeated = rule in ("repeated", "map")
    field = message.field.add(
        name=name, number=number, label=_Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    )
    if rule == "oneof":
        if not message.oneof_decl:
            message.oneof_decl.add(name="parameter_choice")
        field.oneof_index = 0
    if rule == "map":
        entry_name = f"{name.capitalize()}Entry"
        entry = message.nested_type.add(name=entry_name)
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING)
        entry.field.add(
            name="value",
            number=2,
            label=_Field.LABEL_OPTIONAL,
            type=_Field.TYPE_MESSAGE,
            type_name=f".{PACKAGE}.{type_name}",
        )
        type_name = f"{full_name}.{entry_name}"
    if type_name in _SCALARS:
        field.type = _SCALARS[type_name]
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{PACKAGE}.{type_name}"


def _make_classes() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_describe())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in _FIELDS}


MESSAGES: dict[str, Any] = _make_classes()
"""Classes of the messages by name; a nested one is ``Outer.Inner``."""
