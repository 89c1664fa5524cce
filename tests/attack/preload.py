"""Libraries of this folder that are preloaded into a Python process to make calls of it fail.

They are compiled by the C++ compiler at hand, once per source text, into the folder for temporary files.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def compiler() -> str | None:
    """Return the C++ compiler, or None where libraries cannot be built or preloaded."""
    if not sys.platform.startswith("linux"):
        return None
    return next(filter(None, map(shutil.which, (os.environ.get("CXX") or "c++", "c++", "g++", "clang++"))), None)


def build(source: str) -> Path:
    """Compile a source of this folder, unless that was done before, and return the library."""
    found = compiler()
    assert found is not None, "there is no C++ compiler"
    text = (HERE / source).read_bytes()
    name = f"anystream-{Path(source).stem}-{hashlib.sha256(text + found.encode()).hexdigest()[:16]}-{os.getuid()}.so"
    library = Path(tempfile.gettempdir(), name)
    if not library.exists():
        unfinished = library.with_suffix(f".{os.getpid()}")
        flags = ["-std=c++20", "-O1", "-g", "-shared", "-fPIC", "-Wall", "-Wextra"]
        subprocess.run([found, *flags, str(HERE / source), "-o", str(unfinished), "-ldl"], check=True)
        unfinished.rename(library)  # in one step: other processes may build it at the same time
    return library


def preloaded(source: str, **variables: str) -> dict[str, str]:
    """Return the environment of a process that runs with a library, and finds the modules of the tests.

    Parameters
    ----------
    source : str
        Source of the library, a file of this folder.
    **variables
        Further environment variables.
    """
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"LD_PRELOAD": str(build(source)), "PYTHONPATH": os.pathsep.join(paths)} | variables
