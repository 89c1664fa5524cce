"""Damaged requests of every content type: how one is made and sent, over kept connections and raw sockets."""

import contextlib
import http.client
import json
import os
import random
import socket
import struct

import pyarrow as pa

NUMBER = '{"name":"x","shape":[1,4],"datatype":"FP64","data":[1,2,3,4]}'
VALUES = [
    "null",
    "true",
    "-1",
    "1e999",
    "NaN",
    '""',
    '"\\ud800"',
    "[]",
    "{}",
    "[[[[[[1]]]]]]",
    "9" * 400,
    "1e-400",
    '"' + "x" * 3000 + '"',
    "[" * 2000,
    '{"a":' * 2000,
    "18446744073709551616",
    "-0.0",
    '"\\u0000"',
    '"FP64"',
    '"BYTES"',
    "[1,4]",
    "[-1,4]",
    "[1000000000,4]",
]
TARGETS = ("/v1/classify?model=numbers", "/v1/classify?model=mixed", "/v1/learn?model=numbers", "/v1/learn?model=mixed")
KINDS = (
    "application/json",
    "application/x-ndjson",
    "application/vnd.apache.arrow.stream",
    "application/octet-stream",
    "text/html",
    "",
)


def arrow_stream(rng):
    table = pa.table(
        {
            "size": [rng.random() for _ in range(3)],
            "colour": ["red", "blue", None],
            "kind": ["yes"] * 3,
            "0": [1.0, 2.0, 3.0],
        }
    )
    stream = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=rng.choice([None, "lz4", "zstd"]))
    with pa.ipc.new_stream(stream, table.schema, options=options) as writer:
        writer.write_table(table)
    return stream.getvalue().to_pybytes()


def valid_body(rng, kind):
    record = {"size": rng.uniform(-9, 9), "colour": rng.choice(["red", "blue"]), "kind": "yes", "id": rng.random()}
    record |= {str(i): rng.uniform(-9, 9) for i in range(4)} | {"label": rng.randrange(3)}
    if kind == "application/x-ndjson":
        return b"\n".join(json.dumps(record).encode() for _ in range(3))
    if kind == "application/vnd.apache.arrow.stream":
        return arrow_stream(rng)
    if kind == "application/octet-stream":
        return struct.pack("<12f", *(rng.uniform(-9, 9) for _ in range(12)))
    return json.dumps([record, record] if rng.random() < 0.5 else record).encode()


def infer_body(rng):
    """Return the body and headers of an inference request, some with binary tensors."""
    if rng.random() < 0.5:
        return f'{{"id":"1","inputs":[{NUMBER}],"outputs":[{{"name":"label"}}]}}'.encode(), {}
    raw = struct.pack("<4d", 1, 2, 3, rng.random())
    head = (
        b'{"inputs":[{"name":"x","shape":[1,4],"datatype":"FP64","parameters":{"binary_data_size":32}}],'
        b'"parameters":{"binary_data_output":true,"timeout":1000000}}'
    )
    length = len(head) if rng.random() < 0.8 else rng.choice(["-1", "x", "1", str(len(head) + 99), "9" * 50])
    return head + raw, {"Inference-Header-Content-Length": str(length)}


def damage(rng, body):
    """Return a body with some bytes or JSON values changed."""
    how = rng.randrange(7)
    at = rng.randrange(len(body) + 1)
    if how == 0:
        return body
    if how == 1:
        return body[:at]
    if how == 2 and body:
        damaged = bytearray(body)
        for _ in range(rng.randrange(1, 8)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        return bytes(damaged)
    if how == 3:
        return body[:at] + os.urandom(rng.randrange(40)) + body[at:]
    if how == 4:
        return body[:at] + body[at + rng.randrange(1, 30) :]
    if how == 5:
        return body * rng.randrange(2, 50)
    pieces = body.split(b":")
    if len(pieces) < 2:
        return body[::-1]
    place = rng.randrange(1, len(pieces))
    ends = [pieces[place].find(sign) for sign in (b",", b"}", b"]")]
    end = min([found for found in ends if found >= 0], default=len(pieces[place]))
    pieces[place] = rng.choice(VALUES).encode() + pieces[place][end:]
    return b":".join(pieces)


def make_case(rng):
    """Return the path, body and headers of a request."""
    if rng.random() < 0.4:
        body, headers = infer_body(rng)
        path = rng.choice(["/v2/models/numbers/infer", "/v2/models/mixed/infer", "/v2/models/numbers/versions/1/infer"])
    else:
        kind = rng.choice(KINDS)
        body, headers, path = valid_body(rng, kind), {"Content-Type": kind} if kind else {}, rng.choice(TARGETS)
    if rng.random() < 0.1:
        name = rng.choice(["Request-Timeout-Ms", "X-Request-Timeout-Seconds", "Accept", "Content-Encoding"])
        headers[name] = rng.choice(
            ["0", "-1", "nan", "1e999", "x" * 500, "gzip", "application/vnd.apache.arrow.stream"]
        )
    if rng.random() < 0.03:
        path = rng.choice(
            ["/v1/models/%00/load", "/v1/models/numbers/load", "/v2/repository/models/x/unload", "/v1/%ff"]
        )
    return path, damage(rng, body), headers


def send_raw(rng, port, path, body, headers):
    """Send a request in pieces over a socket of its own, perhaps not to its end; return the status, if there is one."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    if rng.random() < 0.5:
        length = len(body) if rng.random() < 0.7 else rng.randrange(3000)
        message = f"POST {path} HTTP/1.1\r\nHost: x\r\n{lines}Content-Length: {length}\r\n\r\n".encode() + body
    else:
        chunks = [body[i : i + 97] for i in range(0, len(body), 97)]
        coded = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
        message = f"POST {path} HTTP/1.1\r\nHost: x\r\n{lines}Transfer-Encoding: chunked\r\n\r\n".encode() + coded
    if rng.random() < 0.3:
        message = damage(rng, message)
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as connection:
        try:
            connection.sendall(message[: len(message) // 2])
            connection.sendall(message[len(message) // 2 :])
            if rng.random() < 0.3:
                return None  # gone without reading
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
        except OSError:
            return None
    assert b"Traceback" not in answer
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else None


def is_allowed(status):
    """Whether a server may answer with a status; None is a connection that it closed."""
    return status is None or status < 500 or status == 503


def run_cases(port, n_cases, seed):
    """Send cases; return how many got each status."""
    rng, statuses = random.Random(seed), {}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for case in range(n_cases):
        path, body, headers = make_case(rng)
        if rng.random() < 0.1:
            status = send_raw(rng, port, path, body, headers)
        else:
            try:
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                status, content = response.status, response.read()
                assert b"Traceback" not in content, (case, content)
            except (ConnectionError, http.client.HTTPException, ValueError):
                connection.close()  # the server closes after a body that it did not read; ValueError: not sendable
                status = None
        statuses[status] = statuses.get(status, 0) + 1
        assert is_allowed(status), (case, seed, status, path, headers, body[:500])
    connection.close()
    return statuses
