"""The page at ``/``: live charts of the server, in files of its own; nothing is loaded from elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from anystream.anytime.profile import PerformanceProfile
from anystream.server.errors import NOT_FOUND, RequestError
from anystream.server.json_bodies import json_response
from anystream.server.limits import Limits
from anystream.server.model_store import ModelStore, ServedModel

_FOLDER = Path(__file__).with_name("page")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class Dashboard:
    """Routes of the page, of its files, and of the cards of the models.

    Parameters
    ----------
    store : ModelStore
        The models.
    limits : Limits
        Bounds on requests; their default deadline is shown.
    """

    def __init__(self, store: ModelStore, limits: Limits) -> None:
        self._store = store
        self._limits = limits
        self._files = {file.name: file.read_bytes() for file in _FOLDER.iterdir() if file.suffix in _TYPES}

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/", self._page),
            Route("/dashboard/models", self._models),
            Route("/dashboard/{name}", self._part),
        ]

    async def _page(self, request: Request) -> Response:
        return self._file("index.html")

    async def _part(self, request: Request) -> Response:
        return self._file(request.path_params["name"])

    async def _models(self, request: Request) -> Response:
        return json_response([model_card(model, self._limits) for model in self._store.served()], headers=_HEADERS)

    def _file(self, name: str) -> Response:
        if name not in self._files:
            raise RequestError(NOT_FOUND, "there is no such file; the page is at /")
        return Response(self._files[name], headers={**_HEADERS, "Content-Type": _TYPES[Path(name).suffix]})


def model_card(model: ServedModel, limits: Limits) -> dict[str, Any]:
    """Return what people want to know of a model, and its anytime curve if its file has one."""
    classifier, loaded = model.classifier, model.loaded
    return {
        "name": loaded.name,
        "version": str(loaded.version),
        "facts": {
            "Classifier": type(classifier).__name__,
            "Version": str(loaded.version),
            "Classes": f"{len(classifier.classes_):,}",
            "Features": f"{classifier.n_features_in_:,}",
            "Memory": f"{classifier.memory_bytes_ / 1e6:,.1f} MB",
            "Deadline": f"{1e3 * limits.within_s:g} ms",
            "File": loaded.path.name,
            "Loaded": datetime.fromtimestamp(loaded.loaded_at, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        },
        "curve": _curve(loaded.saved.notes),
    }


def _curve(notes: dict[str, Any]) -> list[tuple[int, float]]:
    """Return steps and accuracies of the profile that was noted in the model file."""
    try:
        profile = PerformanceProfile.from_json(notes["performance_profile"])
    except (KeyError, TypeError, ValueError):
        return []
    return list(zip(profile.stages.tolist(), profile.accuracy.tolist(), strict=True))
