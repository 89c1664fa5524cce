"""Fish on a conveyor belt: outlines in any rotation, the most useful exemplars compared first.

Uses the outlines of the UCR data set Fish (``ucr_Fish`` in ANYSTREAM_DATA); without it, closed outlines of the same
shape are generated. ``--fish 350`` runs it large.
"""

import argparse

import numpy as np

from anystream import AnytimeNeighborsClassifier
from anystream.streams import available_datasets, load_dataset


def load_outlines(n_fish: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance of the outline from its centre along the outline, and the species."""
    if "Fish" in available_datasets():
        data = load_dataset("Fish").shuffled(seed=0)
        return data.X[:n_fish], np.asarray(data.class_names)[data.y[:n_fish]]
    print("Fish is not in ANYSTREAM_DATA: generated outlines of the same shape")
    random = np.random.default_rng(0)
    species = random.integers(7, size=n_fish)
    angle = np.linspace(0, 2 * np.pi, 463, endpoint=False)
    shape = np.random.default_rng(1).normal(size=(7, 6)) / np.arange(1, 7)
    overtones = shape[species] + random.normal(0, 0.12, (n_fish, 6))
    outline = overtones @ np.cos(np.arange(1, 7)[:, None] * angle)
    outline = (outline - outline.mean(axis=1, keepdims=True)) / outline.std(axis=1, keepdims=True)
    return outline, np.array([f"species {s + 1}" for s in species])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fish", type=int, default=140)
    X, y = load_outlines(parser.parse_args().fish)
    shift = np.random.default_rng(2)
    X = np.array([np.roll(outline, shift.integers(len(outline))) for outline in X])  # fish lie as they fall
    half = len(X) // 2
    upright = AnytimeNeighborsClassifier(metric="euclidean").fit(X[:half], y[:half])
    turned = AnytimeNeighborsClassifier(metric="rotation").fit(X[:half], y[:half])
    print(f"{len(X) - half} fish, {half} exemplars; right after this many exemplars:")
    for steps in (0, 10, 30, half):
        by_euclid = np.mean(upright.predict(X[half:], budget=steps) == y[half:])
        by_rotation = np.mean(turned.predict(X[half:], budget=steps) == y[half:])
        print(f"{steps:4}   Euclidean {by_euclid:6.1%}   any rotation {by_rotation:6.1%}")
    query = turned.query(X[-1])
    print(f"one fish at once: {query.label}; after 20 exemplars: {query.refine(20).label}; it is {y[-1]}")


if __name__ == "__main__":
    main()
