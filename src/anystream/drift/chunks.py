"""Ensembles that learn one member from each chunk of consecutive records."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from anystream.anytime.parameters import whole_number
from anystream.drift.base import DriftClassifier, padded, stacked
from anystream.drift.file import MOST_RECORDS
from anystream.drift.member_file import member_from_part
from anystream.drift.members import Member, allows_nan, new_member
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays, require_metadata


class ChunkEnsemble(DriftClassifier):
    """Records are gathered until a chunk is full, then it is learned whole.

    So a batch, its records one by one, and any other way of cutting a stream teach the same. While the very first chunk
    fills, a provisional member answers that is made anew whenever the number of records has doubled. `fit` closes a
    chunk that is at least half full.
    """

    estimator: Any
    chunk_size: int
    seed: int

    # -- for ensembles -----------------------------------------------------------------------------------------------

    @abstractmethod
    def _default_estimator(self) -> BaseEstimator:
        """What the members are if no estimator was given."""

    @abstractmethod
    def _learn_chunk(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn one chunk."""

    @abstractmethod
    def _answer_provisionally(self, member: Member) -> None:
        """Let `member` answer until there is a chunk."""

    # -- gathering -----------------------------------------------------------------------------------------------------

    def _begin(self, n_features: int) -> None:
        whole_number("chunk_size", self.chunk_size, 1)
        whole_number("seed", self.seed, 0)
        self.n_chunks_ = 0
        self._pending: list[tuple[NDArray[np.float64], NDArray[np.int32]]] = []
        self._n_pending = 0
        self._n_provisional = 0

    def _learn(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        while len(numbers):
            room = self.chunk_size - self._n_pending
            self._pending.append((rows[:room].copy(), numbers[:room].copy()))
            self._n_pending += len(numbers[:room])
            rows, numbers = rows[room:], numbers[room:]
            if self._n_pending == self.chunk_size:
                self._close_chunk(n_classes)
        if self.n_chunks_ == 0:
            self._renew_provisional(n_classes)

    def _finish(self, n_classes: int) -> None:
        if self._n_pending and (self.n_chunks_ == 0 or 2 * self._n_pending >= self.chunk_size):
            self._close_chunk(n_classes)

    def _close_chunk(self, n_classes: int) -> None:
        rows, numbers = self._gathered()
        self._pending, self._n_pending = [], 0  # should a member fail to learn the chunk, the others stay as they are
        self._learn_chunk(rows, numbers, n_classes)
        self.n_chunks_ += 1

    def _renew_provisional(self, n_classes: int) -> None:
        size = 1 << (self._n_pending.bit_length() - 1)
        if size == self._n_provisional:
            return
        rows, numbers = self._gathered()
        member = self._new_member()
        member.fit(rows[:size], numbers[:size], n_classes)
        self._answer_provisionally(member)
        self._n_provisional = size

    def _gathered(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        rows = stacked(rows for rows, _ in self._pending)  # features may have joined while the chunk filled
        return rows, np.concatenate([numbers for _, numbers in self._pending])

    # -- keeping -------------------------------------------------------------------------------------------------------

    def _learned(self) -> tuple[dict[str, int], dict[str, NDArray[Any]], list[ModelFile]]:
        rows, numbers = self._gathered() if self._pending else (np.zeros((0, 0)), np.zeros(0, dtype=np.int32))
        arrays: dict[str, NDArray[Any]] = {
            "pending_rows": padded(rows, self.n_features_in_),
            "pending_numbers": numbers,
        }
        return {"n_chunks": self.n_chunks_, "n_provisional": self._n_provisional}, arrays, []

    def _recall_chunks(self, file: ModelFile, specs: dict[str, ArraySpec]) -> dict[str, NDArray[Any]]:
        """Take back what `_learned` of this class gave, and answer the arrays of `specs`, checked."""
        pending = {
            "pending_rows": ArraySpec("float64", ("pending", self.n_features_in_)),
            "pending_numbers": ArraySpec("int32", ("pending",), low=0, high=len(self.classes_) - 1),
        }
        arrays, sizes = check_arrays(file, pending | specs)
        if sizes["pending"] >= self.chunk_size:
            raise ModelFileError(f"{file.path}: holds more records than a chunk; save the model again")
        if np.isinf(arrays["pending_rows"]).any():
            raise ModelFileError(f"{file.path}: a record holds an infinite value; save the model again")
        self.n_chunks_ = require_metadata(file, "n_chunks", int, low=0, high=MOST_RECORDS)
        self._n_provisional = require_metadata(file, "n_provisional", int, low=0, high=self.chunk_size)
        if sizes["pending"]:
            self._pending = [(arrays["pending_rows"].copy(), arrays["pending_numbers"].copy())]
        self._n_pending = sizes["pending"]
        return arrays

    def _members_of(self, parts: list[ModelFile], *, mapped: bool) -> list[Member]:
        n_classes, n_features = len(self.classes_), self.n_features_in_
        return [member_from_part(part, n_classes=n_classes, n_features=n_features, mapped=mapped) for part in parts]

    def _new_member(self) -> Member:
        return new_member(self._member_estimator(), self.seed + self.n_chunks_)

    def _member_estimator(self) -> Any:
        return self._default_estimator() if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = allows_nan(self._member_estimator())
        return tags
