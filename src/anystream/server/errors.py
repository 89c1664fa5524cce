"""Errors that become responses: a status code, one sentence, and nothing about the inside of the server."""

from __future__ import annotations

import math

BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, TIMEOUT, CONFLICT = 400, 401, 403, 404, 408, 409
TOO_LARGE, UNSUPPORTED_MEDIA, HEADERS_TOO_LARGE, UNAVAILABLE = 413, 415, 431, 503


class RequestError(Exception):
    """A request that is not served.

    Parameters
    ----------
    status : int
        Status code of HTTP.
    message : str
        What is wrong, with the field and the value, and what to do.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the response."""
        return {"WWW-Authenticate": "Bearer"} if self.status == UNAUTHORIZED else {}


class RefusedError(RequestError):
    """A request that is refused at once, because it could not be answered in time.

    Parameters
    ----------
    reason : str
        Short name, for metrics.
    message : str
        Why, and what to do.
    retry_after_s : float
        Seconds after which another attempt may succeed.
    """

    def __init__(self, reason: str, message: str, retry_after_s: float = 1.0) -> None:
        super().__init__(UNAVAILABLE, message)
        self.reason = reason
        self.retry_after_s = max(1, math.ceil(min(retry_after_s, 3600.0)))

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the response."""
        return {"Retry-After": str(self.retry_after_s)}
