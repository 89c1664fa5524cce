"""Stream elements on their way from source to sink: many at a time, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Item(NamedTuple):
    """One stream element.

    Parameters
    ----------
    key : object
        The name by which a later label, and whoever reads the answers, finds it.
    features : array of shape (n_features,)
        What the model sees; NaN stands for a missing value.
    arrival : float
        The instant at which it arrived, on the engine's clock in seconds; NaN before the engine has stamped it.
    deadline : float
        The instant at which its answer is due; NaN leaves it to the engine, infinity means never.
    label : object
        Its class, if it is known already; None otherwise.
    """

    key: Any
    features: NDArray[np.float64]
    arrival: float = np.nan
    deadline: float = np.nan
    label: Any = None


class Reject(NamedTuple):
    """A record that cannot be answered, and why.

    Parameters
    ----------
    reason : str
        What is wrong, with the value that is wrong.
    offset : int
        Where the record begins in its source.
    line : int, optional
        Its line number, from 1, if it came from lines of text.
    key : object, optional
        Its key, if that much is known.
    record : str
        The record as it came, shortened if it is very long.
    """

    reason: str
    offset: int
    line: int | None = None
    key: Any = None
    record: str = ""

    def described(self) -> str:
        """Where it is and what is wrong, in one line."""
        place = f"line {self.line}" if self.line is not None else f"the record at offset {self.offset}"
        return f"{place}: {self.reason}"


@dataclass(slots=True, eq=False)
class Items:
    """Stream elements in columns: row i of every column belongs to element i.

    One array operation then serves thousands of elements, which keeps Python out of the hot path.

    Parameters
    ----------
    key : array of shape (n,)
        See `Item`; any dtype.
    features : array of shape (n, n_features)
        See `Item`.
    offset : array of shape (n,), int64
        Where each element begins in its source: seek there to read it again.
    arrival, deadline : array of shape (n,)
        See `Item`.
    label : array of shape (n,), object
        See `Item`.
    sequence : array of shape (n,), int64
        The order in which the engine took the elements; -1 before.
    """

    key: NDArray[Any]
    features: NDArray[np.float64]
    offset: NDArray[np.int64]
    arrival: NDArray[np.float64]
    deadline: NDArray[np.float64]
    label: NDArray[Any]
    sequence: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        features: ArrayLike,
        *,
        key: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        arrival: ArrayLike | None = None,
        deadline: ArrayLike | None = None,
        label: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Self:
        """Elements from their features; without `offset` they are numbered, without `key` the offset is the key."""
        rows = np.ascontiguousarray(features, dtype=np.float64)
        if rows.ndim != 2:
            raise ValueError(f"features have the shape {rows.shape}; give one row to each element")
        n = len(rows)
        offsets = np.arange(n, dtype=np.int64) if offset is None else np.asarray(offset, dtype=np.int64)
        columns = cls(
            key=offsets if key is None else np.asarray(key),
            features=rows,
            offset=offsets,
            arrival=np.full(n, np.nan) if arrival is None else np.asarray(arrival, dtype=np.float64),
            deadline=np.full(n, np.nan) if deadline is None else np.asarray(deadline, dtype=np.float64),
            label=np.full(n, None, dtype=object) if label is None else _objects(label),
            sequence=np.full(n, -1, dtype=np.int64),
        )
        for name in _NAMES:
            if len(getattr(columns, name)) != n:
                raise ValueError(f"there are {n} rows of features and {len(getattr(columns, name))} of {name}")
        return columns

    @classmethod
    def none(cls, n_features: int = 0) -> Self:
        """No elements."""
        return cls.of(np.empty((0, n_features)))

    @classmethod
    def joined(cls, parts: Sequence[Items]) -> Self:
        """The elements of all parts, in order; at least one part."""
        if len(parts) == 1:
            return cls(*(getattr(parts[0], name) for name in _NAMES))
        return cls(*(_concatenated([getattr(part, name) for part in parts]) for name in _NAMES))

    def __len__(self) -> int:
        return len(self.offset)

    def __iter__(self) -> Iterator[Item]:
        rows = zip(self.key.tolist(), self.features, self.arrival, self.deadline, self.label, strict=True)
        return (Item(key, x, float(arrival), float(due), label) for key, x, arrival, due, label in rows)

    def take(self, rows: slice | NDArray[Any]) -> Items:
        """The elements of some rows: a slice shares memory, an index or a mask copies."""
        return Items(*(getattr(self, name)[rows] for name in _NAMES))


_NAMES = tuple(field.name for field in fields(Items))


def _objects(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    out = np.empty(len(values), dtype=object)
    out[:] = values if not isinstance(values, np.ndarray) else values.tolist()  # Python's own objects, not NumPy's
    return out


def _concatenated(columns: list[NDArray[Any]]) -> NDArray[Any]:
    kinds = {column.dtype.kind for column in columns}
    if len(kinds) > 1 and not kinds <= set("iuf"):  # words beside numbers: keep each as it is
        columns = [_objects(column) for column in columns]
    return np.concatenate(columns)
