"""JSON in requests and responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response

from anystream.server.errors import BAD_REQUEST, RequestError

T = TypeVar("T")


def decode_json(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Return the value of a body; raise an error that names the field if it is malformed."""
    try:
        return decoder.decode(body)
    except RecursionError:
        raise RequestError(BAD_REQUEST, "the body is nested too deeply; send flat lists") from None
    except (msgspec.MsgspecError, UnicodeError, ValueError, OverflowError) as error:
        raise RequestError(BAD_REQUEST, f"the body is malformed: {str(error)[:300]}") from None


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response of JSON."""
    return Response(msgspec.json.encode(value), status, dict(headers or {}), "application/json")


def error_response(error: RequestError) -> Response:
    """Return the response to a request that is not served."""
    return json_response({"error": error.message}, status=error.status, headers=error.headers)
