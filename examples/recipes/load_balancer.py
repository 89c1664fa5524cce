"""Two servers behind HAProxy or nginx: when one is killed, the other answers."""

import argparse
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from sklearn.datasets import load_iris

from anystream import BayesTreeClassifier

DEPLOY = Path(__file__).parents[2] / "deploy"
COMMANDS = {"haproxy": ["haproxy", "-f"], "nginx": ["nginx", "-p", ".", "-c"]}
CONFIGURATIONS = {"haproxy": DEPLOY / "haproxy.cfg", "nginx": DEPLOY / "nginx.conf"}


@contextmanager
def running(command: list[str], folder: Path, **options: object) -> Iterator[subprocess.Popen[str]]:
    """Run a program and end it."""
    with subprocess.Popen(command, cwd=folder, text=True, **options) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


def start_server(programs: ExitStack, folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a server of the models in a folder; return it and its host and port."""
    command = [sys.executable, "-m", "anystream", "serve", "model.safetensors", "--port", "0", "--no-access-log"]
    server = programs.enter_context(running(command, folder, stderr=subprocess.PIPE))
    assert server.stderr is not None
    for line in server.stderr:
        if found := re.search(r"on http://(\S+)", line):
            return server, found[1]
    raise RuntimeError("the server ended before it listened")


def free_address() -> str:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{unused.getsockname()[1]}"


def ask(address: str, n_requests: int) -> int:
    """Send requests one after the other, each on a connection of its own; return how many had an answer."""
    body = json.dumps({"0": 5.1, "1": 3.5, "2": 1.4, "3": 0.2}).encode()
    answered = 0
    for _ in range(n_requests):
        request = Request(f"http://{address}/v1/classify", body, {"Request-Timeout-Ms": "5000"})
        with urlopen(request, timeout=20) as response:
            answered += len(json.load(response)["answers"])
    return answered


def wait_until_ready(address: str, seconds: float = 60.0) -> None:
    ends = time.monotonic() + seconds
    while True:
        try:
            with urlopen(f"http://{address}/readyz", timeout=5):
                return
        except (URLError, OSError):
            if time.monotonic() > ends:
                raise
            time.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("balancer", choices=sorted(COMMANDS), nargs="?", default="haproxy")
    balancer = parser.parse_args().balancer
    if shutil.which(balancer) is None:
        sys.exit(f"{balancer} is not installed: apt install {balancer}")
    folder = Path(tempfile.mkdtemp())
    X, y = load_iris(return_X_y=True)
    BayesTreeClassifier().fit(X, y).save(folder / "model.safetensors")
    with ExitStack() as programs:
        first, first_address = start_server(programs, folder)
        _, second_address = start_server(programs, folder)
        address = free_address()
        text = CONFIGURATIONS[balancer].read_text()
        for given, used in (("8000", address), ("8001", first_address), ("8002", second_address)):
            text = text.replace(f"127.0.0.1:{given}", used)
        (folder / "balancer.cfg").write_text(text)
        programs.enter_context(running([*COMMANDS[balancer], str(folder / "balancer.cfg")], folder))
        wait_until_ready(address)
        print(f"both: {ask(address, 40)} of 40")
        first.send_signal(signal.SIGKILL)
        print(f"one killed: {ask(address, 40)} of 40")


if __name__ == "__main__":
    main()
