"""Measurements of the KAOGINC paper: decision surfaces, static against incremental, and rivals under drift."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.neighbors import KNeighborsClassifier

from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, OnlineTree2, SEAEnsemble
from anystream.evaluate import place_interleaved_drifts, run_interleaved
from anystream.graph import KAOGClassifier, KAOGINCClassifier, decision_surface
from anystream.streams import SEA, GeneratedStream, MovingGaussians, Sine

LEARNED, TESTED, PAIRS, CONCEPTS = 80, 60, 20, 4
"""Records of a labelled batch and of a test batch, pairs of them per concept, and concepts."""

DRIFTS, LENGTH = place_interleaved_drifts(CONCEPTS, pairs_per_concept=PAIRS, train_size=LEARNED, test_size=TESTED)


def make_stream(name: str, thetas: list[float] | None, noise: float, seed: int) -> GeneratedStream[Any]:
    """Return a stream of four concepts: "sea" with the given thresholds, "sine" or "gauss"."""
    common: dict[str, Any] = {"drifts": DRIFTS, "seed": seed, "n_records": LENGTH, "noise": noise}
    if name == "sea":
        return SEA(concepts=thetas or (7.0, 9.0, 6.0, 9.5), **common)
    if name == "sine":
        return Sine(concepts=("sine1", "sine1_reversed", "sine2", "sine2_reversed"), **common)
    return MovingGaussians(concepts=("plain", "swapped", "plain", "swapped"), **common)


def make_model(name: str) -> Any:
    """Return an unfitted classifier by the name that it has in the report."""
    makers: dict[str, Callable[[], Any]] = {
        "KAOGINC, published": lambda: KAOGINCClassifier.paper(batch_size=LEARNED, n_jobs=1),
        "KAOGINC, default": lambda: KAOGINCClassifier(batch_size=LEARNED, n_jobs=1),
        "SEA": lambda: SEAEnsemble.street_kim(chunk_size=LEARNED),
        "DWM-NB": DynamicWeightedMajority,
        "WCEA": lambda: WCEA(keep="best", chunk_size=LEARNED, train_within=0),
        "WCEA-NB": lambda: WCEA(GaussianNaiveBayes(), keep="best", chunk_size=LEARNED, train_within=0),
        "OnlineTree2": OnlineTree2,
    }
    return makers[name]()


def measure_errors(stream: str, thetas: list[float] | None, noise: float, seed: int, model: str) -> list[float]:
    """Return the error in percent on each test batch; "static" learns the first labelled batch only."""
    source = make_stream(stream, thetas, noise, seed)
    if model != "static":
        made = make_model(model)
        noted = hasattr(made, "note_classified")
        run = run_interleaved(made, source, train_size=LEARNED, test_size=TESTED, note_classified=noted, method=model)
        return [100.0 * float(error) for error in run.error_curve()]
    batches = list(source.batches(LEARNED + TESTED))
    fitted = KAOGClassifier(n_jobs=1).fit(batches[0][0][:LEARNED], batches[0][1][:LEARNED])
    return [100.0 * float((fitted.predict(X[LEARNED:]) != y[LEARNED:]).mean()) for X, y in batches]


def draw_three_classes(n_records: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return three overlapping curved clusters, with one record in twenty mislabelled."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n_records)
    angle = random.uniform(0.0, 0.8 * np.pi, n_records) + 2.0 * np.pi / 3.0 * y
    X = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.45 * random.normal(size=(n_records, 2))
    wrong = random.random(n_records) < 0.05
    return X, np.where(wrong, (y + random.integers(1, 3, n_records)) % 3, y)


def make_surface_models() -> dict[str, Any]:
    """Return the unfitted classifiers of Figure 2."""
    return {"1-NN": KNeighborsClassifier(1), "15-NN": KNeighborsClassifier(15), "KAOG": KAOGClassifier(n_jobs=1)}


def measure_surfaces(n_records: int, seed: int) -> dict[str, dict[str, float]]:
    """Return the connected regions of each decision surface, and the error on 10,000 other records."""
    X, y = draw_three_classes(n_records, seed)
    queries, labels = draw_three_classes(10_000, seed + 1000)
    found = {}
    for name, model in make_surface_models().items():
        model.fit(X, y)
        _, _, surface = decision_surface(model, X, resolution=150)
        regions = sum(int(ndimage.label(surface == label)[1]) for label in np.unique(y))
        error = 100.0 * float((model.predict(queries) != labels).mean())
        found[name] = {"regions": float(regions), "error": error}
    return found
