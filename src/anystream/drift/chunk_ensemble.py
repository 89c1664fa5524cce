"""Base of ensembles that learn one member from each chunk of consecutive records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.drift.chunk_in_progress import ChunkInProgress
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
    a chunk that is at least half full, and learns it at once.

    The work of a chunk consists of steps, such as training one member, and what they give is used after the last of
    them. With `train_within` None one step is taken by the record that fills the chunk and one by each of those that
    follow (more if there are more steps than records in a chunk); the member of the first chunk classifies as soon as
    it is trained. A number of records spreads the steps over so many records after the chunk, except that the member of
    the first chunk is trained at once; 0 learns every chunk at once.

    Members never change once they are trained, and everything else is replaced rather than changed. So if training a
    member fails, the model is as before the call: the records of earlier calls still wait for their chunk to fill, and
    the next call tries again.
    """

    chunk_size: int
    train_within: int | None

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def chunk_steps(self, chunk: ChunkInProgress) -> Sequence[Callable[[], Any]]:
        """Return the steps of learning a chunk, of which the first trains its member.

        They return results and change nothing, and do not need each other.
        """

    @abstractmethod
    def use_chunk(self, chunk: ChunkInProgress) -> None:
        """Use the results of all steps."""

    @abstractmethod
    def set_provisional(self, member: Member) -> None:
        """Use `member` to classify until the first chunk is learned."""

    # -- learning ----------------------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Check the estimator and the size of chunks."""
        super().check_parameters()
        check_int("chunk_size", self.chunk_size, 1)
        if self.train_within is not None and check_int("train_within", self.train_within) > self.chunk_size:
            raise ValueError(
                f"train_within is {self.train_within}; use at most chunk_size, {self.chunk_size}, so that a chunk is "
                "learned before the next one is full"
            )

    def reset(self, n_features: int) -> None:
        """Start without chunks and records."""
        self.n_chunks_ = 0
        self._pending = PendingRecords()
        self._chunk: ChunkInProgress | None = None
        self._n_provisional = 0

    def fit_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn records from scratch and close the last chunk if it is the first or at least half full."""
        super().fit_records(records, numbers, n_classes)
        self.finish_chunk()
        n_pending = self._pending.n_records
        if n_pending and (self.n_chunks_ == 0 or 2 * n_pending >= self.chunk_size):
            self._close_chunk(n_classes)
            self.finish_chunk()

    def learn_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Collect records and learn the chunks that become full."""
        while len(numbers):
            n_free = max(0, self.chunk_size - self._pending.n_records)
            self._pending = self._pending.add(records[:n_free], numbers[:n_free])
            records, numbers = records[n_free:], numbers[n_free:]
            self._work_on_chunk()
            if self._pending.n_records >= self.chunk_size:
                self._close_chunk(n_classes)
        if self.n_chunks_ == 0 and self._chunk is None:
            self._update_provisional(n_classes)

    def _close_chunk(self, n_classes: int) -> None:
        self._chunk = ChunkInProgress(*self._pending.stack(), n_classes)
        self._pending = PendingRecords()
        self._work_on_chunk()

    def _work_on_chunk(self) -> None:
        """Take the steps that are to be taken after this many pending records; at the end use the results."""
        if self._chunk is None:
            return
        steps = self.chunk_steps(self._chunk)
        target = self._count_steps(len(steps))
        if target >= len(steps):
            self.finish_chunk()
            return
        self._chunk = self._chunk.take_steps(steps, target)
        if self.n_chunks_ == 0:
            self.set_provisional(self._chunk.results[0])  # better than one of fewer records

    def _count_steps(self, n_steps: int) -> int:
        """Return how many of `n_steps` steps are to be taken after this many pending records."""
        n_pending = self._pending.n_records
        if self.train_within is None:
            return -(-n_steps // self.chunk_size) * (n_pending + 1)
        if n_pending >= self.train_within:
            return n_steps
        first = int(self.n_chunks_ == 0)  # its member classifies at once: there is no other
        return max(-(-n_steps // self.train_within) * n_pending, first)

    def finish_chunk(self) -> None:
        """Learn the chunk in progress, if there is one, to its end."""
        if self._chunk is None:
            return
        steps = self.chunk_steps(self._chunk)
        self.use_chunk(self._chunk.take_steps(steps, len(steps)))
        self._chunk = None
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
        if self._chunk is not None:
            arrays["chunk_records"] = pad_columns(self._chunk.records, self.n_features_in_)
            arrays["chunk_numbers"] = self._chunk.numbers
            counters |= {"chunk_features": self._chunk.records.shape[1], "chunk_classes": self._chunk.n_classes}
        return ModelState(metadata | counters, arrays)

    def restore_chunks(self, file: ModelFile, specs: dict[str, ArraySpec]) -> dict[str, NDArray[Any]]:
        """Restore pending records and counters from a file without members; return the arrays of `specs`, checked."""
        pending = {
            "pending_records": ArraySpec("float64", ("pending", self.n_features_in_)),
            "pending_numbers": ArraySpec("int32", ("pending",), low=0, high=len(self.classes_) - 1),
        }
        in_progress = "chunk_records" in file.arrays
        if in_progress:
            pending |= {
                "chunk_records": ArraySpec("float64", (self.chunk_size, self.n_features_in_)),
                "chunk_numbers": ArraySpec("int32", (self.chunk_size,), low=0, high=len(self.classes_) - 1),
            }
        arrays, sizes = check_arrays(file, pending | specs)
        if sizes["pending"] >= self.chunk_size:
            raise ModelFileError(f"{file.path}: the pending records exceed the chunk size; save the model again")
        if np.isinf(arrays["pending_records"]).any() or (in_progress and np.isinf(arrays["chunk_records"]).any()):
            raise ModelFileError(f"{file.path}: a record holds an infinite value; save the model again")
        self.n_chunks_ = require_metadata(file, "n_chunks", int, low=0, high=MAX_INT)
        self._n_provisional = require_metadata(file, "n_provisional", int, low=0, high=self.chunk_size)
        self._pending = PendingRecords()
        if sizes["pending"]:
            self._pending = self._pending.add(arrays["pending_records"], arrays["pending_numbers"])
        self._chunk = _restore_chunk(file, arrays, len(self.classes_)) if in_progress else None
        if self._chunk is not None and self.train_within is not None and sizes["pending"] >= self.train_within:
            raise ModelFileError(f"{file.path}: a chunk in progress should have been learned; save the model again")
        return arrays


def _restore_chunk(file: ModelFile, arrays: dict[str, NDArray[Any]], n_classes: int) -> ChunkInProgress:
    """Return the chunk in progress: its records have the columns, and it has the classes, of the time it was full."""
    numbers = arrays["chunk_numbers"].copy()
    chunk_classes = require_metadata(file, "chunk_classes", int, low=int(numbers.max()) + 1, high=n_classes)
    n_features = require_metadata(file, "chunk_features", int, low=1, high=arrays["chunk_records"].shape[1])
    return ChunkInProgress(arrays["chunk_records"][:, :n_features].copy(), numbers, chunk_classes)
