"""Records from the cells of a table: features, labels, keys and times by a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.schema import Encoded, Schema
from anystream.runtime.contracts import PollResult
from anystream.runtime.records import Records, RejectedRecord, printable_key, shorten

_WRITTEN_AS_TEXT = (date, datetime, time, timedelta, Decimal)  # keys of a typed table


def encode_records(
    schema: Schema,
    table: Mapping[str, Sequence[Any]],
    offset: NDArray[np.int64],
    *,
    default_key: NDArray[Any],
    line: NDArray[np.int64] | None = None,
    show: Callable[[int], str],
    features: NDArray[np.float64] | None = None,
) -> PollResult:
    """Return the well-formed records of a table, and the malformed ones with the reason.

    If a cell is malformed in a way that nobody thought of, the table is halved until its record is found.

    Parameters
    ----------
    schema : Schema
        The meaning of the columns.
    table : mapping of str to cells
        Columns by name.
    offset : array of shape (n_records,)
        Where each record begins in its source.
    default_key : array of shape (n_records,)
        Keys for a table without the schema's key column.
    line : array of shape (n_records,), optional
        Line number of each record.
    show : callable
        Return the text of a record from its row.
    features : array of shape (n_records, n_features), optional
        The inputs of the model, if they were read as numbers already; they are then not taken from `table`.
    """
    n = len(offset)
    lines = np.zeros(n, dtype=np.int64) if line is None else line
    try:
        encoded = schema.encode(table, n) if features is None else Encoded(features, {}, {})
        return _encode(schema, encoded, table, offset, default_key, lines, show)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        if n == 1:
            reason = f"the record cannot be read: {error or type(error).__name__}"
            return PollResult(Records.empty(schema.n_features), [_reject(reason, offset[0], lines[0], None, show, 0)])
        halves = [
            encode_records(
                schema,
                {name: cells[rows] for name, cells in table.items()},
                offset[rows],
                default_key=default_key[rows],
                line=lines[rows],
                show=lambda row, first=rows.start: show(first + row),  # type: ignore[misc]  # `first` has a default
                features=None if features is None else features[rows],
            )
            for rows in (slice(0, n // 2), slice(n // 2, n))
        ]
        rejected = [found for half in halves for found in half.rejected]
        return PollResult(Records.concatenate([half.records for half in halves]), rejected)


def _encode(
    schema: Schema,
    encoded: Encoded,
    table: Mapping[str, Sequence[Any]],
    offset: NDArray[np.int64],
    default_key: NDArray[Any],
    line: NDArray[np.int64],
    show: Callable[[int], str],
) -> PollResult:
    n = len(offset)
    features, errors, unknown = encoded
    labels, times, keys = (
        table.get(name) if name is not None else None for name in (schema.label, schema.time, schema.key)
    )
    label = None if labels is None else schema.encode_labels(labels, errors)
    arrival = None if times is None else schema.encode_times(times, errors)
    key = default_key if keys is None else _to_array(keys)
    records = Records.from_features(
        features,
        key=key,
        offset=offset,
        line=line,
        arrival=arrival,
        label=label,
        unknown=unknown,
        kept=list(zip(*(table[name] for name in schema.keep), strict=True)) if schema.keep else None,
    )
    if not errors:
        return PollResult(records)
    rejected = [_reject(reason, offset[row], line[row], key[row], show, row) for row, reason in sorted(errors.items())]
    valid = np.ones(n, dtype=np.bool_)
    valid[list(errors)] = False
    return PollResult(records.take(valid), rejected)


def _to_array(cells: Sequence[Any]) -> NDArray[Any]:
    keys = (str(cell) if isinstance(cell, _WRITTEN_AS_TEXT) else cell for cell in cells)
    return np.fromiter(keys, dtype=object, count=len(cells))


def _reject(
    reason: str, offset: np.int64, line: np.int64, key: Any, show: Callable[[int], str], row: int
) -> RejectedRecord:
    return RejectedRecord(reason, int(offset), int(line) or None, printable_key(key), shorten(show(row)))
