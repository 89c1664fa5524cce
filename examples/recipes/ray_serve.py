"""Ray Serve with deadlines: requests that wait together are one batch, and the most urgent one limits its budget."""

import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # nothing listens beyond 127.0.0.1

import numpy as np
import ray
from ray import serve
from sklearn.datasets import load_digits

from anystream import BayesTreeClassifier, Budget, load

MARGIN_S = 0.002  # for the way back of the answers


@serve.deployment(num_replicas=1, max_ongoing_requests=1000, ray_actor_options={"num_cpus": 1})
class Classifier:
    """A replica with the model of a file.

    A deadline is an instant of `time.time()`, so it holds across processes, and across machines whose clocks agree. The
    time that a request waits in Ray counts.
    """

    def __init__(self, path: str) -> None:
        self.model = load(path, mmap=True)
        self.model.predict(np.zeros((1, self.model.n_features_in_)))  # the first call costs more than all later ones

    @serve.batch(max_batch_size=256, batch_wait_timeout_s=0.002)
    async def __call__(self, records: list[np.ndarray], deadlines: list[float]) -> list[dict[str, float]]:
        """Classify the requests that wait, until shortly before the first deadline that can be kept."""
        now = time.time()
        left_s = min((due - now - MARGIN_S for due in deadlines if due > now + MARGIN_S), default=None)
        answer = self.model.classify(np.stack(records), budget=0 if left_s is None else Budget(seconds=left_s))
        now = time.time()
        columns = zip(answer.labels.tolist(), answer.steps.tolist(), answer.reached.tolist(), deadlines, strict=True)
        return [
            {"label": label, "steps": steps, "reached": reached, "on_time": now <= deadline}
            for label, steps, reached, deadline in columns
        ]


def main(within_s: float = 1.0) -> None:
    X, y = load_digits(return_X_y=True)
    path = str(Path(tempfile.mkdtemp()) / "model.safetensors")
    BayesTreeClassifier().fit(X[::2], y[::2]).save(path)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
    serve.start(proxy_location="Disabled")
    try:
        classifier = serve.run(Classifier.bind(path))
        classifier.remote(X[0], time.time() + 60.0).result()
        pending = [classifier.remote(x, time.time() + within_s) for x in X[1:201:2]]
        answers = [request.result() for request in pending]
        on_time = np.mean([answer["on_time"] for answer in answers])
        right = np.mean([answer["label"] == label for answer, label in zip(answers, y[1:201:2], strict=True)])
        overdue = classifier.remote(X[0], time.time() - 1.0).result()
    finally:
        serve.shutdown()
        ray.shutdown()
    print(f"{len(answers)} requests, {on_time:.2f} on time, {right:.2f} right")
    print(f"overdue: {overdue['steps']} steps, on time: {overdue['on_time']}")


if __name__ == "__main__":
    main()
