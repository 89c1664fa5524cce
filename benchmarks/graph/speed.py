"""Speed of graphs: building, classifying by budget, learning; with scikit-learn's neighbours in the same run.

``python -m benchmarks.graph.speed [--records 20000] [--features 16]``
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from anystream.anytime.budget import Budget
from anystream.graph import KAOGClassifier, KAOGINCClassifier
from benchmarks.graph.protocol import LENGTH, sine
from benchmarks.table import machine
from benchmarks.timing import min_seconds

measure = partial(min_seconds, repeats=3, clock=time.perf_counter)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=16)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    centres = 1.1 * random.normal(size=(40, options.features))

    def draw(n: int) -> tuple[Any, Any]:
        number = random.integers(0, 40, n)
        return centres[number] + random.normal(size=(n, options.features)), number % 8

    X, y = draw(options.records)
    queries, labels = draw(2000)
    print(f"{options.records} x {options.features} in 40 clusters of 8 classes, seed 0; minimum of 3; {machine()}")

    model, peer = KAOGClassifier(), KNeighborsClassifier(5)
    print(f"KAOG, building                    {measure(lambda: model.fit(X, y)):9.2f} s")
    neighbours = measure(lambda: peer.fit(X, y).kneighbors(X, 20))
    print(f"scikit-learn, 20 neighbours each  {neighbours:9.2f} s")
    for budget in (0, 16, 64, 256, 1024, None):
        answer = model.classify(queries, budget=Budget(steps=budget))
        seconds = measure(lambda: model.classify(queries, budget=Budget(steps=budget)))  # called immediately
        accuracy = 100.0 * float((answer.labels == labels).mean())
        print(
            f"KAOG, budget {budget!s:>5}  {1e6 * seconds / len(queries):8.1f} us/record"
            f"  accuracy {accuracy:5.1f} %  steps {answer.steps.mean():7.1f}  certified {answer.certified.mean():4.0%}"
        )
    seconds = measure(lambda: peer.predict(queries))
    print(
        f"5-NN, scikit-learn  {1e6 * seconds / len(queries):8.1f} us/record"
        f"  accuracy {100.0 * peer.score(queries, labels):5.1f} %"
    )

    batches = list(sine(0).batches(80))
    stream = measure(lambda: [m.partial_fit(*b) for m in [KAOGINCClassifier()] for b in batches], repeats=1)
    print(f"KAOGINC on Sine, batches of 80    {1e6 * stream / LENGTH:8.1f} us/record learned")
    incremental = KAOGINCClassifier()
    records = [(dict(enumerate(x.tolist())), int(c)) for X, y in batches[:30] for x, c in zip(X, y, strict=True)]
    single = measure(lambda: [incremental.learn_one(*record) for record in records], repeats=1)
    print(f"KAOGINC, learn_one                {1e6 * single / len(records):8.1f} us/record learned")
    predict_one = measure(lambda: [incremental.predict_one(x) for x, _ in records[:1000]])
    print(f"KAOGINC, predict_one              {1e6 * predict_one / 1000:8.1f} us/record")


if __name__ == "__main__":
    main()
