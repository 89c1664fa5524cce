"""OpenAPI document of the server, at ``/openapi.json``."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import anystream
from anystream.server.inference import OUTPUTS
from anystream.server.json_bodies import json_response
from anystream.server.record_bodies import ARROW, JSON, JSON_LINES, RAW
from anystream.server.tensors import DATATYPES

_Json = dict[str, Any]


def openapi_routes(*, changes: bool) -> list[Route]:
    """Return the route of the document; `changes` tells whether the endpoints exist that change models."""
    document = describe_api(changes=changes)

    async def show(request: Request) -> Response:
        return json_response(document)

    return [Route("/openapi.json", show)]


def describe_api(*, changes: bool) -> _Json:
    """Return the document."""
    paths = _protocol_paths() | _records_paths() | _service_paths()
    if changes:
        paths |= _changes_paths()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "anystream",
            "version": anystream.__version__,
            "description": "Classifies every record by its deadline, counted from the arrival of its request.",
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _ref(name: str) -> _Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: _Json) -> _Json:
    return {JSON: {"schema": schema}}


def _operation(
    summary: str,
    answer: _Json | None = None,
    *,
    parameters: list[_Json] | None = None,
    body: _Json | None = None,
    errors: tuple[int, ...] = (),
    token: bool = False,
) -> _Json:
    responses: _Json = {
        "200": {"description": "Done.", "content": _json({"type": "object"}) if answer is None else answer}
    }
    texts = {
        400: "The request is malformed; the error names the field.",
        401: "The token is missing or wrong.",
        403: "Not allowed.",
        404: "There is no such model, version or file.",
        408: "The body did not arrive in time.",
        409: "The model cannot do that.",
        413: "Too many records, or too large a body.",
        415: "The content type is unknown.",
        503: "Refused at once: the answer could not be in time. Retry-After tells when to try again.",
    }
    for status in (*errors, *((401, 403) if token else (401,))):
        responses[str(status)] = {"description": texts[status], "content": _json(_ref("Error"))}
    found: _Json = {"summary": summary, "responses": responses}
    if parameters:
        found["parameters"] = parameters
    if body is not None:
        found["requestBody"] = {"content": body}
    if token:
        found["security"] = [{"token": []}, {}]
    return found


def _in(place: str, name: str, text: str, schema: _Json | None = None) -> _Json:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": text,
        "schema": schema or {"type": "string"},
    }


_NAME = _in("path", "name", "Name of a model.")
_VERSION = _in("path", "version", "Version of the model.")
_MODEL = _in("query", "model", "Name of a model; it may be left out if there is only one.")
_DEADLINES = [
    _in("header", "X-Request-Timeout-Seconds", "Time from arrival to deadline.", {"type": "number", "minimum": 0}),
    _in("header", "Request-Timeout-Ms", "The same, in milliseconds.", {"type": "number", "minimum": 0}),
]


def _protocol_paths() -> _Json:
    paths: _Json = {
        "/v2": {"get": _operation("Describe the server.")},
        "/v2/": {"get": _operation("Describe the server.")},
        "/v2/health/live": {"get": _operation("Tell that the server runs.")},
        "/v2/health/ready": {"get": _operation("Tell whether all models can classify.", errors=(503,))},
    }
    for prefix, parameters in (
        ("/v2/models/{name}", [_NAME]),
        ("/v2/models/{name}/versions/{version}", [_NAME, _VERSION]),
    ):
        paths[prefix] = {"get": _operation("Describe a model.", parameters=parameters, errors=(404,))}
        paths[f"{prefix}/ready"] = {
            "get": _operation("Tell whether a model can classify.", parameters=parameters, errors=(404, 503))
        }
        paths[f"{prefix}/infer"] = {
            "post": _operation(
                "Classify records: Open Inference Protocol, JSON or with binary tensors after it.",
                _json(_ref("InferResponse")) | {RAW: {}},
                parameters=[
                    *parameters,
                    *_DEADLINES,
                    _in("header", "Inference-Header-Content-Length", "Bytes of JSON before binary tensors."),
                ],
                body=_json(_ref("InferRequest")) | {RAW: {}},
                errors=(400, 404, 408, 413, 415, 503),
            )
        }
    return paths


def _records_paths() -> _Json:
    records = {"oneOf": [_ref("Record"), {"type": "array", "items": _ref("Record")}]}
    return {
        "/v1/classify": {
            "post": _operation(
                "Classify one record or many, by column name.",
                _json(_ref("Answers")) | {JSON_LINES: {}, ARROW: {}},
                parameters=[
                    _MODEL,
                    _in("query", "probabilities", "true for those of every class.", {"type": "boolean"}),
                    *_DEADLINES,
                ],
                body=_json(records) | {JSON_LINES: {}, ARROW: {}, RAW: {}},
                errors=(400, 404, 408, 413, 415, 503),
            )
        },
        "/v1/models": {"get": _operation("List the models.")},
        "/v1/models/{name}": {"get": _operation("Describe a model.", parameters=[_NAME], errors=(404,))},
        "/v1/events": {
            "get": _operation("Live figures, as server-sent events.", {"text/event-stream": {}}, errors=(503,))
        },
    }


def _service_paths() -> _Json:
    return {
        "/healthz": {"get": _operation("Tell that the server runs.")},
        "/readyz": {"get": _operation("Tell whether all models can classify.", errors=(503,))},
        "/metrics": {"get": _operation("Metrics for Prometheus.", {"text/plain": {}})},
        "/openapi.json": {"get": _operation("This document.")},
    }


def _changes_paths() -> _Json:
    late = {"type": "array", "items": {"type": "object", "required": ["key", "label"]}}
    learned = {
        "oneOf": [
            _ref("Record"),
            {"type": "array", "items": _ref("Record")},
            {"type": "object", "required": ["labels"], "properties": {"labels": late}},
        ]
    }
    file = {"type": "object", "properties": {"file": {"type": ["string", "null"]}}}
    load = _operation(
        "Load a file of the server's folders, in the place of the model of this name.",
        parameters=[_NAME],
        body=_json(file),
        errors=(400, 404, 408, 413, 415),
        token=True,
    )
    unload = _operation("Serve a model no more.", parameters=[_NAME], errors=(404,), token=True)
    return {
        "/v1/learn": {
            "post": _operation(
                "Learn from labelled records, or from labels of records seen before; what is accepted is on disk.",
                parameters=[_MODEL],
                body=_json(learned) | {JSON_LINES: {}, ARROW: {}},
                errors=(400, 404, 408, 409, 413, 415, 503),
                token=True,
            )
        },
        "/v1/models/{name}/load": {"post": load},
        "/v1/models/{name}/unload": {"post": unload},
        "/v1/models/{name}/rollback": {
            "post": _operation("Serve the model before again.", parameters=[_NAME], errors=(404, 409), token=True)
        },
        "/v2/repository/index": {"post": _operation("List the models.", _json({"type": "array"}), token=True)},
        "/v2/repository/models/{name}/load": {"post": load},
        "/v2/repository/models/{name}/unload": {"post": unload},
    }


def _schemas() -> _Json:
    parameters = {"type": "object"}
    tensor = {
        "name": {"type": "string"},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "maxItems": 2},
        "datatype": {"enum": list(DATATYPES)},
        "parameters": parameters,
        "data": {"type": "array"},
    }
    output = {"name": {"enum": list(OUTPUTS)}, "parameters": parameters}
    return {
        "Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}},
        "Record": {"type": "object", "description": "Values by column name; key and label may be among them."},
        "Answers": {
            "type": "object",
            "required": ["model", "version", "answers"],
            "properties": {
                "model": {"type": "string"},
                "version": {"type": "string"},
                "answers": {"type": "array", "items": _ref("Answer")},
            },
        },
        "Answer": {
            "type": "object",
            "required": ["label", "confidence", "steps", "certified", "on_time", "waited_us", "reached"],
            "properties": {
                "key": {},
                "label": {"type": ["string", "integer", "number"]},
                "confidence": {"type": "number"},
                "steps": {"type": "integer"},
                "certified": {"type": "boolean"},
                "confident": {
                    "type": "boolean",
                    "description": "Whether a test of the model, at a stated rate of error, ended the work; only where "
                    "that is so for an answer of the request.",
                },
                "on_time": {"type": "boolean"},
                "waited_us": {"type": "integer"},
                "reached": {"type": "boolean", "description": "False: there was no time for this record at all."},
                "probabilities": {"type": "object"},
            },
        },
        "InferRequest": {
            "type": "object",
            "required": ["inputs"],
            "properties": {
                "id": {"type": "string"},
                "parameters": {
                    "type": "object",
                    "properties": {"timeout": {"type": "integer", "description": "Microseconds to the deadline."}},
                },
                "inputs": {
                    "type": "array",
                    "items": {"type": "object", "required": ["name", "shape", "datatype"], "properties": tensor},
                },
                "outputs": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": output}},
            },
        },
        "InferResponse": {
            "type": "object",
            "required": ["model_name", "model_version", "parameters", "outputs"],
            "properties": {
                "id": {"type": "string"},
                "model_name": {"type": "string"},
                "model_version": {"type": "string"},
                "parameters": parameters,
                "outputs": {"type": "array", "items": {"type": "object", "properties": tensor}},
            },
        },
    }
