"""What a run was made with: date, versions, processor and commit; no name of a host or a user."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import scipy
import sklearn

from anystream import _native


def describe_environment() -> dict[str, str]:
    """Return the date, the versions, the machine and, from a checkout, the commit."""
    import anystream

    found = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "anystream": anystream.__version__,
        "packages": f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}",
        "machine": f"{_processor()}, {os.cpu_count()} cores, {_native.isa}, {platform.system()}",
    }
    commit = _commit(Path(anystream.__file__).parent)
    return found | ({"commit": commit} if commit else {})


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _commit(folder: Path) -> str | None:
    """Return the commit of the checkout that a folder belongs to, with a note if files differ from it."""
    git = ("git", "-C", str(folder))
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", "__init__.py"], capture_output=True, check=True)
        commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run([*git, "status", "--porcelain", "--", "."], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.stdout.strip() + (" with local changes" if changed.stdout.strip() else "")
