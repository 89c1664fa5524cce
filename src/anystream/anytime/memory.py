"""Memory of this machine."""

from __future__ import annotations

import os


def free_bytes() -> int:
    """Return the bytes of physical memory that are free or hold nothing but cached files."""
    try:
        with open("/proc/meminfo") as lines:
            sizes = dict(line.split(":", 1) for line in lines)
        return 1024 * int(sizes["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
