"""Electricity prices that drift, with labels that come half a day late, for several learners.

Uses Elec2 (``elec2`` in ANYSTREAM_DATA); without it, a market of the same shape is generated.
``--records 45312`` runs it large.
"""

import argparse

import numpy as np

from anystream import BayesTreeClassifier, KAOGINCClassifier, LocustClassifier
from anystream.drift import DynamicWeightedMajority
from anystream.evaluate import run_prequential
from anystream.streams import available_datasets, load_dataset

HALF_A_DAY = 24  # records; one every half an hour


def load_market(n_records: int) -> tuple[np.ndarray, np.ndarray]:
    """Return half-hourly records of demand and prices, and whether the price rises above its mean of the day."""
    if "elec2" in available_datasets():
        data = load_dataset("elec2")
        return data.X[:n_records], data.y[:n_records]
    print("Elec2 is not in ANYSTREAM_DATA: a generated market of the same shape")
    random = np.random.default_rng(0)
    hours = np.arange(n_records) / 2
    demand = 0.5 + 0.3 * np.sin(hours * 2 * np.pi / 24) + random.normal(0, 0.06, n_records)
    transfer = 0.5 + 0.2 * np.sin(hours * 2 * np.pi / 168) + random.normal(0, 0.05, n_records)
    season = np.sin(hours * 2 * np.pi / (24 * 40))  # what a high price is drifts
    up = demand - season * transfer > 0.5 - 0.3 * season
    columns = [hours % 168 // 24, hours % 24, demand, transfer, *random.normal(size=(4, n_records))]
    return np.column_stack(columns), up.astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=2000)
    X, y = load_market(parser.parse_args().records)
    models = {
        "repeat the last known label": None,
        "Bayes tree, last 1,000": BayesTreeClassifier(window=1000),
        "dynamic weighted majority": DynamicWeightedMajority(),
        "LOCUST": LocustClassifier(label_delay=HALF_A_DAY),
        "KAOGINC": KAOGINCClassifier(),
    }
    print(f"{len(X)} half hours; right if labels come at once, and half a day late:")
    for name, model in models.items():
        right = []
        for delay in (0, HALF_A_DAY):
            if model is None:
                right.append(np.mean(y[delay + 1 :] == y[: -delay - 1]))
            else:
                run = run_prequential(model, (X, y), batch_size=8, delay=delay, warm_up=200, budget=30)
                right.append(run.accuracy)
        print(f"{name:28} {right[0]:6.1%} {right[1]:6.1%}")


if __name__ == "__main__":
    main()
