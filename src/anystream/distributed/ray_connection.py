"""Connection to a cluster of Ray; needs ``anystream[ray]``."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

# Before ray is imported: no statistics about its use, and a cluster of this machine listens on 127.0.0.1 alone.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
try:
    import ray
except ImportError as error:  # pragma: no cover  the tests skip without it
    raise ImportError("Ray is not installed; install anystream[ray]") from error

_ATTEMPTS = 4


def connect(on: str) -> Any:
    """Return the module `ray`, connected.

    Parameters
    ----------
    on : str
        ``"ray"``: the cluster that this program is connected to; otherwise the one of ``RAY_ADDRESS``; otherwise a new
        one on this machine. ``"ray://host:port"``: that one.
    """
    if not ray.is_initialized():
        if on == "ray":
            ray.init(include_dashboard=False, log_to_driver=False)
        else:
            _connect_remotely(on)
    return ray


def _connect_remotely(address: str) -> None:
    """Connect, up to `_ATTEMPTS` times: Ray starts a process for each client, and on a busy head that can fail."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            ray.init(address, log_to_driver=False)
            return
        except ConnectionAbortedError as error:  # the head was reached; one that is away is a ConnectionError
            ray.shutdown()
            reason = str(error).replace("\\n", "\n").strip().splitlines()[-1]
            if attempt == _ATTEMPTS:
                raise ConnectionError(f"{address}: {reason} ({_ATTEMPTS} attempts)") from error
            warnings.warn(f"{address}: {reason}; trying again", RuntimeWarning, stacklevel=3)
            time.sleep(attempt)
