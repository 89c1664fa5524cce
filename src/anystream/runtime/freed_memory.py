"""Memory that one batch frees and the next one needs again."""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # options of glibc's mallopt
_KEPT_BYTES = 64 << 20
_LARGEST_BYTES = 32 << 20  # glibc takes no larger value; larger arrays always go back to the system


def keep_freed_memory() -> None:
    """Let this process keep up to 64 MB that it has freed, for the next batch, instead of giving it to the system.

    Memory that comes back from the system costs a page fault for every 4 kB. Without glibc nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
