"""Exemplars under a named distance, stored in the native core."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.estimators.native_batch import fill_batch
from anystream.estimators.native_query import NativeState
from anystream.neighbors.distances import Distance


class ExemplarQuery(NativeState, Protocol):
    """One record being compared with exemplars."""

    def state(self) -> tuple[Any, ...]:
        """Return what is needed, beside the record, to resume the query."""

    def nearest(self) -> list[tuple[int, float]]:
        """Return serials and native distances of the nearest exemplars so far."""


class StoredExemplars(NamedTuple):
    """Exemplars in the order of comparison.

    Parameters
    ----------
    records : array or list
        The records; encoded ones if the distance is a named one.
    labels : array of shape (n_exemplars,)
        Class numbers.
    serials : array of shape (n_exemplars,)
        Number of each record, counted over all learning.
    """

    records: Any
    labels: NDArray[np.int32]
    serials: NDArray[np.int64]


class Exemplars:
    """A distance and the native gallery of exemplars that it compares.

    Parameters
    ----------
    distance : Distance
        Fitted.
    gallery : NeighborsGallery
        The encoded exemplars in the order of comparison.
    """

    def __init__(self, distance: Distance, gallery: _native.NeighborsGallery) -> None:
        self.distance = distance
        self.gallery = gallery

    @classmethod
    def build(
        cls,
        distance: Distance,
        stored: StoredExemplars,
        order: NDArray[np.int64],
        n_classes: int,
        *,
        capacity: int,
        lists: bool,
        threads: int,
    ) -> Exemplars:
        """Return the exemplars at the positions in `order`, in that order or in lists around the first of them."""
        values, borders = distance.pack(stored.records)
        gallery = _native.NeighborsGallery.build(
            distance.native_metric,
            values,
            borders,
            stored.labels,
            order,
            stored.serials,
            n_classes,
            capacity,
            lists,
            threads,
        )
        return cls(distance, gallery)

    def __len__(self) -> int:
        return len(self.gallery)

    # -- classifying -------------------------------------------------------------------------------------------------

    def class_numbers(self) -> NDArray[np.int32]:
        """Return the class numbers of the exemplars."""
        numbers: NDArray[np.int32] = self.gallery.labels()
        return numbers

    def classify(
        self, records: Any, k: int, budget: Budget, threads: int, calibration: _native.Calibration | None = None
    ) -> BatchResult:
        """Return shares of votes, steps and certificates."""
        gallery = self.gallery.snapshot()  # learning may add classes meanwhile
        values, borders = self.distance.pack(self.distance.transform(records))
        fill = partial(gallery.answer, values, borders, k, *budget.limits(), threads, calibration=calibration)
        return fill_batch(len(borders) - 1, gallery.classes, fill)

    def classify_stages(
        self,
        records: Any,
        k: int,
        stages: NDArray[np.int64],
        threads: int,
        calibration: _native.Calibration | None = None,
    ) -> NDArray[np.float64]:
        """Return shares of votes after each stage, of shape (n_records, n_stages, n_classes)."""
        return self.classify_encoded_stages(self.distance.transform(records), k, stages, threads, calibration)

    def classify_encoded_stages(
        self,
        encoded: Any,
        k: int,
        stages: NDArray[np.int64],
        threads: int,
        calibration: _native.Calibration | None = None,
    ) -> NDArray[np.float64]:
        """Return the same as `classify_stages` for records that the distance has encoded already."""
        gallery = self.gallery.snapshot()
        values, borders = self.distance.pack(encoded)
        out = np.empty((len(borders) - 1, len(stages), gallery.classes))
        gallery.answer_in_stages(values, borders, k, stages, threads, out.reshape(-1), calibration)
        return out

    def open_query(self, record: Any, k: int) -> ExemplarQuery:
        """Return a query at budget 0."""
        return self.gallery.query(self._encode_record(record), k)

    def resume_query(self, record: Any, k: int, state: tuple[Any, ...]) -> ExemplarQuery:
        """Return a query that was suspended."""
        return self.gallery.resume(self._encode_record(record), k, state)

    def classify_one(self, record: Any, k: int, steps: int) -> int:
        """Return the class number of one record."""
        return self.gallery.label_one(self._encode_record(record), k, steps)

    def proba_one(self, record: Any, k: int, steps: int, calibration: _native.Calibration | None = None) -> list[float]:
        """Return the shares of votes of one record."""
        return self.gallery.proba_one(self._encode_record(record), k, steps, calibration)

    def evaluate_leave_one_out(self, k: int, stages: NDArray[np.int64], threads: int) -> NDArray[np.bool_]:
        """Return whether each exemplar is classified correctly by the others: (n_exemplars, n_stages)."""
        gallery = self.gallery
        labels = np.empty((gallery.positions, len(stages)), dtype=np.int32)
        gallery.leave_one_out(k, stages, threads, labels)
        arrays = gallery.arrays()
        present = arrays["serial"] >= gallery.oldest
        correct: NDArray[np.bool_] = (labels == arrays["label"][:, np.newaxis])[present]
        return correct

    def to_user_distance(self, native_distance: float) -> float:
        """Return the distance of two records from the native distance of their encoded forms."""
        return self.distance.to_user_distance(native_distance)

    # -- learning ----------------------------------------------------------------------------------------------------

    def insert(
        self,
        encoded: Any,
        labels: NDArray[np.int32],
        n_classes: int,
        owner: dict[str, Any] | None = None,
        attributes: dict[str, Any] | None = None,
    ) -> None:
        """Learn encoded records one by one, all or none, and extend the probabilities to `n_classes` classes.

        `attributes` are set in `owner`, the ``__dict__`` of the classifier, together with the change.
        """
        self.gallery.insert(*self.distance.pack(encoded), labels, n_classes, owner or {}, attributes or {})

    def add_features(self, n_features: int) -> None:
        """Extend the exemplars to `n_features` features; the new ones are missing in all of them."""
        self.distance.add_features(n_features)
        self.gallery.add_features(n_features)

    # -- content -----------------------------------------------------------------------------------------------------

    def snapshot(self) -> Exemplars:
        """Return the exemplars as they are now; learning changes neither through the other. Nothing large is copied."""
        return Exemplars(copy.deepcopy(self.distance), self.gallery.snapshot())

    def export(self) -> StoredExemplars:
        """Return the exemplars in the order of comparison."""
        arrays = self.gallery.arrays()
        first = np.arange(len(arrays["label"])) < arrays["layout"][0]
        first[arrays["fronts"]] = True
        order = np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])
        present = order[arrays["serial"][order] >= self.gallery.oldest]
        if "rows" in arrays:
            encoded: Any = arrays["rows"].reshape(len(arrays["label"]), -1)[present]
        elif self.record_type == "texts":
            codes = arrays["values"].astype(np.uint32)
            spans = zip(arrays["first"][present], arrays["length"][present], strict=True)
            encoded = [codes[a : a + n].tobytes().decode("utf-32-le", "surrogatepass") for a, n in spans]
        else:
            encoded = np.stack([arrays["values"][a : a + self.gallery.width] for a in arrays["first"][present]])
        return StoredExemplars(encoded, arrays["label"][present], arrays["serial"][present])

    @property
    def record_type(self) -> str:
        """Records that the distance compares: vectors, series or texts."""
        return self.distance.record_type

    @property
    def n_classes(self) -> int:
        """Number of classes, those without exemplars included."""
        return self.gallery.classes

    @property
    def setup(self) -> int:
        """Number of exemplars that every query compares at budget 0: one of each class."""
        return self.gallery.setup

    @property
    def capacity(self) -> int:
        """Maximum number of exemplars; 0 for no limit."""
        return self.gallery.capacity

    @property
    def own_bytes(self) -> int:
        """Bytes held in memory; what is borrowed from a mapped file is not counted."""
        return self.gallery.own_bytes

    def _encode_record(self, record: Any) -> NDArray[np.float64]:
        if self.record_type == "texts":
            return self.distance.pack(self.distance.transform([record]))[0]
        width = self.distance.learned["width"][0]
        if len(record) != width:
            what = "values" if self.record_type == "series" else "features"
            raise ValueError(f"the record has {len(record)} {what}, fit saw {width:g}; pass the same columns")
        return self.distance.pack(self.distance.transform(record[np.newaxis]))[0]
