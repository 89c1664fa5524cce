"""Parts of a data set: arrays, tables, files, datasets and object references of Ray."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.encode_table import encode_table
from anystream.connectors.file_formats import Chunks, ReadableTable, Table
from anystream.connectors.schema import Schema

_CHUNK = 8192  # records of a table in memory that are read at a time


class Part(NamedTuple):
    """One part of a data set.

    Parameters
    ----------
    name : str
        The path of a file, otherwise the number of the part; for messages.
    content : object
        A pair of records and labels, a table in memory, the path of a file, or a reference to one of them in Ray.
    """

    name: str
    content: Any


@dataclass(frozen=True, kw_only=True)
class ColumnRoles:
    """The columns of a table that have a meaning of their own; see `SchemaInference`.

    Parameters
    ----------
    label : str, optional
        Column of the class label. Tables and files need it.
    key, time : str, optional
        Columns of the record key and of its time, which are no features.
    ignore, categorical, numeric : sequence of str
        Columns to leave out, columns of categories, columns of numbers.
    coded : bool, default=False
        Whether a column of categories becomes one feature.
    table_format, delimiter : str, optional
        Format and delimiter of files; recognised by default.
    """

    label: str | None = None
    key: str | None = None
    time: str | None = None
    ignore: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    coded: bool = False
    table_format: str | None = None
    delimiter: str | None = None


def list_parts(parts: Any) -> list[Part]:
    """Return the parts in their order; the files of a glob are sorted by name.

    Parameters
    ----------
    parts : path, glob, dataset of Ray, or iterable
        An iterable has paths, globs, pairs ``(X, y)``, tables (Arrow, pandas, polars) or object references of Ray.
    """
    if isinstance(parts, str | os.PathLike):
        parts = [parts]
    elif hasattr(parts, "to_arrow_refs"):  # a dataset of Ray
        parts = parts.to_arrow_refs()
    if isinstance(parts, Mapping) or not isinstance(parts, Iterable):
        raise TypeError(f"parts is a {type(parts).__name__}; give paths, pairs (X, y), tables or a dataset of Ray")
    found: list[Part] = []
    for content in parts:
        if isinstance(content, str | os.PathLike):
            found += [Part(path, os.path.abspath(path)) for path in list_files(os.fspath(content))]
        else:
            found.append(Part(f"part {len(found)}", content))
    if not found:
        raise ValueError("there are no parts; give at least one")
    return found


def list_files(pattern: str) -> list[str]:
    """Return the files of a glob by name, or the one path; FileNotFoundError if a glob has none."""
    if not glob.has_magic(pattern) or os.path.exists(pattern):
        return [pattern]
    files = sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))
    if not files:
        raise FileNotFoundError(f"no file matches {pattern}; check the pattern, or name the files")
    return files


def is_pair(content: Any) -> bool:
    """Whether a part is a pair of records and labels."""
    return isinstance(content, tuple | list) and len(content) == 2


def open_table(name: str, content: Any, roles: ColumnRoles) -> ReadableTable:
    """Return the table of a part that is no pair."""
    if isinstance(content, str | os.PathLike):
        return Table(os.fspath(content), roles.table_format, roles.delimiter)
    return MemoryTable(name, content)


def read_part(name: str, content: Any, schema: Schema | None, roles: ColumnRoles) -> tuple[Any, Any]:
    """Return the records and labels of a part."""
    if is_pair(content):
        return content[0], content[1]
    assert schema is not None  # the survey has found it
    features, labels, _, _ = encode_table(schema, open_table(name, content, roles), labelled=True)
    return features, as_labels(labels)


def as_labels(labels: Sequence[Any] | None) -> NDArray[Any]:
    """Return labels as an array."""
    return np.array(labels)


class MemoryTable:
    """A table in memory: of Arrow, pandas or polars.

    Parameters
    ----------
    name : str
        Name for messages.
    table : table
        The table.
    """

    unit = "record"

    def __init__(self, name: str, table: Any) -> None:
        self.name = name
        table = table.to_arrow() if hasattr(table, "to_arrow") else table  # polars
        if not hasattr(table, "to_pydict") and not hasattr(table, "iloc"):
            raise TypeError(f"{name} is a {type(table).__name__}; give a pair (X, y), a table or the path of a file")
        self._table = table

    def chunks(self) -> Chunks:
        """Yield the table in pieces."""
        n = len(self._table)
        for first in range(0, max(n, 1), _CHUNK):
            last = min(first + _CHUNK, n)
            yield self._columns(first, last), range(first + 1, last + 1)

    def _columns(self, first: int, last: int) -> dict[str, list[Any]]:
        if hasattr(self._table, "to_pydict"):
            columns: dict[str, list[Any]] = self._table.slice(first, last - first).to_pydict()
            return columns
        return {str(name): cells for name, cells in self._table.iloc[first:last].to_dict("list").items()}
