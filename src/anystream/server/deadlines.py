"""Deadlines of requests: by a parameter, a header, or the server's default; counted from arrival."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from anystream.server.errors import BAD_REQUEST, RequestError
from anystream.server.limits import Limits

_HEADERS = {"x-request-timeout-seconds": 1.0, "request-timeout-ms": 1e-3}
_MICROSECOND = 1e-6


def read_timeout_s(headers: Mapping[str, str], parameters: Mapping[str, Any], limits: Limits) -> float:
    """Return the seconds that a request may take, from its arrival; the shortest time that it names counts.

    Parameters
    ----------
    headers : mapping
        ``x-request-timeout-seconds`` and ``Request-Timeout-Ms`` are read.
    parameters : mapping
        Parameters of the protocol; ``timeout`` is read, in microseconds.
    limits : Limits
        The default and the maximum.
    """
    found = [_read("the header " + name, headers[name], unit_s) for name, unit_s in _HEADERS.items() if name in headers]
    if (timeout := parameters.get("timeout")) is not None:
        found.append(_read("parameters: timeout", timeout, _MICROSECOND))
    named = [seconds for seconds in found if seconds > 0.0]
    return min(limits.max_within_s, *named) if named else limits.within_s


def _read(name: str, value: Any, unit_s: float) -> float:
    try:
        seconds = math.nan if isinstance(value, bool) else float(value) * unit_s
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not seconds >= 0.0:
        raise RequestError(BAD_REQUEST, f"{name} is {str(value)[:60]!r}; send a number of 0 or more, 0 for the default")
    return seconds
