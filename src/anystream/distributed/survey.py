"""First pass over the parts: their sizes and columns, and a sample of their records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.encode_table import encode_table
from anystream.connectors.file_formats import Chunks
from anystream.connectors.schema import Schema, SchemaError
from anystream.connectors.schema_inference import SchemaInference
from anystream.distributed.parts import ColumnRoles, as_labels, is_pair, open_table


class SampledRows(NamedTuple):
    """Records drawn from one part, the first n of which are a sample, too.

    Parameters
    ----------
    position : array of shape (n,)
        Their positions in the part.
    records : array, or list of dict
        Records of a pair; rows of a table as they were read, by column.
    labels : array or None
        Labels of a pair.
    """

    position: NDArray[np.int64]
    records: Any
    labels: NDArray[Any] | None


class Survey(NamedTuple):
    """What is known about a part before any is fitted.

    Parameters
    ----------
    n_records : int
        Number of records.
    inference : SchemaInference or None
        What its columns hold; None for a pair.
    sample : SampledRows
        Some records.
    """

    n_records: int
    inference: SchemaInference | None
    sample: SampledRows


def survey_part(name: str, content: Any, number: int, roles: ColumnRoles, max_sampled: int, seed: int) -> Survey:
    """Read a part once; a table that cannot be read raises.

    Parameters
    ----------
    name, content : str and object
        See `Part`.
    number : int
        Number of the part, for the seed of its sample.
    roles : ColumnRoles
        Columns with a meaning of their own.
    max_sampled : int
        Maximum number of records in the sample.
    seed : int
        Seed of the sample.
    """
    random = np.random.default_rng((seed, number))
    if is_pair(content):
        X, y = _as_rows(content[0]), np.asarray(content[1])
        if len(X) != len(y):
            raise ValueError(f"{name} has {len(X)} records and {len(y)} labels; give as many of both")
        position = random.permutation(len(y))[:max_sampled]
        return Survey(len(y), None, SampledRows(position, X[position], y[position]))
    if roles.label is None:
        raise ValueError(f"{name} is a table; name the column of the class label with label=")
    table = open_table(name, content, roles)
    inference = SchemaInference(
        label=roles.label,
        key=roles.key,
        time=roles.time,
        ignore=roles.ignore,
        categorical=roles.categorical,
        numeric=roles.numeric,
        unit=table.unit,
        coded=roles.coded,
    )
    rows = _RowSample(max_sampled, random)
    for columns, places in table.chunks():
        inference.update(columns, places)
        rows.update(columns, len(places))
    if inference.n_records == 0:
        raise SchemaError(f"{name}: there are no records")
    return Survey(inference.n_records, inference, rows.finish())


def merge_schemas(surveys: Sequence[Survey]) -> Schema | None:
    """Return the schema of all parts; None for pairs."""
    found = [survey.inference for survey in surveys if survey.inference is not None]
    if not found:
        return None
    if len(found) < len(surveys):
        raise TypeError("some parts are pairs (X, y) and some are tables; give parts of one kind")
    whole, *others = found
    for other in others:
        whole.add(other)
    return whole.finish()


def draw_sample(surveys: Sequence[Survey], schema: Schema | None, n_wanted: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return records and labels of all parts, from each in proportion to its size, in their order.

    All records are returned if there are no more than `n_wanted`, and each part's sample holds all of its own.
    """
    total = sum(survey.n_records for survey in surveys)
    records, labels = [], []
    for survey in surveys:
        n = survey.n_records if total <= n_wanted else max(1, n_wanted * survey.n_records // total)
        order = np.argsort(survey.sample.position[:n])
        own_records, own_labels = _encode_rows(survey.sample, order, schema)
        records.append(own_records)
        labels.append(own_labels)
    return np.concatenate(records), np.concatenate(labels)


def _encode_rows(
    sample: SampledRows, order: NDArray[np.int64], schema: Schema | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    if schema is None:
        assert sample.labels is not None  # a pair has them
        return sample.records[order], sample.labels[order]
    rows = [sample.records[at] for at in order.tolist()]
    names = dict.fromkeys(name for row in rows for name in row)
    table = _RowTable({name: [row.get(name) for row in rows] for name in names}, (sample.position[order] + 1).tolist())
    features, labels, _, _ = encode_table(schema, table, labelled=True)
    return features, as_labels(labels)


class _RowTable(NamedTuple):
    """The sampled rows of a part as a table."""

    columns: dict[str, list[Any]]
    places: list[int]
    name: str = "the sample"
    unit: str = "record"

    def chunks(self) -> Chunks:
        yield self.columns, self.places


class _RowSample:
    """Draws rows of a table that is read in pieces: every row gets a random number, and the lowest stay."""

    def __init__(self, max_rows: int, random: np.random.Generator) -> None:
        self._max_rows, self._random = max_rows, random
        self._limit, self._n_read = 1.0, 0
        self._rows: list[tuple[float, int, dict[str, Any]]] = []

    def update(self, columns: Any, n: int) -> None:
        drawn = self._random.random(n)
        for row in np.flatnonzero(drawn < self._limit).tolist():
            cells = {name: column[row] for name, column in columns.items()}
            self._rows.append((float(drawn[row]), self._n_read + row, cells))
        self._n_read += n
        if len(self._rows) > 2 * self._max_rows:
            self._trim()

    def finish(self) -> SampledRows:
        self._trim()
        position = np.array([position for _, position, _ in self._rows], dtype=np.int64)
        return SampledRows(position, [cells for _, _, cells in self._rows], None)

    def _trim(self) -> None:
        self._rows.sort(key=lambda row: row[:2])
        del self._rows[self._max_rows :]
        if len(self._rows) == self._max_rows:
            self._limit = self._rows[-1][0]


def _as_rows(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else np.asarray(X)
