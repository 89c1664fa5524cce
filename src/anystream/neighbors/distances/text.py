"""Edit distance of texts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.model_file import ArraySpec
from anystream.neighbors.distances.base import Distance


class EditDistance(Distance):
    """Levenshtein's distance: insertions, deletions and replacements of one symbol, all of cost 1."""

    record_type: ClassVar[str] = "texts"

    @property
    def native_metric(self) -> _native.NeighborsMetric:
        """Edit distance of code points."""
        return _native.NeighborsMetric("edit", 0)

    def learn(self, points: Any) -> None:
        """Learn nothing: texts are compared unchanged."""

    def encode(self, points: Any) -> Any:
        """Return the texts unchanged."""
        return points

    def fit(self, points: Any) -> Any:
        """Return the texts unchanged; there is nothing to learn."""
        self.learned = {}
        return points

    def transform(self, points: Any) -> Any:
        """Return the texts unchanged."""
        return points

    def pack(self, encoded: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the code points of all texts, and where each text starts and ends."""
        borders = np.concatenate([[0], np.cumsum([len(text) for text in encoded], dtype=np.int64)]).astype(np.int64)
        codes = np.frombuffer("".join(encoded).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        return codes.astype(np.float64), borders

    def comparison_work(self, encoded: Any) -> float:
        """Return the square of the mean length."""
        return max(sum(map(len, encoded)) / max(len(encoded), 1), 1.0) ** 2

    def array_specs(self) -> dict[str, ArraySpec]:
        """Return no specs: nothing is learned."""
        return {}
