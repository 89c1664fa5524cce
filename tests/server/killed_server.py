"""Kill a learning server with SIGKILL while clients learn and classify; count what was acknowledged and is gone.

Usage: killed_server.py KILLS [SEED], or make kill-server. The last line of the output is a report in JSON; the exit
code is 1 if anything was lost.
"""

import asyncio
import http.client
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from anystream import BayesTreeClassifier
from anystream.server.model_store import LearningSettings, find_models
from anystream.server.run import serve
from anystream.server.settings import ServerSettings


def start(model, folder):
    """Fork a server; return its process and its port."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        settings = ServerSettings(
            models=find_models([model]), port=0, learning=LearningSettings(folder=folder, checkpoint_s=0.05)
        )

        def report(server):
            os.write(writing, server.address.rpartition(":")[2].encode() + b"\n")

        try:
            asyncio.run(serve(settings, started=report))
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        return process, int(pipe.readline())


def send(port, method, path, value=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        body = None if value is None else json.dumps(value)
        connection.request(method, path, body, {"Request-Timeout-Ms": "20000"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


class Clients:
    """Two clients that learn and one that classifies, each in a thread, until the server is gone.

    Labels rise, so that the classes of the model tell, beside the count, what it has learned.
    """

    def __init__(self):
        self.requests = self.records = 0
        self.labels = set()  # those acknowledged
        self._lock = threading.Lock()

    def run(self, port, seed):
        loops = [self._learn, self._learn, self._classify]
        threads = [
            threading.Thread(target=loop, args=(port, random.Random(f"{seed}/{i}"))) for i, loop in enumerate(loops)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _learn(self, port, rng):
        try:
            while True:
                with self._lock:
                    self.requests += 1
                    label = 1000 + self.requests // 50
                status, answer = send(port, "POST", "/v1/learn", [record(rng) | {"label": label} for _ in range(3)])
                if status == 200:
                    assert answer["accepted"] == 3, answer
                    with self._lock:
                        self.records += 3
                        self.labels.add(label)
        except (OSError, http.client.HTTPException):
            pass  # killed

    def _classify(self, port, rng):
        try:
            while True:
                with self._lock:
                    self.requests += 1
                send(port, "POST", "/v1/classify", record(rng))
        except (OSError, http.client.HTTPException):
            pass


def record(rng):
    return {str(i): rng.uniform(-9, 9) for i in range(4)}


def kill_after(process, seconds):
    """Fork a process that kills another one; return its number."""
    killer = os.fork()
    if killer == 0:
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
        os._exit(0)
    return killer


def read_state(port, name):
    """Return what a server has learned, when it has learned all that it found on disk."""
    while True:
        _, found = send(port, "GET", f"/v1/models/{name}")
        if found["learning"]["learned"] == found["learning"]["acknowledged"]:
            return found
        time.sleep(0.02)


def main(kills, seed=0):
    rng, clients, lost, on_disk = random.Random(seed), Clients(), 0, 0
    with tempfile.TemporaryDirectory() as home:
        model, folder = Path(home, "numbers.safetensors"), Path(home, "learned")
        labels = np.arange(600) % 3
        points = np.random.default_rng(seed).normal(size=(600, 4)) + 3.0 * labels[:, np.newaxis]
        BayesTreeClassifier().fit(points, labels).save(model)
        for kill in range(kills):
            process, port = start(str(model), folder)
            killer = kill_after(process, rng.uniform(0.05, 1.0))
            before = clients.records
            clients.run(port, f"{seed}/{kill}")
            os.waitpid(process, 0)
            os.waitpid(killer, 0)
            process, port = start(str(model), folder)
            found = read_state(port, model.stem)
            missing = clients.labels - set(found["classes"])
            # More may be on disk than was acknowledged: what was written before a response could be sent.
            lost += max(on_disk + clients.records - before - found["learning"]["learned"], 3 * len(missing), 0)
            on_disk = found["learning"]["learned"]
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    report = {"kills": kills, "acknowledged": clients.records, "lost": lost, "requests": clients.requests}
    print(json.dumps(report))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
