"""Changes by request: learning from labels, and loading, unloading and rolling back models."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from anystream.connectors.cells import parse_labels
from anystream.runtime.records import Records
from anystream.server.auth import require_right_to_change
from anystream.server.errors import BAD_REQUEST, CONFLICT, UNSUPPORTED_MEDIA, RequestError
from anystream.server.json_bodies import decode_json, json_response
from anystream.server.limits import Limits, read_body
from anystream.server.model_store import ModelStore, ServedModel
from anystream.server.record_bodies import JSON, RAW, media_type, read_records
from anystream.server.records_api import describe
from anystream.server.settings import ServerSettings

_MAX_HEAD = 1000  # bytes of a body in which the name of its list of labels must stand
_MAX_SHOWN = 100  # keys without a record that a response lists


class _LateLabel(msgspec.Struct):
    key: str | int | float
    label: str | int | float | bool


class _LateLabels(msgspec.Struct):
    labels: list[_LateLabel]


class _LoadRequest(msgspec.Struct):
    file: str | None = None


_anything = msgspec.json.Decoder()
_labels = msgspec.json.Decoder(_LateLabels)
_load_request = msgspec.json.Decoder(_LoadRequest)
_Endpoint = Callable[[Request], Awaitable[Response]]


class ChangesApi:
    """Routes that change models; they exist only if the settings allow changes.

    Parameters
    ----------
    store : ModelStore
        The models.
    settings : ServerSettings
        Token and limits.
    """

    def __init__(self, store: ModelStore, settings: ServerSettings) -> None:
        self._store = store
        self._settings = settings
        self._limits: Limits = settings.limits

    def routes(self) -> list[Route]:
        """Return the routes."""
        if not self._settings.allows_changes:
            return []
        paths: dict[str, _Endpoint] = {
            "/v1/learn": self.learn,
            "/v1/models/{name}/load": self.load,
            "/v1/models/{name}/unload": self.unload,
            "/v1/models/{name}/rollback": self.roll_back,
            "/v2/repository/index": self.index,
            "/v2/repository/models/{name}/load": self.load,
            "/v2/repository/models/{name}/unload": self.unload,
        }
        return [Route(path, self._guard(endpoint), methods=["POST"]) for path, endpoint in paths.items()]

    async def learn(self, request: Request) -> Response:
        """Learn from labelled records, or from labels of records that were classified before."""
        body = await read_body(request, self._limits)
        model = self._store.find(request.query_params.get("model"))
        if model.learning is None:
            raise RequestError(CONFLICT, f"model {model.loaded.name!r} does not learn; start the server with --learn")
        kind = media_type(request.headers.get("content-type"))
        if kind == RAW:
            raise RequestError(UNSUPPORTED_MEDIA, "raw float32 values have no labels; send JSON or Arrow")
        unmatched: list[Any] = []
        if kind == JSON and _has_late_labels(body, model):
            records, unmatched = _match(model, decode_json(_labels, body).labels, self._limits)
        else:
            records = read_records(body, kind, model.loaded.saved.schema, self._limits)
        model.learning.check(records)
        if len(records):
            await asyncio.to_thread(model.learning.learn, records)
            model.figures.count("acknowledged", len(records))
        found = {"model": model.loaded.name, "accepted": len(records), "acknowledged": model.learning.acknowledged}
        if unmatched:
            found |= {"unmatched": len(unmatched), "unmatched_keys": unmatched[:_MAX_SHOWN]}
        return json_response(found)

    async def load(self, request: Request) -> Response:
        """Load a model file, in the place of the one that has the name."""
        body = await read_body(request, self._limits)
        file = decode_json(_load_request, body).file if body else None
        return self._show(await self._store.load_by_request(request.path_params["name"], file))

    async def unload(self, request: Request) -> Response:
        """Serve a model no more."""
        name = request.path_params["name"]
        await self._store.unload(name)
        return json_response({"name": name, "unloaded": True})

    async def roll_back(self, request: Request) -> Response:
        """Serve the model before again."""
        return self._show(await self._store.roll_back(request.path_params["name"]))

    async def index(self, request: Request) -> Response:
        """List the models in the form of Triton's repository extension."""
        return json_response(
            [
                {
                    "name": model.loaded.name,
                    "version": str(model.loaded.version),
                    "state": "READY" if model.engine.is_alive else "UNAVAILABLE",
                    "reason": "",
                }
                for model in self._store.served()
            ]
        )

    def _show(self, model: ServedModel) -> Response:
        return json_response(describe(self._store, model))

    def _guard(self, endpoint: _Endpoint) -> _Endpoint:
        async def guarded(request: Request) -> Response:
            require_right_to_change(self._settings, request.headers)
            return await endpoint(request)

        return guarded


def _has_late_labels(body: bytes, model: ServedModel) -> bool:
    """Whether a body is an object with a list of labels, and not a record with a column of that name."""
    if b'"labels"' not in body[:_MAX_HEAD] or any(
        column.name == "labels" for column in model.loaded.saved.schema.columns
    ):
        return False
    value = decode_json(_anything, body)
    return isinstance(value, dict) and "labels" in value


def _match(model: ServedModel, labels: list[_LateLabel], limits: Limits) -> tuple[Records, list[Any]]:
    """Return the records that were classified before, with their labels, and the keys of which there is no record."""
    limits.check_records(len(labels))
    errors: dict[int, str] = {}
    values = parse_labels([late.label for late in labels], model.loaded.saved.schema.label_type, errors)
    if errors:
        row, reason = min(errors.items())
        raise RequestError(BAD_REQUEST, f"labels[{row}]: {reason}")
    found, known, unmatched = [], [], []
    for late, label in zip(labels, values, strict=True):
        record = model.seen.pop(late.key)
        if record is None:
            unmatched.append(late.key)
            continue
        found.append(record.features)
        known.append(label)
        model.figures.count("judged")
        model.figures.count("right", int(record.label == label))
    if not found:
        return Records.empty(), unmatched
    return Records.from_features(np.array(found), label=known), unmatched
