"""Why labels of overlapping classes are certified late: ``python -m benchmarks.bayes_tree.certificates``.

Ringnorm: 20 features, class 0 is N(0, 4 I), class 1 is N(2 / sqrt(20), I). The table compares the steps until a label
is certified with those of an oracle that knows the density of the winner for nothing, and opens the node of the loser
with the highest bound until all bounds together are below it: with the same bounds no order needs many nodes less.
"""

import argparse
import heapq
from dataclasses import dataclass
from typing import Self

import numpy as np

from anystream import BayesTreeClassifier
from benchmarks.table import print_table

N_FEATURES = 20
BUDGETS = (50, 200, 500, 1000)


def draw_ringnorm(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    noise = rng.normal(size=(n, N_FEATURES))
    return np.where((y == 0)[:, np.newaxis], 2.0 * noise, noise + 2.0 / np.sqrt(N_FEATURES)), y


@dataclass(frozen=True)
class Nodes:
    """The trees in units of the kernel's deviation: the records and bounds of every node."""

    points: np.ndarray
    point_class: np.ndarray
    children: list[np.ndarray]
    records: list[np.ndarray]
    roots: np.ndarray
    low: np.ndarray
    high: np.ndarray
    centre: np.ndarray
    variance: np.ndarray
    radius: np.ndarray

    @classmethod
    def read(cls, model: BayesTreeClassifier) -> Self:
        """Read the trees of a model without a metric."""
        arrays, entries = model.forest_.arrays(), model.forest_.entries()
        points = to_kernel_units(model, arrays["points"].reshape(-1, N_FEATURES))
        children = np.split(entries["child"], entries["first"][1:-1])
        records: list[np.ndarray] = [np.empty(0, dtype=int)] * len(children)

        def collect(node: int) -> np.ndarray:
            parts = [[~child] if child < 0 else collect(int(child)) for child in children[node]]
            records[node] = np.concatenate(parts).astype(int)
            return records[node]

        for root in arrays["class_root"]:
            collect(int(root))
        centre = np.array([points[below].mean(axis=0) for below in records])
        radius = np.array(
            [np.sqrt(((points[b] - c) ** 2).sum(axis=1).max()) for b, c in zip(records, centre, strict=True)]
        )
        variance = np.array([points[below].var(axis=0) for below in records])
        low, high = (np.array([extreme(points[below], axis=0) for below in records]) for extreme in (np.min, np.max))
        by_class = arrays["point_class"], children, records, arrays["class_root"]
        return cls(points, *by_class, low, high, centre, variance, radius)

    def bounds(self, x: np.ndarray, *, balls: bool = False) -> np.ndarray:
        """Return the logarithm of what each node can add to the density at most.

        The squared distance u of a record lies between those of the nearest and the farthest point of the box, and its
        mean over a node is known. exp(-u / 2) is convex: the chord between the two ends, at the mean, bounds it.
        """
        least = ((np.clip(x, self.low, self.high) - x) ** 2).sum(axis=1)
        most = (np.maximum(np.abs(self.low - x), np.abs(self.high - x)) ** 2).sum(axis=1)
        mean = ((self.centre - x) ** 2 + self.variance).sum(axis=1)
        if balls:
            distance = np.sqrt(((self.centre - x) ** 2).sum(axis=1))
            least = np.maximum(least, np.maximum(distance - self.radius, 0.0) ** 2)
            most = np.minimum(most, (distance + self.radius) ** 2)
        far = np.clip((mean - least) / np.maximum(most - least, 1e-12), 0.0, 1.0)
        with np.errstate(divide="ignore"):
            chord = np.logaddexp(np.log1p(-far) - 0.5 * least, np.log(far) - 0.5 * most)
        return np.log([len(below) for below in self.records]) + chord

    def count_opened(self, loser: int, log_kernels: np.ndarray, bounds: np.ndarray, log_winner: float) -> int:
        """Return how many nodes of the loser an oracle opens until its density is surely below that of the winner."""
        root = int(self.roots[loser])
        open_nodes, total, opened = [(-bounds[root], root)], np.exp(bounds[root] - log_winner), 0
        while total > 1.0 and open_nodes:
            bound, node = heapq.heappop(open_nodes)
            total -= np.exp(-bound - log_winner)
            opened += 1
            for child in self.children[node]:
                total += np.exp((log_kernels[~child] if child < 0 else bounds[child]) - log_winner)
                if child >= 0:
                    heapq.heappush(open_nodes, (-bounds[child], int(child)))
        return opened


def to_kernel_units(model: BayesTreeClassifier, X: np.ndarray) -> np.ndarray:
    """Return records as multiples of the kernel's deviation."""
    arrays = model.forest_.arrays()
    return (X - arrays["shift"]) / arrays["scale"] * arrays["kernel_precision"][:N_FEATURES].astype(float)


def measure(model: BayesTreeClassifier, X: np.ndarray) -> dict[str, np.ndarray]:
    """Return figures of the oracle: opened nodes, and margins and errors of bounds in nats."""
    nodes = Nodes.read(model)
    leaves = [node for node, children in enumerate(nodes.children) if (children < 0).all()]
    found: dict[str, list[float]] = {"tree": [], "balls": [], "margin": [], "excess": []}
    for x in to_kernel_units(model, X):
        log_kernels = -0.5 * ((nodes.points - x) ** 2).sum(axis=1)
        density = [np.logaddexp.reduce(log_kernels[nodes.point_class == number]) for number in (0, 1)]
        winner = int(np.argmax(density))
        found["margin"].append(density[winner] - density[1 - winner])
        bounds = nodes.bounds(x)
        found["excess"] += [bounds[leaf] - np.logaddexp.reduce(log_kernels[nodes.records[leaf]]) for leaf in leaves]
        for name, used in (("tree", bounds), ("balls", nodes.bounds(x, balls=True))):
            found[name].append(nodes.count_opened(1 - winner, log_kernels, used, density[winner]))
    return {name: np.array(values) for name, values in found.items()}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=60, help="records to classify")
    options = parser.parse_args()
    X, y = draw_ringnorm(3700, 0)
    X_test, _ = draw_ringnorm(options.records, 1)
    rows = []
    for name, parameters in (
        ("default", {}),
        ("trees alone", {"root_model": None, "metric": None, "covariance": "diagonal", "bandwidth": "f0.15"}),
    ):
        model = BayesTreeClassifier(refine_for="certificate", decision="mixture", random_state=0, **parameters).fit(
            X, y
        )
        shares = [f"{model.classify(X_test, budget=budget).certified.mean():.0%}" for budget in BUDGETS]
        steps = np.median(model.classify(X_test, budget=10**6).steps)
        rows.append([name, model.forest_.nodes, *shares, f"{steps:.0f}"])
    header = ["model", "nodes", *(f"{budget} steps" for budget in BUDGETS), "steps, median"]
    print_table("Certified labels on ringnorm, 3,700 training records", header, rows)
    figures = measure(model, X_test)
    rows = [
        [name, *(f"{value:.0f}" for value in np.quantile(figures[key], [0.1, 0.5, 0.9]))]
        for name, key in (
            ("nodes of the loser that an oracle opens", "tree"),
            ("the same, with a ball around each node as well", "balls"),
            ("margin between the classes, nats", "margin"),
            ("excess of the bound of a leaf, nats", "excess"),
        )
    ]
    print_table("Bounds of the trees alone", ["figure", "10 %", "50 %", "90 %"], rows)


if __name__ == "__main__":
    main()
