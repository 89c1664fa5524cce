"""Figure 3 of the LOCUST paper: accuracy against the number of samples, for each bias, beside our default."""

from __future__ import annotations

import argparse

import numpy as np

from anystream.subspace import LocustClassifier
from benchmarks.locust.protocol import Classifier, run
from benchmarks.locust.streams import load_stream
from benchmarks.table import machine, print_table

SAMPLES = [1, 3, 10, 30, 100, 1000]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="ask ten times as many records")
    thin = 1 if parser.parse_args().full else 10
    for name in ("covtype", "kdd"):
        if (stream := load_stream(name)) is None:
            continue
        classes = np.unique(stream.y)
        models = {
            f"as published, {bias}": LocustClassifier.paper(bias=bias, max_samples=10**6)
            for bias in ("unbiased", "sqrt", "proportional", "adaptive", "planned")
        }
        models["as published, gini^4"] = LocustClassifier.paper(bias=4.0, max_samples=10**6)
        models["gamma votes, t = 10, proportional"] = LocustClassifier.paper(
            bias="proportional", votes="gamma", significance=10.0, max_samples=10**6
        )
        models["LocustClassifier()"] = LocustClassifier(max_samples=10**6)
        contestants = {name: Classifier(model, SAMPLES, classes) for name, model in models.items()}
        results, half = run(stream, contestants, by_block=True, thin=thin)
        for part, where in (("first half", slice(0, half)), ("second half", slice(half, None))):
            print_table(
                f"{name}, by block of {stream.block}, {part}: accuracy (%) by number of samples n_s",
                ["", *map(str, SAMPLES)],
                [
                    [name, *(f"{result.accuracy(str(n), where):.1f}" for n in SAMPLES)]
                    for name, result in results.items()
                ],
            )
    print(f"- seed 0; {machine()}")


if __name__ == "__main__":
    main()
