"""Records of a stream on their way from source to sink, stored in columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MAX_SHOWN = 500  # characters of a rejected record that the dead letters keep


class Record(NamedTuple):
    """One record of a stream.

    Parameters
    ----------
    key : object
        The identifier by which a later label and the readers of the answers refer to the record.
    features : array of shape (n_features,)
        The input of the model; NaN stands for a missing value.
    arrival : float
        The instant at which it arrived, in seconds on the engine's clock; NaN until the engine sets it.
    deadline : float
        The instant at which its answer is due, in seconds on the engine's clock; NaN leaves it to the engine, infinity
        means never.
    label : object
        Its class, if it is already known; None otherwise.
    """

    key: Any
    features: NDArray[np.float64]
    arrival: float = np.nan
    deadline: float = np.nan
    label: Any = None


class Origin(NamedTuple):
    """Where a record of a broker came from, and what the broker stores of it.

    Parameters
    ----------
    broker : str
        Kind of broker, such as "kafka".
    stream : str
        Topic, stream or subject.
    partition : str
        Partition of it; empty if the broker has none.
    position : str
        Place of the message in its partition, as the broker writes it.
    value : bytes or None
        The message, byte for byte; None if its headers are all it has.
    key : bytes, optional
        Its key, if the broker has keys.
    headers : tuple of (str, bytes)
        Its headers.
    time_s : float, optional
        When the broker stored it, in seconds since 1970.
    """

    broker: str
    stream: str
    partition: str
    position: str
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    time_s: float | None = None

    @property
    def identity(self) -> str:
        """The place of the message as one text, the same at every delivery."""
        return ":".join(filter(None, (self.broker, self.stream, self.partition, self.position)))


class RejectedRecord(NamedTuple):
    """A record that was not classified, and the reason.

    Parameters
    ----------
    reason : str
        What is wrong, with the value that is wrong.
    offset : int
        Where the record begins in its source.
    line : int, optional
        Its line number, from 1, if it came from lines of text.
    key : object, optional
        Its key, if it could be read.
    record : str
        The content of the record, shortened if it is very long.
    origin : Origin, optional
        The message that the record came in, if it came from a broker.
    """

    reason: str
    offset: int
    line: int | None = None
    key: Any = None
    record: str = ""
    origin: Origin | None = None

    def describe(self) -> str:
        """Return where the record is and what is wrong with it, in one line."""
        if self.origin is not None:
            place = self.origin.identity
        else:
            place = f"line {self.line}" if self.line is not None else f"the record at offset {self.offset}"
        return f"{place}: {self.reason}"


def shorten(text: str) -> str:
    """Return the beginning of a rejected record's text, at the length that dead letters keep."""
    return text[:_MAX_SHOWN]


def show_value(value: Any) -> str:
    """Return the source text of any value, shortened; never raises.

    Examples
    --------
    >>> show_value("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    try:
        text = repr(value[:_MAX_SHOWN] if isinstance(value, str) else value)
    except Exception:  # such as an integer of thousands of digits
        return f"a value of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= 60 else text[:57] + "..."


def printable_key(key: Any) -> Any:
    """Return a key as dead letters and checkpoints can hold it: None, a number, or a text that is not too long."""
    if isinstance(key, np.generic):
        key = key.item()
    if key is None or isinstance(key, bool | int) or (isinstance(key, float) and math.isfinite(key)):
        return key
    return shorten(key.encode("utf-8", "backslashreplace").decode()) if isinstance(key, str) else show_value(key)


@dataclass(slots=True, eq=False)
class Records:
    """Records in columns: row i of every column belongs to record i.

    One array operation then covers thousands of records, so the hot path spends little time in Python.

    Parameters
    ----------
    key : array of shape (n,)
        See `Record`; any dtype.
    features : array of shape (n, n_features)
        See `Record`.
    offset : array of shape (n,), int64
        Where each record begins in its source: seek there to read it again.
    line : array of shape (n,), int64
        Line number of each record, from 1, if it came from lines of text; otherwise 0.
    arrival, deadline : array of shape (n,)
        See `Record`.
    label : array of shape (n,), object
        See `Record`.
    sequence : array of shape (n,), int64
        The order in which the engine took the records; -1 before that.
    unknown : array of shape (n,), object
        What the source did not know and replaced by a missing value, such as a new category; None otherwise.
    kept : array of shape (n,), object
        Cells that go into the answer as they are, a tuple per record; None without any.
    """

    key: NDArray[Any]
    features: NDArray[np.float64]
    offset: NDArray[np.int64]
    line: NDArray[np.int64]
    arrival: NDArray[np.float64]
    deadline: NDArray[np.float64]
    label: NDArray[Any]
    sequence: NDArray[np.int64]
    unknown: NDArray[Any]
    kept: NDArray[Any]

    @classmethod
    def from_features(
        cls,
        features: ArrayLike,
        *,
        key: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        line: ArrayLike | None = None,
        arrival: ArrayLike | None = None,
        deadline: ArrayLike | None = None,
        label: Sequence[Any] | NDArray[Any] | None = None,
        unknown: Mapping[int, str] | None = None,
        kept: Sequence[tuple[Any, ...]] | None = None,
    ) -> Self:
        """Make records; without `offset` they are numbered from 0, without `key` the offset is the key.

        Without `label`, `unknown` or `kept`, that column of None can be replaced, but not written to.
        """
        rows = np.ascontiguousarray(features, dtype=np.float64)
        if rows.ndim != 2:
            raise ValueError(f"features have the shape {rows.shape}; give a matrix with one row per record")
        n = len(rows)
        offsets = np.arange(n, dtype=np.int64) if offset is None else np.asarray(offset, dtype=np.int64)
        records = cls(
            key=offsets if key is None else _as_keys(key),
            features=rows,
            offset=offsets,
            line=np.zeros(n, dtype=np.int64) if line is None else np.asarray(line, dtype=np.int64),
            arrival=np.full(n, np.nan) if arrival is None else np.asarray(arrival, dtype=np.float64),
            deadline=np.full(n, np.nan) if deadline is None else np.asarray(deadline, dtype=np.float64),
            label=_no_objects(n) if label is None else _as_objects(label),
            sequence=np.full(n, -1, dtype=np.int64),
            unknown=np.full(n, None, dtype=object) if unknown else _no_objects(n),
            kept=_no_objects(n) if kept is None else _as_objects(kept),
        )
        for row, reason in (unknown or {}).items():
            records.unknown[row] = reason
        for name in _COLUMNS:
            if len(getattr(records, name)) != n:
                raise ValueError(
                    f"there are {n} rows of features and {len(getattr(records, name))} of {name}; give one per record"
                )
        return records

    @classmethod
    def empty(cls, n_features: int = 0) -> Self:
        """Make a container without records."""
        return cls.from_features(np.empty((0, n_features)))

    @classmethod
    def concatenate(cls, parts: Sequence[Records]) -> Self:
        """Return the records of all parts, in order; there must be at least one part."""
        if len(parts) == 1:
            return cls(*(getattr(parts[0], name) for name in _COLUMNS))
        return cls(*(_concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))

    def __len__(self) -> int:
        return len(self.offset)

    def __iter__(self) -> Iterator[Record]:
        rows = zip(self.key.tolist(), self.features, self.arrival, self.deadline, self.label, strict=True)
        return (Record(key, x, float(arrival), float(due), label) for key, x, arrival, due, label in rows)

    def take(self, rows: slice | NDArray[Any]) -> Records:
        """Return the records of some rows: a slice shares memory, an index or a mask copies."""
        return Records(  # written out: this is called several times in every turn of the engine
            self.key[rows],
            self.features[rows],
            self.offset[rows],
            self.line[rows],
            self.arrival[rows],
            self.deadline[rows],
            self.label[rows],
            self.sequence[rows],
            self.unknown[rows],
            self.kept[rows],
        )

    def reject(self, reason: str) -> list[RejectedRecord]:
        """Return all of these records as rejected, for one reason."""
        rows = zip(self.offset.tolist(), self.line.tolist(), self.key.tolist(), self.features.tolist(), strict=True)
        return [
            RejectedRecord(reason, offset, line or None, printable_key(key), shorten(str(x)))
            for offset, line, key, x in rows
        ]

    def with_labels(self, labels: Sequence[Any]) -> Records:
        """Return the same records with other labels."""
        return replace(self, label=_as_objects(labels))


_COLUMNS = tuple(field.name for field in fields(Records))
_NO_OBJECT = np.full(1, None, dtype=object)


def is_given(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values of a column of objects are not None."""
    if column.strides == (0,) and len(column):  # one value for all records
        return np.full(len(column), column[0] is not None)
    return np.asarray(column != None)  # noqa: E711  compared element by element


def _as_keys(keys: ArrayLike) -> NDArray[Any]:
    """Return integers as an array of integers, anything else as objects: the width of a text costs nobody else."""
    given = keys if isinstance(keys, np.ndarray | list | tuple) else np.asarray(keys)
    if not isinstance(given, np.ndarray):
        if not all(type(key) is int and abs(key) < 2**63 for key in given):
            return _as_objects(given)
        given = np.asarray(given, dtype=np.int64)
    return given if given.dtype.kind in "iuO" else _as_objects(given)


def _no_objects(n: int) -> NDArray[Any]:
    """Return a column of None, which takes no memory and cannot be written to."""
    return np.broadcast_to(_NO_OBJECT, n)


def _as_objects(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    if isinstance(values, np.ndarray) and values.dtype == object:
        return values
    plain = values.tolist() if isinstance(values, np.ndarray) else values  # Python objects, not NumPy scalars
    return np.fromiter(plain, dtype=object, count=len(values))


def _concatenate(columns: list[NDArray[Any]]) -> NDArray[Any]:
    kinds = {column.dtype.kind for column in columns}
    if len(kinds) > 1 and not kinds <= set("iuf"):  # texts and numbers: NumPy would turn the numbers into texts
        columns = [_as_objects(column) for column in columns]
    return np.concatenate(columns)
