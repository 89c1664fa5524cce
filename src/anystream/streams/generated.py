"""How a stream that is made by rule and chance is read: in blocks, whatever the size of the batches.

A stream is cut into blocks of `BLOCK` records. Each block has a random generator of its own, seeded with
the stream's seed and the number of the block, and is always drawn whole:

    records   0 ........ 4095 | 4096 ....... 8191 | 8192 ...
    seeded    (seed, block 0) | (seed, block 1)   | ...
    concepts  ---- first ----------|---- second ---------      drifts = (5000,)

So the content depends neither on the batches nor on where the reading starts, and a drift or noise changes
labels (and what a concept moves), never the dice.
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

from anystream.streams.parameters import real_number, whole_number

BLOCK = 4096  # records that one random generator draws: large enough that its seeding costs little

Concept = TypeVar("Concept")
Batch: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True, kw_only=True)
class GeneratedStream(ABC, Generic[Concept]):
    """A seeded stream of labelled records whose concept changes at known positions.

    The base of all generators. It holds what they share; each of them adds its concepts.

    Parameters
    ----------
    concepts : sequence
        The rules by which records get their labels, in the order in which they hold; one more than `drifts`.
    drifts : sequence of int, default=()
        Positions of the changes: ``drifts[i]`` is the first record of ``concepts[i + 1]``. Strictly rising.
    noise : float, default=0.0
        Probability that a label is wrong: it is then one of the other classes, each as likely.
    seed : int, default=0
        The same seed gives the same stream.
    n_records : int or None, default=None
        Length of the stream; None for a stream without end.

    Attributes
    ----------
    n_features : int
        Columns of X.
    n_classes : int
        The labels are 0 to ``n_classes - 1``.

    Notes
    -----
    The content does not depend on how it is read: `records`, and `batches` of any size, joined, are equal bit
    for bit, and the points of a stream stay where they are when `noise`, `n_records` or `drifts` change. The
    random numbers are NumPy's (PCG64); NumPy does not promise equal numbers in all its versions.
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
            "seed": whole_number("seed", self.seed, least=0),
            "noise": real_number(
                "noise", self.noise, wanted="the share of wrong labels, from 0 to 1", least=0.0, most=1.0
            ),
            "concepts": tuple(self._check_concept(concept) for concept in _listed("concepts", self.concepts)),
            "drifts": tuple(whole_number("a position in drifts", at, least=1) for at in _listed("drifts", self.drifts)),
        }
        if self.n_records is not None:
            checked["n_records"] = whole_number("n_records", self.n_records, least=1)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

        if len(self.concepts) != len(self.drifts) + 1:
            raise ValueError(
                f"{len(self.concepts)} concepts and {len(self.drifts)} drifts; "
                f"give one concept more than there are drifts"
            )
        for before, after in pairwise(self.drifts):
            if after <= before:
                raise ValueError(f"drifts has {after} after {before}; give positions that rise")
        if self.n_records is not None and self.drifts and self.drifts[-1] >= self.n_records:
            raise ValueError(
                f"the drift at {self.drifts[-1]} lies past the end of a stream of {self.n_records} records; "
                f"leave it out or give a larger n_records"
            )

    @property
    def classes(self) -> NDArray[np.int64]:
        """All labels of the stream, whether or not they have appeared: what `partial_fit` asks for."""
        return np.arange(self.n_classes)

    def concept_at(self, position: int) -> Concept:
        """Answer the concept that holds at a position of the stream."""
        return self.concepts[bisect_right(self.drifts, whole_number("position", position, least=0))]

    def batches(self, size: int, *, start: int = 0) -> Iterator[Batch]:
        """Iterate over batches ``(X, y)`` of `size` records from position `start` on.

        X is float64 of shape (size, n_features), y int64 of shape (size,). The last batch of a finite stream
        may be smaller.
        """
        return self._batches(
            whole_number("size", size, least=1), whole_number("start", start, least=0)
        )  # checked now, not when the first batch is asked for

    def records(self, *, start: int = 0) -> Iterator[tuple[NDArray[np.float64], int]]:
        """Iterate over single records ``(x, y)`` from position `start` on; x has shape (n_features,)."""
        batches = self.batches(BLOCK, start=start)
        return ((x, label) for X, y in batches for x, label in zip(X, y.tolist(), strict=True))

    def take(self, n: int, *, start: int = 0) -> Batch:
        """Answer the `n` records from position `start` on as one ``(X, y)``."""
        first = whole_number("start", start, least=0)
        last = first + whole_number("n", n, least=1)
        if self.n_records is not None and last > self.n_records:
            raise ValueError(
                f"records {first} to {last - 1} asked of a stream of {self.n_records}; "
                f"take fewer, or give the stream a larger n_records"
            )
        return _cut(self._block, first, last)

    def _batches(self, size: int, start: int) -> Iterator[Batch]:
        block = lru_cache(maxsize=1)(self._block)  # neighbouring batches share a block
        for first in count(start, size):
            last = first + size if self.n_records is None else min(first + size, self.n_records)
            if first >= last:
                return
            yield _cut(block, first, last)

    def _block(self, number: int) -> Batch:
        """Draw all records of one block, also those past the end of the stream."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
        start = number * BLOCK
        draws = self._draw(rng, BLOCK)
        inner = self.drifts[bisect_right(self.drifts, start) : bisect_right(self.drifts, start + BLOCK - 1)]
        parts = [
            self._apply(self.concept_at(first), draws[first - start : last - start], first)
            for first, last in pairwise([start, *inner, start + BLOCK])
        ]
        X, y = parts[0] if len(parts) == 1 else _join(parts)
        if self.noise > 0.0:
            wrong = rng.random(BLOCK) < self.noise
            shift = rng.integers(1, self.n_classes, BLOCK)  # to any class but the right one
            y = np.where(wrong, (y + shift) % self.n_classes, y)
        return X, y

    @abstractmethod
    def _check_concept(self, concept: object) -> Concept:
        """Answer the concept as it is kept, or raise."""

    @abstractmethod
    def _draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw the part of `size` records that chance decides, one row each: the same under all concepts."""

    @abstractmethod
    def _apply(self, concept: Concept, draws: NDArray[np.float64], first: int) -> Batch:
        """Make records of drawn rows; `first` is the position of the first one."""


def _listed(name: str, values: object) -> Sequence[object]:
    """Refuse a single value where several are meant, above all a string, whose letters would be taken."""
    if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(f"{name} is {values!r}; give a list or tuple, ({values!r},) for a single one")
    return values  # type: ignore[return-value]  # an array of numbers serves as a sequence of them


def _join(parts: Sequence[Batch]) -> Batch:
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def _cut(block: Callable[[int], Batch], first: int, last: int) -> Batch:
    """Cut records `first` to `last - 1` out of the blocks that hold them."""
    parts = []
    for number in range(first // BLOCK, (last - 1) // BLOCK + 1):
        X, y = block(number)
        rows = slice(max(first - number * BLOCK, 0), last - number * BLOCK)
        parts.append((X[rows], y[rows]))
    return parts[0] if len(parts) == 1 else _join(parts)
