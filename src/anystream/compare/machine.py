"""Description of the machine, the versions and the commit that a comparison was made with."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import lru_cache
from pathlib import Path

from anystream import _native
from anystream.compare.methods import LIBRARIES, installed_version

_CPUINFO = Path("/proc/cpuinfo")


def describe_machine() -> str:
    """Return the kind of processor, the number of cores, the instruction set of the native core and Python's version.

    Examples
    --------
    >>> "Python" in describe_machine()
    True
    """
    lines = _CPUINFO.read_text().splitlines() if _CPUINFO.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    processor = next(names, platform.processor() or platform.machine())
    return f"{processor}, {os.cpu_count()} cores, {_native.isa}; Python {platform.python_version()}"


def versions() -> dict[str, str]:
    """Return the installed versions of all libraries that can be compared, and of NumPy."""
    packages = ["numpy", *(package for library in LIBRARIES.values() for package in library.packages)]
    found = {package: installed_version(package) for package in packages}
    return {package: version for package, version in found.items() if version is not None}


@lru_cache(maxsize=1)
def commit() -> str | None:
    """Return the commit of anystream if it runs from a checkout, with ``+`` if files were changed since."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    try:
        found = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty=+", "--exclude=*"],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
