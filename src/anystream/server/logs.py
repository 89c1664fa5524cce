"""Logs on standard error: lines for people, or one JSON object per line. They never hold the content of records."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

ACCESS = logging.getLogger("anystream.access")
"""One record per request, with its method, path, status, and milliseconds."""
FIELDS = ("method", "path", "status", "ms", "client")
_MAX_PATH = 200


class JsonFormatter(logging.Formatter):
    """Formats a log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        values = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        values |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            values["exception"] = self.formatException(record.exc_info)
        return json.dumps(values)


def set_up_logs(*, as_json: bool, access: bool) -> None:
    """Write the logs of the server to standard error.

    Parameters
    ----------
    as_json : bool
        One JSON object per line instead of text.
    access : bool
        Whether requests are logged.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else logging.Formatter("anystream: %(message)s"))
    for name in ("anystream", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "anystream" else logging.ERROR)
    ACCESS.setLevel(logging.INFO if access else logging.WARNING)


def log_request(method: str, path: str, status: int, seconds: float, client: str) -> None:
    """Log one request."""
    ms, shown = round(seconds * 1e3, 3), path[:_MAX_PATH].encode("unicode_escape").decode()
    fields = dict(zip(FIELDS, (method, shown, status, ms, client), strict=True))
    ACCESS.info("%s %s %d %.3f ms %s", method, shown, status, ms, client, extra=fields)
