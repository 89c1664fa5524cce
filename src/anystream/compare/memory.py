"""Memory of this process, on Linux."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress
from pathlib import Path

_STATM = Path("/proc/self/statm")


def resident_bytes() -> int | None:
    """Return the resident memory after unused memory was given back; None where /proc does not show it."""
    gc.collect()
    if not _STATM.exists():
        return None
    with suppress(AttributeError, OSError):  # another C library: freed memory then counts as in use
        ctypes.CDLL(None).malloc_trim(0)
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
