"""A whole server: concurrent clients, disconnects and the end."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from anystream.server.limits import Limits
from cli.program import run_program
from server.serving import PATIENT_MS, serving, wait_until

RECORD = {"0": 1.0, "1": 2.0, "2": 0.5, "3": 1.0}


@pytest.fixture
def gated(model_files, gates):
    """A server of one model with a gate, and the model."""
    with serving(model_files / "numbers.safetensors") as served:
        try:
            yield served, gates[0]
        finally:
            gates[0].gate.set()


def send(served, record):
    """Send a request and return its socket, without reading the response."""
    body = json.dumps(record).encode()
    headers = f"Host: x\r\nRequest-Timeout-Ms: {PATIENT_MS}\r\nContent-Length: {len(body)}\r\n"
    head = f"POST /v1/classify HTTP/1.1\r\n{headers}\r\n"
    connection = socket.create_connection(("127.0.0.1", served.port))
    connection.sendall(head.encode() + body)
    return connection


def test_every_one_of_many_concurrent_requests_gets_its_own_answer(served, blobs):
    X = blobs[0][:200]

    def ask(row):
        record = dict(zip(RECORD, X[row].tolist(), strict=True)) | {"key": f"k{row}"}
        return served.post("/v1/classify?model=numbers", record).json()["answers"][0]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(200)))
    whole = served.post("/v1/classify?model=numbers", [dict(zip(RECORD, x, strict=True)) for x in X.tolist()]).json()
    assert [answer["key"] for answer in answers] == [f"k{row}" for row in range(200)]
    assert [answer["label"] for answer in answers] == [answer["label"] for answer in whole["answers"]]


def test_a_client_that_disconnects_takes_its_records_out_of_the_queue(gated):
    served, model = gated
    model.close_gate()
    first = send(served, RECORD)
    model.entered.wait(60)
    gone, kept = send(served, RECORD | {"0": 77.0}), send(served, RECORD | {"0": 2.0})
    engine = served.service.store.find(None).engine
    wait_until(lambda: engine.waiting == 3)
    gone.close()
    wait_until(lambda: engine.waiting == 2)
    model.gate.set()
    for connection in (first, kept):
        with contextlib.closing(connection):
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
    assert [batch[:, 0].tolist() for batch in model.batches] == [[1.0], [2.0]]
    assert served.get("/readyz").status == 200


def test_a_server_that_ends_answers_the_requests_that_it_has(gated):
    served, model = gated
    model.close_gate()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(served.post, "/v1/classify", RECORD)
        model.entered.wait(60)
        served.server.stop()
        time.sleep(0.3)  # the server begins to end
        assert not waiting.done()
        model.gate.set()
        response = waiting.result(60)
    assert response.status == 200
    assert response.json()["answers"][0]["label"] in (0, 1, 2)


def test_a_full_queue_is_refused_at_once_with_the_time_to_try_again(model_files, gates):
    with serving(model_files / "numbers.safetensors", limits=Limits(max_waiting=2, max_records=2)) as served:
        gates[0].close_gate()
        held = send(served, RECORD)
        gates[0].entered.wait(60)
        refused = served.post("/v1/classify", [RECORD, RECORD])
        assert refused.status == 503
        assert int(refused.headers["retry-after"]) >= 1
        assert "maximum is 2" in refused.json()["error"]
        gates[0].gate.set()
        with contextlib.closing(held):
            assert held.recv(100).startswith(b"HTTP/1.1 200")
        assert served.post("/v1/classify", [RECORD, RECORD]).status == 200


def test_the_command_serves_until_a_signal_and_exits_with_0(model_files):
    command = [sys.executable, "-m", "anystream", "serve", str(model_files / "mixed.safetensors"), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        assert "model mixed version 1" in process.stderr.readline()
        line = process.stderr.readline()
        assert "serving mixed on http://127.0.0.1:" in line
        connection = http.client.HTTPConnection("127.0.0.1", int(line.rpartition(":")[2]), timeout=60)
        connection.request("POST", "/v1/classify", json.dumps({"size": 3, "colour": "red"}))
        assert json.loads(connection.getresponse().read())["answers"][0]["label"] == "yes"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nothing.safetensors"], "nothing.safetensors"),
        (["MODEL", "--within", "5 parsecs"], "5 parsecs"),
        (["MODEL", "--port", "99999"], "99999"),
        (["MODEL", "--max-waiting", "0"], "max_waiting"),
        (["MODEL", "--budget", "-1"], "--budget"),
    ],
)
def test_wrong_options_of_the_command_are_one_line(model_files, arguments, word):
    arguments = [str(model_files / "mixed.safetensors") if a == "MODEL" else a for a in arguments]
    done = run_program("serve", *arguments, cwd=model_files)
    assert done.returncode in (1, 2)
    assert word in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_threads_of_the_server_end_with_it(model_files):
    before = {thread.name for thread in threading.enumerate()}
    with serving(model_files / "numbers.safetensors") as served:
        assert served.post("/v1/classify", RECORD).status == 200
    after = {thread.name for thread in threading.enumerate()} - before
    assert not {name for name in after if name.startswith("anystream")}


def test_small_writes_are_sent_at_once(served):
    with contextlib.closing(socket.create_connection(("127.0.0.1", served.port), timeout=60)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        found = [each.transport for each in served.server._uvicorn.server_state.connections]
        options = [each.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in found]
    assert options
    assert all(options)
