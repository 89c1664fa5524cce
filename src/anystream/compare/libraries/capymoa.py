"""Classifiers of CapyMOA, which runs MOA in a Java virtual machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from capymoa import classifier
from capymoa.core import Instance, LabeledInstance
from capymoa.stream import Schema
from numpy.typing import NDArray

from anystream.compare.candidate import Candidate
from anystream.compare.settings import WINDOW


class CapymoaCandidate(Candidate):
    """A classifier of CapyMOA."""

    def __init__(self, model: Any, schema: Any) -> None:
        self.model, self._schema = model, schema

    def as_records(self, X: NDArray[np.float64]) -> Sequence[Any]:
        """Return instances; the first call with one turns it into an object of Java."""
        return [Instance.from_array(self._schema, row) for row in X]

    def as_labelled(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Sequence[tuple[Any, Any]]:
        """Return labelled instances; the second argument of `learn_one` is not used."""
        return [(LabeledInstance.from_array(self._schema, row, label), None) for row, label in zip(X, y, strict=True)]

    def predict_one(self, record: Any) -> int | None:
        """Return the label of one instance; None before anything was learned."""
        label: int | None = self.model.predict(record)
        return label

    def learn_one(self, record: Any, label: Any) -> None:
        """Learn one labelled instance."""
        self.model.train(record)

    def memory_bytes(self) -> int | None:
        """Return what is in use on the heap of Java after a collection."""
        import jpype

        runtime = jpype.JClass("java.lang.Runtime").getRuntime()
        runtime.gc()
        return int(runtime.totalMemory() - runtime.freeMemory())


def make_schema(n_features: int, n_classes: int) -> Any:
    """Return the schema of numeric features and a class whose codes are its places."""
    names = [f"f{column}" for column in range(n_features)]
    return Schema.from_custom([*names, "class"], "class", {"class": [str(code) for code in range(n_classes)]})


def _make(create: Callable[[Any, int], Any]) -> Callable[[int, int, int], Candidate]:
    def make(n_features: int, n_classes: int, seed: int) -> Candidate:
        schema = make_schema(n_features, n_classes)
        return CapymoaCandidate(create(schema, seed), schema)

    return make


METHODS = {
    "NaiveBayes": _make(lambda schema, seed: classifier.NaiveBayes(schema)),
    "HoeffdingTree": _make(lambda schema, seed: classifier.HoeffdingTree(schema)),
    f"KNN({WINDOW})": _make(lambda schema, seed: classifier.KNN(schema, k=5, window_size=WINDOW)),
    "SAMkNN(5000)": _make(lambda schema, seed: classifier.SAMkNN(schema, limit=5_000)),
    "ARF(10)": _make(
        lambda schema, seed: classifier.AdaptiveRandomForestClassifier(schema, random_seed=seed, ensemble_size=10)
    ),
    "SRP(10)": _make(
        lambda schema, seed: classifier.StreamingRandomPatches(schema, random_seed=seed, ensemble_size=10)
    ),
}
