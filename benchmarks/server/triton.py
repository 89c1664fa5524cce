"""A real Triton on loopback, from the package nvidia-pytriton: its ``tritonserver`` needs neither GPU nor container.

``make triton`` unpacks the package into ``build/triton``, without what it depends on but an earlier numpy: only the
program is used.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_UNPACKED = Path(__file__).parents[2] / "build" / "triton"
_START_S = 120.0


class NoTriton(Exception):  # noqa: N818  tests and rows are left out
    """There is no Triton; the message says how to get it."""


class TritonModel(NamedTuple):
    """A model of the Python backend: the text of its configuration, that of its ``model.py``, and further files."""

    config: str
    program: str
    files: Mapping[str, bytes] = {}


class Triton(NamedTuple):
    """Where a running Triton listens, and its process."""

    port: int
    grpc_port: int
    process: int


def find_triton() -> Path:
    """Return the folder that the package is unpacked in; raise `NoTriton` if there is none."""
    program = _UNPACKED / "pytriton" / "tritonserver" / "bin" / "tritonserver"
    if not program.exists():
        raise NoTriton("there is no Triton; 'make triton' unpacks it into build/triton (Linux on x86-64)")
    return _UNPACKED


@contextlib.contextmanager
def running_triton(models: Mapping[str, TritonModel], folder: Path) -> Iterator[Triton]:
    """Run Triton with models in a folder of its own until the block ends."""
    unpacked = find_triton()
    repository, home = folder / "repository", folder / "tritonserver"
    shutil.copytree(
        unpacked / "pytriton" / "tritonserver",
        home,
        ignore=shutil.ignore_patterns("python_backend_stubs"),
        copy_function=os.symlink,
    )
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = unpacked / "pytriton" / "tritonserver" / "python_backend_stubs" / version / "triton_python_backend_stub"
    if not stub.exists():
        raise NoTriton(f"the Triton in {unpacked} has no Python backend for Python {version}")
    shutil.copy(stub, home / "backends" / "python" / stub.name)
    for name, model in models.items():
        target = repository / name / "1"
        target.mkdir(parents=True)
        (target.parent / "config.pbtxt").write_text(f'name: "{name}"\nbackend: "python"\n{model.config}')
        (target / "model.py").write_text(_FIND_PACKAGES + model.program)
        for file, content in model.files.items():
            (target / file).write_bytes(content)
    port, grpc_port = free_ports(2)
    command = [
        str(unpacked / "pytriton" / "tritonserver" / "bin" / "tritonserver"),
        *(f"--model-repository={repository}", f"--backend-directory={home / 'backends'}"),
        *("--http-address=127.0.0.1", f"--http-port={port}", "--grpc-address=127.0.0.1", f"--grpc-port={grpc_port}"),
        *("--allow-metrics=false", "--model-control-mode=none", "--exit-on-error=true"),
    ]
    libraries = [sysconfig.get_config_var("LIBDIR") or "", str(unpacked / "nvidia_pytriton.libs")]
    environment = os.environ | {
        "LD_LIBRARY_PATH": ":".join(libraries),
        "PYTHONHOME": sys.base_prefix,
        "OMP_NUM_THREADS": "1",
    }
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        _wait_until_ready(process, port, log)
        yield Triton(port, grpc_port, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# The Python backend reads arrays of numpy before 2.0, which is beside the program.
_FIND_PACKAGES = f"""import site, sys
site.addsitedir({sysconfig.get_path("purelib")!r})
sys.path.insert(0, {str(_UNPACKED)!r})
"""


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            if urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/ready", timeout=5).status == 200:
                return
        time.sleep(0.1)
    raise RuntimeError(f"Triton did not start:\n{log.read_text(errors='replace')[-3000:]}")


def free_ports(n: int) -> list[int]:
    """Return ports of loopback that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(contextlib.closing(socket.socket())) for _ in range(n)]
        for found in sockets:
            found.bind(("127.0.0.1", 0))
        return [found.getsockname()[1] for found in sockets]
