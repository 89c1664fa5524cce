"""Data sets by name: bundled with scikit-learn, from a file in the data directory, or from OpenML."""

import os
import warnings
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from anystream.streams.dataset import Dataset
from anystream.streams.npz import read_npz, write_npz

BUNDLED = ("breast_cancer", "digits", "iris", "wine")
PREFIXES = ("", "uci_", "ucr_")


class DatasetNotFoundError(LookupError):
    """No data set has the given name; the message lists the places that were searched."""


def load_dataset(name: str) -> Dataset:
    """Return the data set with the given name, from the first place that has it.

    1. Bundled with scikit-learn: breast_cancer, digits, iris, wine.
    2. A file ``<name>.npz``, ``uci_<name>.npz`` or ``ucr_<name>.npz`` in the data directory, which is set by the
       environment variable ``ANYSTREAM_DATA`` and is ``~/.cache/anystream`` by default. The arrays of such a file are
       listed in `anystream.streams.npz`.
    3. OpenML, by scikit-learn's ``fetch_openml``; the result is stored in the data directory as ``<name>.npz``.

    Parameters
    ----------
    name : str
        A name that `available_datasets` lists, or the name of a data set on OpenML.

    Raises
    ------
    DatasetNotFoundError
        If no place has the data set, or OpenML cannot be reached.
    ValueError
        If the file is damaged or is not a classification data set.

    Examples
    --------
    >>> wine = load_dataset("wine")
    >>> wine
    Dataset('wine': 178 records, 13 features, 3 classes)
    >>> wine.feature_names[:2], wine.X.dtype
    (('alcohol', 'malic_acid'), dtype('float64'))
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a data set is {name!r}; give a string such as 'iris'")
    if not _is_valid_name(name):
        raise ValueError(f"the name of a data set is {name!r}; give a name without a path, such as 'iris'")
    if name in BUNDLED:
        return _load_bundled(name)
    path = find_file(name)
    return _fetch(name) if path is None else read_npz(name, path)


def available_datasets() -> tuple[str, ...]:
    """Return the names that `load_dataset` can load offline: bundled data sets and files in the data directory.

    Examples
    --------
    >>> "iris" in available_datasets()
    True
    """
    names = set(BUNDLED)
    for path in _data_directory().glob("*.npz"):
        shortest_first = sorted({path.stem.removeprefix(prefix) for prefix in PREFIXES}, key=len)
        names_of_file = [name for name in shortest_first if _is_valid_name(name) and find_file(name) == path]
        names.update(names_of_file[:1])
    return tuple(sorted(names))


def _data_directory() -> Path:
    return Path(os.environ.get("ANYSTREAM_DATA") or "~/.cache/anystream").expanduser()


def _is_valid_name(name: str) -> bool:
    """Whether a name is a file stem without a path."""
    return name != "" and not name.startswith(".") and not any(character in name for character in "/\\\0")


def find_file(name: str) -> Path | None:
    """Return the file that `load_dataset` reads for a name; None for a bundled data set or if there is no file."""
    if name in BUNDLED:
        return None
    paths = (_data_directory() / f"{prefix}{name}.npz" for prefix in PREFIXES)
    return next((path for path in paths if path.is_file()), None)


def _load_bundled(name: str) -> Dataset:
    from sklearn import datasets  # imported here because generated streams do not need it

    bunch = getattr(datasets, f"load_{name}")()
    return Dataset(
        name=name,
        X=np.ascontiguousarray(bunch.data, dtype=np.float64),
        y=bunch.target.astype(np.int64),
        feature_names=tuple(map(str, bunch.feature_names)),
        class_names=tuple(map(str, bunch.target_names)),
    )


def _fetch(name: str) -> Dataset:
    """Fetch from OpenML and store a copy; files in scikit-learn's own cache would be parsed again at each load."""
    from sklearn.datasets import fetch_openml

    try:
        # this parser does not need pandas and returns categorical columns as codes
        bunch = fetch_openml(name, cache=False, as_frame=False, parser="liac-arff", n_retries=1)
    except (OSError, HTTPException, ValueError, LookupError) as error:  # offline, unknown or malformed
        raise DatasetNotFoundError(_not_found_message(name, error)) from error
    dataset = _from_openml(name, bunch)
    try:
        write_npz(dataset, _data_directory() / f"{name}.npz")
    except OSError as error:
        warnings.warn(f"{name} could not be stored and will be fetched again next time: {error}", stacklevel=3)
    return dataset


def _from_openml(name: str, bunch: Any) -> Dataset:
    if bunch.target is None or np.ndim(bunch.target) != 1 or np.asarray(bunch.target).dtype.kind == "f":
        raise ValueError(
            f"{name} on OpenML does not have a single column of class labels; choose a classification data set"
        )
    classes, y = np.unique(bunch.target.astype(str), return_inverse=True)
    X = bunch.data.astype(np.float64)
    feature_names = tuple(map(str, bunch.feature_names))
    categories = {str(column): tuple(map(str, labels)) for column, labels in (bunch.categories or {}).items()}
    return Dataset(
        name=name,
        X=np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X.tocsr(),
        y=y.astype(np.int64),
        feature_names=feature_names,
        class_names=tuple(map(str, classes)),
        categorical=tuple(column for column, feature in enumerate(feature_names) if feature in categories),
        categories=categories,
    )


def _not_found_message(name: str, error: Exception) -> str:
    directory = _data_directory()
    files = ", ".join(f"{prefix}{name}.npz" for prefix in PREFIXES)
    missing = "" if directory.is_dir() else " (no such directory)"
    return (
        f"data set {name!r} not found: it is not bundled with scikit-learn, none of the files {files} exists in "
        f"{directory}{missing}, and fetching it from OpenML failed ({type(error).__name__}: {error}). Put such a file "
        f"there, or set ANYSTREAM_DATA to the directory that contains it. Available offline: "
        f"{', '.join(available_datasets())}"
    )
