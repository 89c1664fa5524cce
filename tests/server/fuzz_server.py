"""Fuzz a server in a process of its own: ``make fuzz-server``, or ``python -m server.fuzz_server CASES [SEED]``.

Six tenths of the cases are damaged requests (`server.fuzz`), two are bodies that hypothesis draws for every content
type, and two are requests that schemathesis draws from the OpenAPI document (without the package, the first make up for
it). No status of 500 or more but 503, no traceback; afterwards the server classifies, and has the memory and the open
files that it had after the first round. The last line of the output is a report in JSON; the exit code is 1 after any
failure.
"""

import asyncio
import contextlib
import http.client
import importlib.util
import json
import os
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from anystream import BayesTreeClassifier
from anystream.connectors.schema import Column, Schema
from anystream.server.model_store import LearningSettings, find_models
from anystream.server.run import serve
from anystream.server.settings import ServerSettings
from server.fuzz import KINDS, TARGETS, is_allowed, run_cases

MAX_GROWTH_KB = 50_000  # of resident memory, between the first round and the end
MAX_MORE_FILES = 5  # journals that the first round did not need
_ROUNDS = 20
_JOBS = 4  # processes that send
_ENDLESS = ("/v1/events",)
_NAMES = [
    "size",
    "colour",
    "kind",
    "id",
    "key",
    "label",
    "labels",
    "0",
    "1",
    "2",
    "3",
    "inputs",
    "outputs",
    "parameters",
]
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(_NAMES) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=20,
)
_TENSOR = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["features", "size", "colour"]) | _VALUES,
        "shape": st.lists(st.integers(-2, 5), max_size=3) | _VALUES,
        "datatype": st.sampled_from(["FP64", "FP32", "FP16", "BF16", "INT64", "UINT8", "BOOL", "BYTES"]) | _VALUES,
        "data": st.lists(st.floats() | st.text(max_size=3), max_size=8) | _VALUES,
        "parameters": st.fixed_dictionaries({}, optional={"binary_data_size": st.integers(-1, 100) | _VALUES})
        | _VALUES,
    },
)
_INFER = st.fixed_dictionaries(
    {},
    optional={
        "id": st.text(max_size=5) | _VALUES,
        "inputs": st.lists(_TENSOR, max_size=3) | _VALUES,
        "outputs": st.lists(st.fixed_dictionaries({"name": st.sampled_from(["label", "steps", "x"])}), max_size=3)
        | _VALUES,
        "parameters": st.fixed_dictionaries({}, optional={"timeout": st.integers() | _VALUES}) | _VALUES,
    },
)


def main(n_cases, chosen_seed=0):
    with tempfile.TemporaryDirectory() as home:
        save_models(Path(home, "models"))
        process, port = start(Path(home, "models"), Path(home, "learned"))
        failures, statuses, started = [], Counter(), time.monotonic()
        parts = {"damaged": n_cases * 3 // 5, "drawn": n_cases // 5, "openapi": n_cases // 5}
        if importlib.util.find_spec("schemathesis") is None:
            print("schemathesis is not installed: no cases from the OpenAPI document", file=sys.stderr)
            parts["damaged"] += parts.pop("openapi")
        uses = []
        try:
            for number in range(_ROUNDS):
                part = {name: -(-n // _ROUNDS) for name, n in parts.items()}
                for found in run_parts(port, part, _ROUNDS * chosen_seed + number).values():
                    statuses.update(found)
                uses.append(use_of(process))  # after the first round, buffers and caches have their size
                print(f"{sum(statuses.values())} cases: {dict(statuses)}; {uses[-1]}", file=sys.stderr)
            before, after = uses[0], uses[-1]
            failures += check_alive(port)
        except AssertionError as error:
            print(f"failed: {error}", file=sys.stderr)
            return 1
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
            _, code = os.waitpid(process, 0)
    if after[0] - before[0] > MAX_GROWTH_KB:
        failures.append(f"resident memory grew from {before[0]} to {after[0]} kB")
    if after[1] > before[1] + MAX_MORE_FILES:
        failures.append(f"open files grew from {before[1]} to {after[1]}")
    report = {
        "cases": sum(statuses.values()),
        "statuses": {str(status): n for status, n in sorted(statuses.items(), key=str)},
        "resident_kb": [before[0], after[0]],
        "open_files": [before[1], after[1]],
        "exit_code": code,
        "seconds": round(time.monotonic() - started),
        "failures": failures,
    }
    print(json.dumps(report))
    return 1 if failures or code else 0


def run_parts(port, parts, chosen_seed):
    """Run parts in several processes; return how many cases of each got each status."""
    run = {"damaged": run_cases, "drawn": run_drawn, "openapi": run_openapi}
    found = {name: Counter() for name in parts}
    with ProcessPoolExecutor(_JOBS, mp_context=get_context("spawn")) as pool:
        jobs = [
            (name, pool.submit(run[name], port, -(-n // _JOBS), 100 * chosen_seed + job))
            for job in range(_JOBS)
            for name, n in parts.items()
        ]
        for name, job in jobs:
            found[name].update(job.result())
    return found


def save_models(folder):
    """Save `numbers`, a model of four numbers, and `mixed`, one of a number and a category."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    BayesTreeClassifier().fit(rng.normal(size=(300, 4)) + 3.0 * labels[:, np.newaxis], labels).save(
        folder / "numbers.safetensors"
    )
    schema = Schema((Column("size"), Column("colour", ("blue", "red"))), label="kind", key="id", label_type="text")
    size, red = rng.normal(size=300), rng.integers(2, size=300)
    features, kinds = np.column_stack([size, 1 - red, red]), np.where(size + red > 0.5, "yes", "no")
    BayesTreeClassifier().fit(features, kinds).save(folder / "mixed.safetensors", notes={"schema": schema.to_json()})


def start(models, learned):
    """Fork a server; return its process and its port."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        settings = ServerSettings(
            models=find_models([str(models)]),
            folders=(models,),
            port=0,
            learning=LearningSettings(folder=learned, max_model_bytes=20_000_000),
        )
        code = 1
        try:
            asyncio.run(
                serve(settings, started=lambda it: os.write(writing, it.address.rpartition(":")[2].encode() + b"\n"))
            )
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with open(reading) as pipe:
        return process, int(pipe.readline())


def run_drawn(port, n_cases, chosen_seed):
    """Send bodies that hypothesis draws, for every content type; return how many got each status."""
    statuses, connection = Counter(), http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def send(path, kind, body, more=None):
        try:
            connection.request("POST", path, body, ({"Content-Type": kind} if kind else {}) | (more or {}))
            response = connection.getresponse()
            status, content = response.status, response.read()
        except (ConnectionError, http.client.HTTPException):
            connection.close()
            status, content = None, b""
        statuses[status] += 1
        assert is_allowed(status), (status, path, kind, body[:500])
        assert b"Traceback" not in content, content

    def draw(n, **strategies):
        def decorate(test):
            kept = settings(
                max_examples=n,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            seed(chosen_seed)(kept(given(**strategies)(test)))()

        return decorate

    while sum(statuses.values()) < n_cases:
        n = min((n_cases - sum(statuses.values())) // 3 + 1, 2000)
        chosen_seed += 1000

        @draw(n, path=st.sampled_from(TARGETS), kind=st.sampled_from(KINDS), value=_VALUES, lines=st.integers(1, 3))
        def records(path, kind, value, lines):
            send(path, kind, b"\n".join([json.dumps(value).encode()] * lines))

        @draw(n, path=st.sampled_from(TARGETS), kind=st.sampled_from(KINDS), body=st.binary(max_size=200) | floats())
        def raw(path, kind, body):
            send(path, kind, body)

        @draw(
            n,
            model=st.sampled_from(["numbers", "mixed"]),
            value=_INFER,
            raw=st.binary(max_size=64),
            split=st.booleans(),
        )
        def inference(model, value, raw, split):
            head = json.dumps(value).encode()
            more = {"Inference-Header-Content-Length": str(len(head))} if split else {}
            send(f"/v2/models/{model}/infer", "application/octet-stream", head + (raw if split else b""), more)

    connection.close()
    return statuses


def floats():
    """Bodies of float32 values, whole records of both models among them."""
    return st.lists(st.floats(width=32), max_size=24).map(lambda values: struct.pack(f"<{len(values)}f", *values))


def run_openapi(port, n_cases, chosen_seed):
    """Send requests that schemathesis draws from the OpenAPI document; return how many got each status."""
    import schemathesis

    statuses = Counter()
    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{port}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    operations = [operation for operation in operations if operation.path not in _ENDLESS]
    while (n_left := n_cases - sum(statuses.values())) > 0:
        chosen_seed += 1000
        for operation in operations:  # an operation without parameters has a single case

            def send(case):
                try:
                    status = case.call(timeout=60).status_code
                except ConnectionError:
                    status = None
                statuses[status] += 1
                assert is_allowed(status), (status, case.as_curl_command())

            kept = settings(
                max_examples=n_left // len(operations) + 1,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            seed(chosen_seed)(kept(given(case=operation.as_strategy())(send)))()
    return statuses


def use_of(process):
    """Return resident kilobytes and open files of a process, when its connections are closed."""
    for _ in range(50):
        sockets = [os.readlink(f"/proc/{process}/fd/{number}") for number in os.listdir(f"/proc/{process}/fd")]
        time.sleep(0.1)
        if sum(name.startswith("socket:") for name in sockets) <= 3:  # listening, and the pair of the event loop
            break
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines() if ":" in line
    )
    return int(fields["VmRSS"].split()[0]), len(os.listdir(f"/proc/{process}/fd"))


def check_alive(port):
    """Return what a server does not do any more."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/healthz")
    failures = [] if (found := connection.getresponse()).status == 200 else ["/healthz is not 200"]
    found.read()
    connection.request("POST", "/v1/models/numbers/load", b"{}", {"Content-Type": "application/json"})
    failures += [] if (found := connection.getresponse()).status == 200 else [f"load: {found.status}"]
    found.read()
    body = json.dumps({"0": 1.0, "1": 2.0, "2": 0.5, "3": 1.0})
    connection.request("POST", "/v1/classify?model=numbers", body, {"Request-Timeout-Ms": "20000"})
    failures += [] if (found := connection.getresponse()).status == 200 else [f"classify: {found.status}"]
    found.read()
    connection.close()
    return failures


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
