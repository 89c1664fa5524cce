"""Connection to a cluster of Ray; needs ``anystream[ray]``."""

from __future__ import annotations

import os
from typing import Any

# Before ray is imported: no statistics about its use, and a cluster of this machine listens on 127.0.0.1 alone.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
try:
    import ray
except ImportError as error:  # pragma: no cover  the tests skip without it
    raise ImportError("Ray is not installed; install anystream[ray]") from error


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
            ray.init(on, log_to_driver=False)
    return ray
