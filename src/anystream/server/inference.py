"""Inference requests of the Open Inference Protocol, whatever the transport: from tensors to records and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.schema import Schema
from anystream.server.errors import BAD_REQUEST, RequestError
from anystream.server.limits import Limits
from anystream.server.model_store import ServedModel
from anystream.server.request_stream import Answers
from anystream.server.tensors import datatype_of

WHOLE_INPUT = "features"
"""Name of the input that holds all features of a record, where they are all numbers."""
DEFAULT_OUTPUTS = ("label", "probabilities")
OUTPUTS = (*DEFAULT_OUTPUTS, "steps", "certified", "confident", "on_time", "waited_us", "reached")


class Tensor(NamedTuple):
    """An input: its name, its shape, and its values as numbers or texts in row-major order."""

    name: str
    shape: Sequence[int]
    values: NDArray[np.float64] | list[str]


def to_features(schema: Schema, inputs: Sequence[Tensor], limits: Limits) -> NDArray[np.float64]:
    """Return records from one tensor of all features, or from one tensor per column."""
    if not inputs:
        raise RequestError(BAD_REQUEST, f"inputs: there are none; send {_describe_inputs(schema)}")
    if len(inputs) == 1 and (
        _is_whole(inputs[0], schema) or all(inputs[0].name != column.name for column in schema.columns)
    ):
        return _from_whole(schema, inputs[0], limits)
    return _from_columns(schema, inputs, limits)


def _is_whole(tensor: Tensor, schema: Schema) -> bool:
    return len(tensor.shape) == 2 and tensor.shape[1] == schema.n_features > 1


def _from_whole(schema: Schema, tensor: Tensor, limits: Limits) -> NDArray[np.float64]:
    shape = tensor.shape if len(tensor.shape) == 2 else (1, *tensor.shape)
    if isinstance(tensor.values, list) or shape[1] != schema.n_features:
        raise RequestError(
            BAD_REQUEST,
            f"inputs: {tensor.name[:100]!r} has the shape {list(tensor.shape)}; send {_describe_inputs(schema)}",
        )
    limits.check_records(shape[0])
    return tensor.values.reshape(shape)


def _from_columns(schema: Schema, inputs: Sequence[Tensor], limits: Limits) -> NDArray[np.float64]:
    given = {tensor.name: tensor for tensor in inputs}
    for column in schema.columns:
        if column.name not in given:
            raise RequestError(BAD_REQUEST, f"inputs: {column.name!r} is missing; send {_describe_inputs(schema)}")
    if len(given) != len(schema.columns) or len(given) != len(inputs):
        wrong = next((name for name in given if all(name != column.name for column in schema.columns)), inputs[-1].name)
        raise RequestError(
            BAD_REQUEST, f"inputs: {wrong[:100]!r} is unknown or there twice; send {_describe_inputs(schema)}"
        )
    n_records = inputs[0].shape[0]
    limits.check_records(n_records)
    for tensor in inputs:
        if len(tensor.values) != n_records:
            raise RequestError(
                BAD_REQUEST,
                f"inputs: {tensor.name!r} has the shape {list(tensor.shape)}, {inputs[0].name!r} {n_records} records; "
                "send one value per record",
            )
    columns: dict[str, Any] = {tensor.name: tensor.values for tensor in inputs}
    features, errors, _ = replace(schema, unknown="reject").encode(columns, n_records)
    if errors:
        row, reason = min(errors.items())
        raise RequestError(BAD_REQUEST, f"inputs: record {row}: {reason}")
    return features


def _describe_inputs(schema: Schema) -> str:
    names = ", ".join(repr(column.name) for column in schema.columns[:8])
    more = ", ..." if len(schema.columns) > 8 else ""
    return f"one tensor of the shape [records, {schema.n_features}], or one per column: {names}{more}"


def choose_outputs(names: Sequence[str]) -> Sequence[str]:
    """Return the outputs of a request; without names the default ones."""
    for name in names:
        if name not in OUTPUTS:
            raise RequestError(BAD_REQUEST, f"outputs: {name[:100]!r} is unknown; use {', '.join(OUTPUTS)}")
    return names or DEFAULT_OUTPUTS


def output_values(answers: Answers, name: str) -> NDArray[Any]:
    """Return an output as an array."""
    match name:
        case "label":
            return answers.label
        case "probabilities":
            return answers.proba
        case "steps":
            return answers.steps
        case "certified":
            return answers.certified
        case "confident":
            return answers.confident
        case "on_time":
            return ~answers.late
        case "reached":
            return answers.reached
        case _:
            return to_us(answers.waited_s)


def to_us(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole microseconds."""
    return np.rint(seconds * 1e6).astype(np.int64)


def response_parameters(answers: Answers) -> dict[str, int | bool]:
    """Return the parameters of a response; they hold for every record of it.

    Of several records, ``steps`` is the smallest number, ``waited_us`` the longest time, and ``certified``,
    ``on_time`` and ``reached`` tell whether all are. ``confident`` is there if a test of the model ended the work for
    some.
    """
    if len(answers.steps) == 1:  # quicker than arrays
        marks = {"confident": True} if answers.confident.item() else {}
        return marks | {
            "steps": answers.steps.item(),
            "certified": answers.certified.item(),
            "on_time": not answers.late.item(),
            "waited_us": round(1e6 * answers.waited_s.item()),
            "reached": answers.reached.item(),
        }
    marks = {"confident": True} if answers.confident.any() else {}
    return marks | {
        "steps": int(answers.steps.min()),
        "certified": bool(answers.certified.all()),
        "on_time": not answers.late.any(),
        "waited_us": int(to_us(answers.waited_s).max()),
        "reached": bool(answers.reached.all()),
    }


def describe_model(model: ServedModel) -> dict[str, Any]:
    """Return the metadata of a model in the form of the protocol."""
    saved = model.loaded.saved
    classes = np.asarray(model.classifier.classes_)
    outputs: Mapping[str, tuple[str, list[int]]] = {
        "label": (datatype_of(classes), [-1]),
        "probabilities": ("FP64", [-1, len(classes)]),
        "steps": ("INT64", [-1]),
        "certified": ("BOOL", [-1]),
        "confident": ("BOOL", [-1]),
        "on_time": ("BOOL", [-1]),
        "waited_us": ("INT64", [-1]),
        "reached": ("BOOL", [-1]),
    }
    return {
        "name": model.loaded.name,
        "versions": [str(model.loaded.version)],
        "platform": f"anystream_{saved.file.kind}",
        "inputs": describe_inputs(saved.schema),
        "outputs": [
            {"name": name, "datatype": datatype, "shape": shape} for name, (datatype, shape) in outputs.items()
        ],
    }


def describe_inputs(schema: Schema) -> list[dict[str, Any]]:
    """Return the inputs of a model: one of all features, or one per column where some are categories."""
    if all(column.categories is None for column in schema.columns):
        return [{"name": WHOLE_INPUT, "datatype": "FP64", "shape": [-1, schema.n_features]}]
    return [
        {"name": column.name, "datatype": "FP64" if column.categories is None else "BYTES", "shape": [-1]}
        for column in schema.columns
    ]
