"""Data of the papers' experiments: data sets by name, their digests, and folds."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from anystream.streams import Dataset, available_datasets, load_dataset
from anystream.streams.load import BUNDLED, find_file

Split = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]


SUBSTITUTES = {"optdigits": "digits"}
"""Data sets bundled with scikit-learn that are a part of another one: digits are the test records of optdigits."""


def find_present(names: tuple[str, ...]) -> dict[str, str]:
    """Return the data sets that can be loaded without a network, each with the name that it is loaded by."""
    there = available_datasets()
    found = {name: name if name in there else SUBSTITUTES.get(name, name) for name in names}
    return {name: source for name, source in found.items() if source in there}


@functools.lru_cache(maxsize=2)
def load(name: str) -> Dataset:
    """Return a data set; the last two stay in memory."""
    return load_dataset(name)


@functools.cache
def data_digest(name: str) -> str:
    """Return a hash of the file of a data set; that of its name for those bundled with scikit-learn."""
    path = find_file(name)
    if path is None:
        if name not in BUNDLED:
            raise LookupError(f"data set {name!r} has no file; leave out the cells that read it")
        return name
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.lru_cache(maxsize=4)
def fold(name: str, n_folds: int, number: int, max_train: int | None, max_test: int | None) -> Split:
    """Return training and test records of one of `n_folds` stratified folds (seed 1), of at most the given numbers.

    Records are drawn without replacement by the number of the fold; every class keeps at least two training records
    if it has them.
    """
    data = load(name)
    X, y = np.asarray(data.X, dtype=np.float64), data.y
    splits = StratifiedKFold(n_folds, shuffle=True, random_state=1).split(X, y)
    train, test = next(split for index, split in enumerate(splits) if index == number)
    rng = np.random.default_rng(number)
    train, test = _draw(rng, train, y, max_train), rng.permutation(test)[:max_test]
    return X[train], y[train], X[test], y[test]


def _draw(rng: np.random.Generator, rows: NDArray[Any], y: NDArray[np.int64], limit: int | None) -> NDArray[Any]:
    if limit is None or len(rows) <= limit:
        return rows
    rows = rng.permutation(rows)
    order = np.argsort(y[rows], kind="stable")
    rank = np.empty(len(rows), dtype=np.int64)  # position of a record within its class
    _, starts, counts = np.unique(y[rows][order], return_index=True, return_counts=True)
    rank[order] = np.arange(len(rows)) - np.repeat(starts, counts)
    return np.sort(np.concatenate([rows[rank < 2], rows[rank >= 2]])[:limit])
