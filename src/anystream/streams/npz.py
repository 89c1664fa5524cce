"""Data sets in NumPy's compressed files: names and checks of their arrays.

    X                             (n, d) numbers, or (n,) strings            one of these three
    X_train y_train X_test y_test  the same, in two parts
    indptr indices shape [data]   CSR; without data, every stored value is 1

    y              (n,) integer codes 0..k-1
    class_names    (k,) strings; otherwise the codes
    feature_names  (d,) strings; otherwise x0, x1, ...
    categorical    columns that hold codes
    categories     a JSON text, {column name: [label of code 0, of code 1, ...]}
    missing        (n, d) bool: missing values, whatever X has there; they are NaN when loaded
    train_size     number of training records, which come first; or
    is_test        (n,) nonzero for test records

Other arrays are ignored. Pickled objects are never read.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.streams.dataset import Dataset

Arrays = Mapping[str, NDArray[Any]]


def read_npz(name: str, path: Path) -> Dataset:
    """Read a data set from a file; raise a ValueError that names the file if it is damaged or malformed."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise ValueError("it is a single array, not an archive of named arrays")
        with loaded as arrays:
            return _parse_dataset(name, arrays)
    except Exception as error:  # a damaged archive raises errors of many types
        raise ValueError(f"{path} is not a readable data set: {error}") from error


def write_npz(dataset: Dataset, path: Path) -> None:
    """Write a data set to a file atomically; create the directory if necessary."""
    X = dataset.X
    dense = isinstance(X, np.ndarray)
    arrays = {"X": X} if dense else {"indptr": X.indptr, "indices": X.indices, "data": X.data, "shape": X.shape}
    if dataset.is_test is not None:
        arrays["is_test"] = dataset.is_test
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            np.savez_compressed(
                file,
                y=dataset.y,
                class_names=np.array(dataset.class_names, dtype=np.str_),
                feature_names=np.array(dataset.feature_names, dtype=np.str_),
                categorical=np.array(dataset.categorical, dtype=np.int64),
                categories=np.array(json.dumps(dict(dataset.categories))),
                **arrays,
            )
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _parse_dataset(name: str, arrays: Arrays) -> Dataset:
    X, y, is_test = _parse_records(arrays)
    n_records, n_features = (*X.shape, 1)[:2]
    _check_length("y", y, n_records)
    if n_records == 0:
        raise ValueError("it does not contain any records")

    names = arrays["class_names"] if "class_names" in arrays else np.arange(y.max() + 1)
    if not 0 <= y.min() <= y.max() < len(names):
        raise ValueError(f"y has codes from {y.min()} to {y.max()} for {len(names)} class names")
    features = arrays["feature_names"] if "feature_names" in arrays else [f"x{column}" for column in range(n_features)]
    _check_length("feature_names", features, n_features)
    feature_names = tuple(map(str, features))

    if "missing" in arrays:
        if not isinstance(X, np.ndarray) or X.dtype.kind != "f":
            raise ValueError("it has an array of missing values, which only a dense table of numbers can have")
        X[_parse_mask("missing", arrays["missing"], X.shape)] = np.nan
    categories = _parse_categories(arrays, feature_names)
    return Dataset(
        name=name,
        X=X,
        y=y,
        feature_names=feature_names,
        class_names=tuple(map(str, names)),
        categorical=_parse_categorical(arrays, feature_names, categories),
        categories=categories,
        is_test=is_test,
    )


def _parse_records(arrays: Arrays) -> tuple[Any, NDArray[np.int64], NDArray[np.bool_] | None]:
    """Return X, y and the split, whichever of the three layouts the file has."""
    if "X_train" in arrays:
        parts = [
            (_parse_features(arrays[f"X_{part}"]), _parse_codes(arrays[f"y_{part}"])) for part in ("train", "test")
        ]
        for X, y in parts:
            _check_length("y", y, len(X))
        X = np.concatenate([X for X, _ in parts])
        y = np.concatenate([y for _, y in parts])
        return X, y, np.repeat([False, True], [len(y) for _, y in parts])

    X = _parse_csr(arrays) if "indptr" in arrays else _parse_features(arrays["X"])
    return X, _parse_codes(arrays["y"]), _parse_split(arrays, X.shape[0])


def _parse_features(X: NDArray[Any]) -> NDArray[Any]:
    if X.dtype.kind == "U" and X.ndim == 1:
        return X
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"X has shape {X.shape} and type {X.dtype}; store a table of numbers or a list of strings")
    return np.array(X, dtype=np.float64, order="C")


def _parse_codes(y: NDArray[Any]) -> NDArray[np.int64]:
    if y.ndim != 1 or y.dtype.kind not in "iu":
        raise ValueError(f"y has shape {y.shape} and type {y.dtype}; store a list of integer codes")
    return y.astype(np.int64)


def _parse_csr(arrays: Arrays) -> Any:
    from scipy.sparse import csr_matrix  # imported here because it is slow to import and most data sets are dense

    indices = arrays["indices"].astype(np.int32)
    values = arrays["data"].astype(np.float64) if "data" in arrays else np.ones(len(indices))
    matrix = csr_matrix((values, indices, arrays["indptr"].astype(np.int32)), shape=tuple(arrays["shape"]))
    matrix.check_format(full_check=True)
    return matrix


def _parse_split(arrays: Arrays, n_records: int) -> NDArray[np.bool_] | None:
    if "is_test" in arrays:
        return _parse_mask("is_test", arrays["is_test"], (n_records,))
    if "train_size" in arrays:
        train_size = int(arrays["train_size"])
        if not 0 < train_size < n_records:
            raise ValueError(
                f"train_size is {train_size}, but there are {n_records} records; store 1 to {n_records - 1}"
            )
        return np.arange(n_records) >= train_size
    return None


def _parse_categories(arrays: Arrays, feature_names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    if "categories" not in arrays:
        return {}
    stored = json.loads(str(arrays["categories"]))
    unknown = set(stored) - set(feature_names)
    if unknown:
        raise ValueError(f"categories lists {sorted(unknown)}, which are not names of features")
    return {column: tuple(map(str, labels)) for column, labels in stored.items()}


def _parse_categorical(
    arrays: Arrays, feature_names: tuple[str, ...], categories: Mapping[str, Any]
) -> tuple[int, ...]:
    columns = {feature_names.index(column) for column in categories}
    if "categorical" in arrays:
        columns |= set(arrays["categorical"].astype(int).tolist())
    if columns and not 0 <= min(columns) <= max(columns) < len(feature_names):
        raise ValueError(
            f"categorical lists the columns {sorted(columns)}, but there are {len(feature_names)} features"
        )
    return tuple(sorted(columns))


def _parse_mask(name: str, values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if values.shape != shape:
        raise ValueError(f"{name} has shape {values.shape} instead of {shape}")
    return values.astype(np.bool_)


def _check_length(name: str, values: Any, length: int) -> None:
    if len(values) != length:
        raise ValueError(f"{name} has {len(values)} entries instead of {length}")
