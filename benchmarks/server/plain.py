"""A plain Starlette endpoint around a forest: what one writes in an hour. Run as ``python -m benchmarks.server.plain``."""

from __future__ import annotations

import json
import sys

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from benchmarks.server.forest_file import load_forest


def make_app(path: str) -> Starlette:
    """Return the application."""
    predict = load_forest(path)

    async def infer(request: Request) -> Response:
        body = await request.body()
        length = int(request.headers["inference-header-content-length"])
        wanted = json.loads(body[:length])
        X = np.frombuffer(body, dtype="<f8", offset=length).reshape(wanted["inputs"][0]["shape"])
        labels = await run_in_threadpool(predict, X)
        outputs = [{"name": "label", "datatype": "INT64", "shape": [len(labels)], "data": labels.tolist()}]
        return JSONResponse({"model_name": "forest", "id": wanted["id"], "outputs": outputs})

    async def ready(request: Request) -> Response:
        return JSONResponse({"ready": True})

    return Starlette(
        routes=[Route("/v2/models/forest/infer", infer, methods=["POST"]), Route("/v2/health/ready", ready)]
    )


if __name__ == "__main__":
    uvicorn.run(make_app(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)
