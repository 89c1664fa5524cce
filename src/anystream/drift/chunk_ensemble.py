"""Base of ensembles that learn one member from each chunk of consecutive records."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.drift.columns import pad_columns
from anystream.drift.ensemble_members import Member
from anystream.drift.ensemble_members.file import dump_members
from anystream.drift.meta_classifier import SaveableMetaClassifier
from anystream.drift.pending_records import PendingRecords
from anystream.estimators.parameters import MAX_INT, check_int
from anystream.estimators.saving import ModelState
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays, require_metadata


class ChunkEnsemble(SaveableMetaClassifier, abstract=True):
    """Ensemble that collects records until a chunk is full and then learns the whole chunk.

    So a batch, its records one by one, and any other division of a stream give the same model. While the first chunk
    fills, a provisional member classifies; it is trained again whenever the number of records has doubled. `fit` closes
    a chunk that is at least half full.

    Members never change once they are trained, and everything else is replaced rather than changed. So if training a
    member fails, the model is as before the call: the records of earlier calls still wait for their chunk to fill, and
    the next call tries again.
    """

    chunk_size: int

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def learn_chunk(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn one chunk."""

    @abstractmethod
    def set_provisional(self, member: Member) -> None:
        """Use `member` to classify until the first chunk is learned."""

    # -- learning ----------------------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Check the estimator and the size of chunks."""
        super().check_parameters()
        check_int("chunk_size", self.chunk_size, 1)

    def reset(self, n_features: int) -> None:
        """Start without chunks and records."""
        self.n_chunks_ = 0
        self._pending = PendingRecords()
        self._n_provisional = 0

    def fit_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn records from scratch and close the last chunk if it is the first or at least half full."""
        super().fit_records(records, numbers, n_classes)
        n_pending = self._pending.n_records
        if n_pending and (self.n_chunks_ == 0 or 2 * n_pending >= self.chunk_size):
            self._close_chunk(n_classes)

    def learn_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Collect records and learn the chunks that become full."""
        while len(numbers):
            n_free = max(0, self.chunk_size - self._pending.n_records)
            self._pending = self._pending.add(records[:n_free], numbers[:n_free])
            records, numbers = records[n_free:], numbers[n_free:]
            if self._pending.n_records >= self.chunk_size:
                self._close_chunk(n_classes)
        if self.n_chunks_ == 0:
            self._update_provisional(n_classes)

    def _close_chunk(self, n_classes: int) -> None:
        self.learn_chunk(*self._pending.stack(), n_classes)
        self._pending = PendingRecords()
        self.n_chunks_ += 1

    def _update_provisional(self, n_classes: int) -> None:
        size = 1 << (self._pending.n_records.bit_length() - 1)
        if size == self._n_provisional:
            return
        records, numbers = self._pending.stack()
        member = self.new_member(self.n_chunks_)
        member.fit(records[:size], numbers[:size], n_classes)
        self.set_provisional(member)
        self._n_provisional = size

    # -- saving ------------------------------------------------------------------------------------------------------

    def dump_chunks(self, members: tuple[Member, ...]) -> ModelState:
        """Return the members, the pending records and the counters."""
        metadata, arrays = dump_members(members)
        records, numbers = self._pending.stack()
        arrays |= {"pending_records": pad_columns(records, self.n_features_in_), "pending_numbers": numbers}
        counters = {"n_chunks": self.n_chunks_, "n_provisional": self._n_provisional}
        return ModelState(metadata | counters, arrays)

    def restore_chunks(self, file: ModelFile, specs: dict[str, ArraySpec]) -> dict[str, NDArray[Any]]:
        """Restore pending records and counters from a file without members; return the arrays of `specs`, checked."""
        pending = {
            "pending_records": ArraySpec("float64", ("pending", self.n_features_in_)),
            "pending_numbers": ArraySpec("int32", ("pending",), low=0, high=len(self.classes_) - 1),
        }
        arrays, sizes = check_arrays(file, pending | specs)
        if sizes["pending"] >= self.chunk_size:
            raise ModelFileError(f"{file.path}: the pending records exceed the chunk size; save the model again")
        if np.isinf(arrays["pending_records"]).any():
            raise ModelFileError(f"{file.path}: a record holds an infinite value; save the model again")
        self.n_chunks_ = require_metadata(file, "n_chunks", int, low=0, high=MAX_INT)
        self._n_provisional = require_metadata(file, "n_provisional", int, low=0, high=self.chunk_size)
        self._pending = PendingRecords()
        if sizes["pending"]:
            self._pending = self._pending.add(arrays["pending_records"], arrays["pending_numbers"])
        return arrays
