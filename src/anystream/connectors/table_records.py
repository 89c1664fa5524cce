"""Records from the cells of a table: features, labels, keys and times by a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.schema import Schema
from anystream.runtime.contracts import PollResult
from anystream.runtime.records import Records, RejectedRecord, shorten


def encode_records(
    schema: Schema,
    table: Mapping[str, Sequence[Any]],
    offset: NDArray[np.int64],
    *,
    default_key: NDArray[Any],
    line: Callable[[int], int | None],
    show: Callable[[int], str],
) -> PollResult:
    """Return the well-formed records of a table, and the malformed ones with the reason.

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
    line, show : callable
        Return the line number, if there is one, and the text of a record from its row.
    """
    n = len(offset)
    features, errors = schema.encode(table, n)
    labels, times, keys = (
        table.get(name) if name is not None else None for name in (schema.label, schema.time, schema.key)
    )
    label = None if labels is None else schema.encode_labels(labels, errors)
    arrival = None if times is None else schema.encode_times(times, errors)
    key = default_key if keys is None else _to_array(keys)
    records = Records.from_features(features, key=key, offset=offset, arrival=arrival, label=label)
    if not errors:
        return PollResult(records)
    rejected = [
        RejectedRecord(reason, int(offset[row]), line(row), key[row], shorten(show(row)))
        for row, reason in sorted(errors.items())
    ]
    valid = np.ones(n, dtype=np.bool_)
    valid[list(errors)] = False
    return PollResult(records.take(valid), rejected)


def _to_array(cells: Sequence[Any]) -> NDArray[Any]:
    keys = np.empty(len(cells), dtype=object)
    keys[:] = cells
    return keys
