"""Records API: plain JSON objects by column name in, answers out; and the models that the server has."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from anystream.runtime.records import Records
from anystream.server.classify_request import classify_request
from anystream.server.deadlines import read_timeout_s
from anystream.server.inference import to_us
from anystream.server.json_bodies import json_response
from anystream.server.limits import Limits, read_body
from anystream.server.model_store import ModelStore, ServedModel
from anystream.server.record_bodies import ARROW, JSON_LINES, media_type, read_records
from anystream.server.request_stream import Answers

CLASSIFY = "/v1/classify"


class RecordsApi:
    """Routes of the records API.

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
        """Return the routes."""
        return [
            Route(CLASSIFY, self.classify, methods=["POST"]),
            Route("/v1/models", self.list_models),
            Route("/v1/models/{name}", self.show_model),
        ]

    async def classify(self, request: Request) -> Response:
        """Classify one record or many."""
        timeout_s = read_timeout_s(request.headers, {}, self._limits)
        body = await read_body(request, self._limits)
        model = self._store.find(request.query_params.get("model"))
        kind = media_type(request.headers.get("content-type"))
        records = read_records(body, kind, model.loaded.saved.schema, self._limits)
        label = records.label.tolist()
        known = label if any(value is not None for value in label) else None
        answers = await classify_request(request, model, records.features, timeout_s, known)
        if model.learning is not None:
            model.seen.add(records.key.tolist(), records.features, answers.label.tolist())
        columns = _answer_columns(records, answers, proba=request.query_params.get("probabilities") == "true")
        if ARROW in request.headers.get("accept", ""):
            return _arrow_response(columns)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        if kind == JSON_LINES:
            return Response(msgspec.json.Encoder().encode_lines(rows), media_type=JSON_LINES)
        return json_response({"model": model.loaded.name, "version": str(model.loaded.version), "answers": rows})

    async def list_models(self, request: Request) -> Response:
        """List the models."""
        return json_response({"models": [describe(self._store, self._store.find(name)) for name in self._store.names]})

    async def show_model(self, request: Request) -> Response:
        """Describe one model."""
        return json_response(describe(self._store, self._store.find(request.path_params["name"])))


def describe(store: ModelStore, model: ServedModel) -> dict[str, Any]:
    """Return what a client needs to know of a model, and what a person wants to."""
    loaded, classifier = model.loaded, model.classifier
    previous = store.previous(loaded.name)
    return {
        "name": loaded.name,
        "version": str(loaded.version),
        "previous_version": None if previous is None else str(previous.version),
        "kind": loaded.saved.file.kind,
        "file": loaded.path.name,
        "loaded_at": loaded.loaded_at,
        "ready": model.engine.is_alive,
        "waiting": model.engine.waiting,
        "budget": classifier.budget,
        "n_features": classifier.n_features_in_,
        "classes": np.asarray(classifier.classes_).tolist(),
        "schema": loaded.saved.schema.to_json(),
        "memory_bytes": int(getattr(classifier, "memory_bytes_", 0)),
        "learning": None
        if model.learning is None
        else {"acknowledged": model.learning.acknowledged, "learned": model.learning.learner.learned},
    }


def _answer_columns(records: Records, answers: Answers, *, proba: bool) -> dict[str, list[Any]]:
    """Return answers as columns of JSON values."""
    columns: dict[str, list[Any]] = {}
    keys = records.key.tolist()
    if records.key.dtype == object and any(key is not None for key in keys):
        columns["key"] = keys
    columns |= {
        "label": answers.label.tolist(),
        "confidence": answers.proba.max(axis=1).tolist(),
        "steps": answers.steps.tolist(),
        "certified": answers.certified.tolist(),
        "on_time": (~answers.late).tolist(),
        "waited_us": to_us(answers.waited_s).tolist(),
        "reached": answers.reached.tolist(),
    }
    if answers.confident.any():
        columns["confident"] = answers.confident.tolist()
    if proba:
        names = [str(label) for label in answers.classes.tolist()]
        columns["probabilities"] = [dict(zip(names, row, strict=True)) for row in answers.proba.tolist()]
    return columns


def _arrow_response(columns: dict[str, list[Any]]) -> Response:
    from anystream.server.arrow_bodies import write_arrow_stream

    if "key" in columns:
        columns = columns | {"key": [None if key is None else str(key) for key in columns["key"]]}
    return Response(write_arrow_stream(columns), media_type=ARROW)
