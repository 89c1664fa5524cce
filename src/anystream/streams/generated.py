"""Base class of generated streams, which draws records in blocks independently of the batch size.

A stream is divided into blocks of `BLOCK_SIZE` records. Each block has its own random generator, seeded with the
stream's seed and the number of the block, and is always drawn as a whole:

    records   0 ........ 4095 | 4096 ....... 8191 | 8192 ...
    seeded    (seed, block 0) | (seed, block 1)   | ...
    concepts  ---- first ----------|---- second ---------      drifts = (5000,)

Therefore the content depends neither on the batch size nor on the position where reading starts. A drift or noise
changes labels (and whatever the concept computes from the draws), but not the random draws.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, pairwise
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream.streams.parameters import check_float, check_int

BLOCK_SIZE = 4096  # records per random generator: large enough that the cost of seeding does not matter

Concept = TypeVar("Concept")
Batch: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True, kw_only=True)
class GeneratedStream(ABC, Generic[Concept]):
    """A seeded stream of labelled records whose concept changes at known positions.

    Base class of all generators; each subclass adds its concepts.

    Parameters
    ----------
    concepts : sequence
        The labelling rules, in the order in which they apply; one more than `drifts`.
    drifts : sequence of int, default=()
        Positions of the changes: ``drifts[i]`` is the first record of ``concepts[i + 1]``. Strictly ascending.
    noise : float, default=0.0
        Probability that a label is replaced by one of the other classes, all equally likely.
    seed : int, default=0
        Seed of the random numbers; the same seed gives the same stream.
    n_records : int or None, default=None
        Length of the stream; None for an endless stream.

    Attributes
    ----------
    n_features : int
        Number of columns of X.
    n_classes : int
        The labels are 0 to ``n_classes - 1``.

    Notes
    -----
    The content does not depend on how it is read: `records`, and the concatenation of `batches` of any size, are equal
    bit for bit. The features of the records do not change with `noise` or `n_records`, and they change with `drifts`
    only if the concepts determine them, as in `RandomRBF`. The random numbers are NumPy's (PCG64); NumPy does not
    guarantee the same numbers in all its versions.
    """

    concepts: Sequence[Concept]
    drifts: Sequence[int] = ()
    noise: float = 0.0
    seed: int = 0
    n_records: int | None = None
    n_features: int = field(init=False, repr=False)
    n_classes: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        checked = {
            "seed": check_int("seed", self.seed, min_value=0),
            "noise": check_float(
                "noise", self.noise, wanted="the share of wrong labels, from 0 to 1", min_value=0.0, max_value=1.0
            ),
            "concepts": tuple(self._check_concept(concept) for concept in _check_sequence("concepts", self.concepts)),
            "drifts": tuple(
                check_int("a position in drifts", at, min_value=1) for at in _check_sequence("drifts", self.drifts)
            ),
        }
        if self.n_records is not None:
            checked["n_records"] = check_int("n_records", self.n_records, min_value=1)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

        if len(self.concepts) != len(self.drifts) + 1:
            raise ValueError(
                f"there are {len(self.concepts)} concepts and {len(self.drifts)} drifts; "
                f"give one concept more than drifts"
            )
        for before, after in pairwise(self.drifts):
            if after <= before:
                raise ValueError(f"drifts has {after} after {before}; give ascending positions")
        if self.n_records is not None and self.drifts and self.drifts[-1] >= self.n_records:
            raise ValueError(
                f"the drift at {self.drifts[-1]} is beyond the end of a stream of {self.n_records} records; "
                f"omit it or give a larger n_records"
            )

    @property
    def classes(self) -> NDArray[np.int64]:
        """All labels of the stream, including those that have not occurred yet; for the first `partial_fit`."""
        return np.arange(self.n_classes)

    def concept_at(self, position: int) -> Concept:
        """Return the concept at a position of the stream."""
        return self.concepts[bisect_right(self.drifts, check_int("position", position, min_value=0))]

    def batches(self, size: int, *, start: int = 0) -> Iterator[Batch]:
        """Iterate over batches ``(X, y)`` of `size` records from position `start` on.

        X is float64 of shape (size, n_features), y int64 of shape (size,). The last batch of a finite stream
        may be smaller.
        """
        # A generator function would check its arguments only when the first batch is requested.
        return self._batches(check_int("size", size, min_value=1), check_int("start", start, min_value=0))

    def records(self, *, start: int = 0) -> Iterator[tuple[NDArray[np.float64], int]]:
        """Iterate over single records ``(x, y)`` from position `start` on; x has shape (n_features,)."""
        batches = self.batches(BLOCK_SIZE, start=start)
        return ((x, label) for X, y in batches for x, label in zip(X, y.tolist(), strict=True))

    def take(self, n: int, *, start: int = 0) -> Batch:
        """Return the `n` records from position `start` on as one ``(X, y)``."""
        first = check_int("start", start, min_value=0)
        last = first + check_int("n", n, min_value=1)
        if self.n_records is not None and last > self.n_records:
            raise ValueError(
                f"records {first} to {last - 1} requested, but the stream has {self.n_records} records; "
                f"take fewer, or give the stream a larger n_records"
            )
        return _slice_blocks(self._block, first, last)

    def _batches(self, size: int, start: int) -> Iterator[Batch]:
        block = lru_cache(maxsize=1)(self._block)  # consecutive batches share a block
        for first in count(start, size):
            last = first + size if self.n_records is None else min(first + size, self.n_records)
            if first >= last:
                return
            yield _slice_blocks(block, first, last)

    def _block(self, number: int) -> Batch:
        """Draw all records of one block, including those beyond the end of the stream."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
        start = number * BLOCK_SIZE
        draws = self._draw(rng, BLOCK_SIZE)
        inner = self.drifts[bisect_right(self.drifts, start) : bisect_right(self.drifts, start + BLOCK_SIZE - 1)]
        parts = [
            self._apply(self.concept_at(first), draws[first - start : last - start], first)
            for first, last in pairwise([start, *inner, start + BLOCK_SIZE])
        ]
        X, y = parts[0] if len(parts) == 1 else _concatenate(parts)
        if self.noise > 0.0:
            wrong = rng.random(BLOCK_SIZE) < self.noise
            shift = rng.integers(1, self.n_classes, BLOCK_SIZE)  # to any class but the correct one
            y = np.where(wrong, (y + shift) % self.n_classes, y)
        return X, y

    @abstractmethod
    def _check_concept(self, concept: object) -> Concept:
        """Check a concept and return it in the form in which it is stored."""

    @abstractmethod
    def _draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw the random part of `size` records, one row each; it is the same under all concepts."""

    @abstractmethod
    def _apply(self, concept: Concept, draws: NDArray[np.float64], first: int) -> Batch:
        """Compute records from drawn rows under a concept; `first` is the position of the first record."""


def _check_sequence(name: str, values: object) -> Sequence[object]:
    """Raise a TypeError for a single value where a sequence is expected, in particular for a string."""
    if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(f"{name} is {values!r}; give a list or tuple, ({values!r},) for a single one")
    return values  # type: ignore[return-value]  # an array can be used as a sequence


def _concatenate(parts: Sequence[Batch]) -> Batch:
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def _slice_blocks(block: Callable[[int], Batch], first: int, last: int) -> Batch:
    """Return records `first` to `last - 1` from the blocks that contain them."""
    parts = []
    for number in range(first // BLOCK_SIZE, (last - 1) // BLOCK_SIZE + 1):
        X, y = block(number)
        rows = slice(max(first - number * BLOCK_SIZE, 0), last - number * BLOCK_SIZE)
        parts.append((X[rows], y[rows]))
    return parts[0] if len(parts) == 1 else _concatenate(parts)
