"""A LightGBM model made anytime and served: every request names its deadline, and short ones get an answer, too.

Needs LightGBM and ``anystream[server]``. ``--requests 2000 --rounds 300`` runs it large.
"""

import argparse
import http.client
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits


def write_model(folder: Path, X: np.ndarray, y: np.ndarray, rounds: int) -> Path:
    """Train LightGBM and import its file as an anytime model."""
    import lightgbm

    booster = lightgbm.LGBMClassifier(n_estimators=rounds, verbose=-1, n_jobs=1).fit(X, y).booster_
    booster.save_model(folder / "lightgbm.txt")
    columns = ",".join(f"pixel_{i}" for i in range(X.shape[1]))
    program = [sys.executable, "-m", "anystream", "import", str(folder / "lightgbm.txt"), "--features", columns]
    subprocess.run([*program, "-o", str(folder / "digits.safetensors")], check=True, capture_output=True)
    return folder / "digits.safetensors"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        model = write_model(Path(folder), X[:1200], y[:1200], options.rounds)
        server = subprocess.Popen(
            [sys.executable, "-m", "anystream", "serve", str(model), "--port", "0", "--no-access-log"],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            address = next(found[1] for line in server.stderr if (found := re.search(r" on http://(\S+?)/?\s", line)))
            for deadline_ms in (2000, 5):
                send_requests(address, X[1200:], y[1200:], options.requests, deadline_ms)
        finally:
            server.terminate()
            server.wait(30)
            server.stderr.close()


def send_requests(address: str, X: np.ndarray, y: np.ndarray, n_requests: int, deadline_ms: int) -> None:
    """Send single records and print what came back."""
    connection = http.client.HTTPConnection(address, timeout=60)
    answers, refused = [], 0
    for i in range(n_requests):
        record = {f"pixel_{j}": value for j, value in enumerate(X[i % len(X)].tolist())}
        connection.request("POST", "/v1/classify", json.dumps(record), {"Request-Timeout-Ms": str(deadline_ms)})
        response = connection.getresponse()
        body = json.loads(response.read())
        if response.status == 200:
            answers.append((body["answers"][0], str(y[i % len(X)])))
        else:
            refused += 1
    connection.close()
    right = sum(str(answer["label"]) == label for answer, label in answers)
    steps = np.mean([answer["steps"] for answer, _ in answers]) if answers else 0
    in_time = sum(answer["on_time"] for answer, _ in answers)
    print(
        f"deadline {deadline_ms:4} ms: {len(answers)} answers ({refused} refused), {in_time} in time, "
        f"{right} right, {steps:.0f} nodes read per record"
    )


if __name__ == "__main__":
    main()
