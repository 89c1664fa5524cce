"""Exemplars under a named distance, in the native core."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream._native import Counter, StopToken
from anystream.anytime.budget import Budget
from anystream.anytime.native_answer import answer_batch
from anystream.anytime.native_query import OpenQuery
from anystream.neighbors.distances import Distance

Answers = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]


class ExemplarQuery(OpenQuery, Protocol):
    """One classification among exemplars in progress."""

    def state(self) -> tuple[Any, ...]:
        """What is needed, beside the record, to go on later."""

    def nearest(self) -> list[tuple[int, float]]:
        """Serials and distances of the nearest so far."""


class Exemplars:
    """A distance and the gallery of exemplars that it compares.

    Parameters
    ----------
    distance : Distance
        Fitted.
    gallery : NeighborsGallery
        The exemplars' rows in the order of visits.
    """

    def __init__(self, distance: Distance, gallery: _native.NeighborsGallery) -> None:
        self.distance = distance
        self.gallery = gallery

    def __len__(self) -> int:
        return len(self.gallery)

    # -- answering ---------------------------------------------------------------------------------------------------

    def answer(self, queries: Any, k: int, budget: Budget, threads: int) -> Answers:
        """Shares of votes, steps and certificates."""
        values, first = self.distance.pack(self.distance.transform(queries))
        fill = partial(self.gallery.answer, values, first, k, *budget.limits(), threads)
        return answer_batch(len(first) - 1, self.gallery.classes, fill)

    def staged(self, queries: Any, k: int, stages: NDArray[np.int64], threads: int) -> NDArray[np.float64]:
        """Shares of votes after each stage: (records, stages, classes)."""
        values, first = self.distance.pack(self.distance.transform(queries))
        out = np.empty((len(first) - 1, len(stages), self.gallery.classes))
        self.gallery.answer_in_stages(values, first, k, stages, threads, out.reshape(-1))
        return out

    def open(self, record: Any, k: int) -> ExemplarQuery:
        """A query at budget 0."""
        return self.gallery.query(self._row(record), k)

    def resume(self, record: Any, k: int, state: tuple[Any, ...]) -> ExemplarQuery:
        """A query that was suspended."""
        return self.gallery.resume(self._row(record), k, state)

    def label_one(self, record: Any, k: int, steps: int) -> int:
        """The class number of one record."""
        return self.gallery.label_one(self._row(record), k, steps)

    def proba_one(self, record: Any, k: int, steps: int) -> list[float]:
        """The shares of votes of one record."""
        return self.gallery.proba_one(self._row(record), k, steps)

    def leave_one_out(self, k: int, stages: NDArray[np.int64], threads: int) -> NDArray[np.bool_]:
        """Whether each exemplar, left out of its own query, is right after each stage: (exemplars, stages)."""
        gallery = self.gallery
        labels = np.empty((gallery.positions, len(stages)), dtype=np.int32)
        gallery.leave_one_out(k, stages, threads, labels)
        arrays = gallery.arrays()
        right: NDArray[np.bool_] = (labels == arrays["label"][:, np.newaxis])[arrays["serial"] >= gallery.oldest]
        return right

    def user_distance(self, native: float) -> float:
        """A distance in the user's terms, from what the native core says."""
        return self.distance.distance(native)

    # -- learning ----------------------------------------------------------------------------------------------------

    def insert(self, rows: Any, labels: NDArray[np.int32]) -> None:
        """Learn rows of the distance one by one."""
        self.gallery.insert(*self.distance.pack(rows), labels)

    def declare_classes(self, n_classes: int) -> None:
        """Make room for classes without exemplars."""
        self.gallery.declare_classes(n_classes)

    def widen(self, n_features: int) -> None:
        """Make room for features that are missing so far."""
        self.distance.widen(n_features)
        self.gallery.add_features(n_features)

    def snapshot(self) -> Exemplars:
        """The exemplars as they are now, whatever these learn later; nothing large is copied."""
        return Exemplars(copy.deepcopy(self.distance), self.gallery.snapshot())

    @property
    def setup(self) -> int:
        """How many exemplars every query sees at once: one of each class."""
        return self.gallery.setup

    @property
    def capacity(self) -> int:
        """Most exemplars; 0 for no limit."""
        return self.gallery.capacity

    @property
    def own_bytes(self) -> int:
        """Bytes held."""
        return self.gallery.own_bytes

    def stored(self) -> tuple[Any, NDArray[np.int32], NDArray[np.int64]]:
        """Rows, class numbers and serials of the exemplars, in the order of visits."""
        arrays = self.gallery.arrays()
        n = len(arrays["label"])
        present = np.flatnonzero(arrays["serial"] >= self.gallery.oldest)
        if "rows" in arrays:
            rows: Any = arrays["rows"].reshape(n, -1)[present]
        elif self.distance.records == "texts":
            codes = arrays["values"].astype(np.uint32)
            places = zip(arrays["first"][present], arrays["length"][present], strict=True)
            rows = [codes[a : a + n].tobytes().decode("utf-32-le", "surrogatepass") for a, n in places]
        else:
            rows = np.stack([arrays["values"][a : a + self.gallery.width] for a in arrays["first"][present]])
        return rows, arrays["label"][present], arrays["serial"][present]

    def _row(self, record: Any) -> NDArray[np.float64]:
        batch = [record] if self.distance.records == "texts" else record[np.newaxis]
        return self.distance.pack(self.distance.transform(batch))[0]


def build_exemplars(
    distance: Distance,
    rows: Any,
    labels: NDArray[np.int32],
    order: NDArray[np.int64],
    serials: NDArray[np.int64],
    n_classes: int,
    *,
    capacity: int,
    lists: bool,
    threads: int,
) -> Exemplars:
    """Those rows of a fitted distance that `order` names, in that order or in lists around the first ones."""
    values, first = distance.pack(rows)
    gallery = _native.NeighborsGallery.build(
        distance.native, values, first, labels, order, serials, n_classes, capacity, lists, threads
    )
    return Exemplars(distance, gallery)


def order_rows(
    distance: Distance,
    rows: Any,
    labels: NDArray[np.int32],
    n_classes: int,
    name: str,
    *,
    threads: int,
    seed: int,
    done: Counter,
    stop: StopToken,
) -> NDArray[np.int64]:
    """A native ordering of rows of a fitted distance."""
    values, first = distance.pack(rows)
    return _native.neighbors_order(
        name, distance.native, values, first, labels, n_classes, threads=threads, seed=seed, done=done, stop=stop
    )
