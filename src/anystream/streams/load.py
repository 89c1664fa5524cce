"""Where a data set of a given name is found: with scikit-learn, in a file of the data home, or on OpenML."""

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


class DatasetNotFound(LookupError):  # noqa: N818  # says it without the suffix
    """No data set of that name could be found; the message says where it was looked for."""


def load_dataset(name: str) -> Dataset:
    """Answer the data set of a name, from the first place that has it.

    1. Bundled with scikit-learn: breast_cancer, digits, iris, wine.
    2. A file ``<name>.npz``, ``uci_<name>.npz`` or ``ucr_<name>.npz`` in the data home: the directory that
       the environment variable ``ANYSTREAM_DATA`` names, else ``~/.cache/anystream``. The arrays that such a
       file holds are listed in `anystream.streams.npz`.
    3. OpenML, by scikit-learn's ``fetch_openml``; what it gives is kept in the data home as ``<name>.npz``.

    Parameters
    ----------
    name : str
        As `available_datasets` lists it, or as OpenML knows it.

    Raises
    ------
    DatasetNotFound
        If no place has it, or OpenML cannot be reached.
    ValueError
        If the file is damaged or holds no classification data.

    Examples
    --------
    >>> wine = load_dataset("wine")
    >>> wine
    Dataset('wine': 178 records, 13 features, 3 classes)
    >>> wine.feature_names[:2], wine.X.dtype
    (('alcohol', 'malic_acid'), dtype('float64'))
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a data set is {name!r}; give a string, say 'iris'")
    if not _is_plain(name):
        raise ValueError(f"the name of a data set is {name!r}; give a plain name without a path, say 'iris'")
    if name in BUNDLED:
        return _bundled(name)
    path = _file_of(name)
    return _fetched(name) if path is None else read_npz(name, path)


def available_datasets() -> tuple[str, ...]:
    """Names that `load_dataset` answers without network: the bundled sets and the files of the data home.

    Examples
    --------
    >>> "iris" in available_datasets()
    True
    """
    names = set(BUNDLED)
    for path in _data_home().glob("*.npz"):
        short_first = sorted({path.stem.removeprefix(prefix) for prefix in PREFIXES}, key=len)
        leading_here = [name for name in short_first if _is_plain(name) and _file_of(name) == path]
        names.update(leading_here[:1])
    return tuple(sorted(names))


def _data_home() -> Path:
    return Path(os.environ.get("ANYSTREAM_DATA") or "~/.cache/anystream").expanduser()


def _is_plain(name: str) -> bool:
    return name != "" and not name.startswith(".") and not any(mark in name for mark in "/\\\0")


def _file_of(name: str) -> Path | None:
    """Answer the file that a name leads to; a bundled set comes before it."""
    if name in BUNDLED:
        return None
    paths = (_data_home() / f"{prefix}{name}.npz" for prefix in PREFIXES)
    return next((path for path in paths if path.is_file()), None)


def _bundled(name: str) -> Dataset:
    from sklearn import datasets  # only here: a stream of one's own needs none of it

    bunch = getattr(datasets, f"load_{name}")()
    return Dataset(
        name=name,
        X=np.ascontiguousarray(bunch.data, dtype=np.float64),
        y=bunch.target.astype(np.int64),
        feature_names=tuple(map(str, bunch.feature_names)),
        class_names=tuple(map(str, bunch.target_names)),
    )


def _fetched(name: str) -> Dataset:
    """Fetch from OpenML and keep a copy: scikit-learn's own cache would be parsed anew at each load."""
    from sklearn.datasets import fetch_openml

    try:
        # this parser needs no pandas and gives categorical columns as codes
        bunch = fetch_openml(name, cache=False, as_frame=False, parser="liac-arff", n_retries=1)
    except (OSError, HTTPException, ValueError, LookupError) as error:  # offline, unknown, or past reading
        raise DatasetNotFound(_not_found(name, error)) from error
    dataset = _from_openml(name, bunch)
    try:
        write_npz(dataset, _data_home() / f"{name}.npz")
    except OSError as error:
        warnings.warn(f"{name} will be fetched anew next time, it could not be kept: {error}", stacklevel=3)
    return dataset


def _from_openml(name: str, bunch: Any) -> Dataset:
    if bunch.target is None or np.ndim(bunch.target) != 1 or np.asarray(bunch.target).dtype.kind == "f":
        raise ValueError(f"{name} of OpenML has no single column of class labels; choose a classification set")
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


def _not_found(name: str, error: Exception) -> str:
    home = _data_home()
    files = ", ".join(f"{prefix}{name}.npz" for prefix in PREFIXES)
    there = "" if home.is_dir() else " (no such directory)"
    return (
        f"no data set {name!r}: none of that name is bundled with scikit-learn, none of the files {files} is "
        f"in {home}{there}, and OpenML did not give it ({type(error).__name__}: {error}). Put such a file "
        f"there, or let ANYSTREAM_DATA name the directory that has it. Available without network: "
        f"{', '.join(available_datasets())}"
    )
