"""The servers that are compared, each in a process of its own on loopback, with the same forest."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from anystream import AnytimeForestClassifier
from benchmarks.server.forest_file import save_forest
from benchmarks.server.triton import TritonModel, free_ports, running_triton

MODEL = "forest"
ANYSTREAM, PLAIN, TRITON = "anystream", "plain endpoint", "Triton"
_ROOT = Path(__file__).parents[2]


class Forest(NamedTuple):
    """A forest for all servers: our model file, the file of the peers, and the number of features."""

    ours: Path
    theirs: Path
    n_features: int


def prepare_forest(model: Any, X: Any, y: Any, folder: Path) -> Forest:
    """Save a fitted forest for all servers; ours gets its order from records that it was not fitted on."""
    ours = AnytimeForestClassifier.from_model(model, order="gain").order_on(X, y)
    ours.save(folder / f"{MODEL}.safetensors")
    return Forest(folder / f"{MODEL}.safetensors", save_forest(model, X.shape[1], folder), X.shape[1])


@contextlib.contextmanager
def running_anystream(forest: Forest, within_s: float) -> Iterator[int]:
    """Serve the imported forest; yield the port."""
    (port,) = free_ports(1)
    command = [sys.executable, "-c", "from anystream.cli import main; main()", "serve", str(forest.ours)]
    command += ["--port", str(port), "--within", f"{1e3 * within_s:g}ms", "--no-access-log", "--max-waiting", "100000"]
    with _running(command, port):
        yield port


@contextlib.contextmanager
def running_plain(forest: Forest) -> Iterator[int]:
    """Serve the forest of the peers by a plain endpoint; yield the port."""
    (port,) = free_ports(1)
    with _running([sys.executable, "-m", "benchmarks.server.plain", str(forest.theirs), str(port)], port):
        yield port


def queue_policies(within_s: float) -> dict[str, str]:
    """Return the queue policies of Triton that are tried: the configuration of each by name."""
    batching = "max_queue_delay_microseconds: 0"

    def reject(timeout_s: float, *, by_request: bool) -> str:
        return (
            f"{batching} default_queue_policy {{ timeout_action: REJECT "
            f"default_timeout_microseconds: {int(1e6 * timeout_s)} "
            f"allow_timeout_override: {str(by_request).lower()} max_queue_size: 256 }}"
        )

    return {
        "no timeout": batching,
        "reject after the timeout of the request": reject(within_s, by_request=True),
        "reject after half of the time": reject(within_s / 2, by_request=False),
    }


@contextlib.contextmanager
def running_forest_in_triton(forest: Forest, policy: str) -> Iterator[int]:
    """Serve the forest of the peers by Triton's Python backend, with dynamic batches; yield the port."""
    config = f"""
max_batch_size: 1024
input [{{ name: "features", data_type: TYPE_FP64, dims: [{forest.n_features}] }}]
output [{{ name: "label", data_type: TYPE_INT64, dims: [1], reshape: {{ shape: [] }} }}]
instance_group [{{ kind: KIND_CPU, count: {os.cpu_count()} }}]
dynamic_batching {{ {policy} }}
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(forest.theirs, folder))
        with running_triton(
            {MODEL: TritonModel(config, _PROGRAM.format(root=str(_ROOT), path=str(path)))}, Path(folder)
        ) as it:
            yield it.port


_PROGRAM = """
sys.path.append({root!r})

import numpy as np
import triton_python_backend_utils as triton

from benchmarks.server.forest_file import load_forest


class TritonPythonModel:
    def initialize(self, args):
        self.predict = load_forest({path!r})

    def execute(self, requests):
        batches = [triton.get_input_tensor_by_name(request, "features").as_numpy() for request in requests]
        labels = self.predict(np.concatenate(batches)).astype(np.int64)
        ends = np.cumsum([len(batch) for batch in batches])[:-1]
        return [
            triton.InferenceResponse([triton.Tensor("label", np.ascontiguousarray(part))])
            for part in np.split(labels, ends)
        ]
"""


@contextlib.contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    with tempfile.TemporaryFile() as log:
        environment = os.environ | {"PYTHONPATH": str(_ROOT), "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
        try:
            until = time.monotonic() + 120
            while True:
                with contextlib.suppress(OSError):
                    if urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/ready", timeout=5).status == 200:
                        break
                if process.poll() is not None or time.monotonic() > until:
                    log.seek(0)
                    raise RuntimeError(
                        f"{' '.join(command)} did not start:\n{log.read()[-3000:].decode(errors='replace')}"
                    )
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
