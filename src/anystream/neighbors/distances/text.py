"""Edit distance of texts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.model_file import ArraySpec
from anystream.neighbors.distances.base import Distance

Packed = tuple[NDArray[np.float64], NDArray[np.int64]]


class Edit(Distance):
    """Levenshtein's distance: insertions, deletions and replacements of one symbol, all of cost 1."""

    records: ClassVar[str] = "texts"

    @property
    def native(self) -> _native.NeighborsMetric:
        """Edit distance of code points."""
        return _native.NeighborsMetric("edit", 0)

    def learn(self, points: Any) -> None:
        """Texts are compared as they are."""

    def rows(self, points: Any) -> Any:
        """The texts themselves."""
        return points

    def learned_arrays(self) -> dict[str, ArraySpec]:
        """Nothing."""
        return {}

    def fit(self, points: Any) -> Any:
        """Texts have nothing to be learned."""
        self.learned = {}
        return points

    def transform(self, points: Any) -> Any:
        """The texts themselves."""
        return points

    def pack(self, rows: Any) -> Packed:
        """Code points, one text after another."""
        borders = np.concatenate([[0], np.cumsum([len(text) for text in rows], dtype=np.int64)]).astype(np.int64)
        codes = np.frombuffer("".join(rows).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        return codes.astype(np.float64), borders
