"""Who may do what: a bearer token for changes, or for everything."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import urlsplit

from anystream.server.errors import FORBIDDEN, UNAUTHORIZED, RequestError
from anystream.server.settings import ServerSettings

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/v2/health/live", "/v2/health/ready"})
"""Paths that never need a token: machines ask them."""


def require_token(settings: ServerSettings, headers: Mapping[str, str]) -> None:
    """Raise if the request has not the token of the server; it is compared in constant time."""
    if settings.token is None:
        return
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), settings.token.encode()):
        raise RequestError(UNAUTHORIZED, "send the token of the server as 'Authorization: Bearer ...'")


def require_right_to_change(settings: ServerSettings, headers: Mapping[str, str]) -> None:
    """Raise if the request may not change models.

    Without a token anyone on this machine may, but not a page of another site in somebody's browser.
    """
    require_token(settings, headers)
    origin = headers.get("origin")
    if settings.token is None and origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise RequestError(FORBIDDEN, "a page of another site may not change models; start the server with a token")
