"""Data sets in NumPy's compressed files: what their arrays are called, and how they are checked.

    X                             (n, d) numbers, or (n,) strings            one of these three
    X_train y_train X_test y_test  the same, in two parts
    indptr indices shape [data]   CSR; without data, every stored value is 1

    y              (n,) integer codes 0..k-1
    class_names    (k,) strings; otherwise the codes
    feature_names  (d,) strings; otherwise x0, x1, ...
    categorical    columns that hold codes
    categories     a JSON text, {column name: [label of code 0, of code 1, ...]}
    missing        (n, d) bool: cells that were filled in; they are NaN when loaded
    train_size     the first so many records are for training, or
    is_test        (n,) nonzero for test records

Other arrays are left alone. Nothing pickled is ever read.
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
    """Read a data set from a file; a damaged or odd file gives a ValueError that names it."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise ValueError("it is a single array, not an archive of named ones")
        with loaded as arrays:
            return _dataset(name, arrays)
    except Exception as error:  # a damaged archive fails in many ways, all of them the file's fault
        raise ValueError(f"{path} holds no readable data set: {error}") from error


def write_npz(dataset: Dataset, path: Path) -> None:
    """Write a data set to a file, all of it or nothing; the directory is made if need be."""
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


def _dataset(name: str, arrays: Arrays) -> Dataset:
    X, y, is_test = _records(arrays)
    n_records, n_features = (*X.shape, 1)[:2]
    _require_length("y", y, n_records)
    if n_records == 0:
        raise ValueError("it has no records")

    names = arrays["class_names"] if "class_names" in arrays else np.arange(y.max() + 1)
    if not 0 <= y.min() <= y.max() < len(names):
        raise ValueError(f"y has codes from {y.min()} to {y.max()} for {len(names)} class names")
    features = arrays["feature_names"] if "feature_names" in arrays else [f"x{column}" for column in range(n_features)]
    _require_length("feature_names", features, n_features)
    feature_names = tuple(map(str, features))

    if "missing" in arrays:
        if not isinstance(X, np.ndarray) or X.dtype.kind != "f":
            raise ValueError("it marks missing values, which only a dense table of numbers can have")
        X[_mask("missing", arrays["missing"], X.shape)] = np.nan
    categories = _categories(arrays, feature_names)
    return Dataset(
        name=name,
        X=X,
        y=y,
        feature_names=feature_names,
        class_names=tuple(map(str, names)),
        categorical=_categorical(arrays, feature_names, categories),
        categories=categories,
        is_test=is_test,
    )


def _records(arrays: Arrays) -> tuple[Any, NDArray[np.int64], NDArray[np.bool_] | None]:
    """Answer X, y and the split, from whichever of the three forms the file has."""
    if "X_train" in arrays:
        parts = [(_features(arrays[f"X_{part}"]), _codes(arrays[f"y_{part}"])) for part in ("train", "test")]
        for X, y in parts:
            _require_length("y", y, len(X))
        X = np.concatenate([X for X, _ in parts])
        y = np.concatenate([y for _, y in parts])
        return X, y, np.repeat([False, True], [len(y) for _, y in parts])

    X = _sparse(arrays) if "indptr" in arrays else _features(arrays["X"])
    return X, _codes(arrays["y"]), _split(arrays, X.shape[0])


def _features(X: NDArray[Any]) -> NDArray[Any]:
    if X.dtype.kind == "U" and X.ndim == 1:
        return X
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"X has shape {X.shape} and type {X.dtype}; a table of numbers or a list of strings")
    return np.array(X, dtype=np.float64, order="C")


def _codes(y: NDArray[Any]) -> NDArray[np.int64]:
    if y.ndim != 1 or y.dtype.kind not in "iu":
        raise ValueError(f"y has shape {y.shape} and type {y.dtype}; a list of integer codes is needed")
    return y.astype(np.int64)


def _sparse(arrays: Arrays) -> Any:
    from scipy.sparse import csr_matrix  # only here: most sets are dense, and it takes its time to import

    indices = arrays["indices"].astype(np.int32)
    values = arrays["data"].astype(np.float64) if "data" in arrays else np.ones(len(indices))
    matrix = csr_matrix((values, indices, arrays["indptr"].astype(np.int32)), shape=tuple(arrays["shape"]))
    matrix.check_format(full_check=True)
    return matrix


def _split(arrays: Arrays, n_records: int) -> NDArray[np.bool_] | None:
    if "is_test" in arrays:
        return _mask("is_test", arrays["is_test"], (n_records,))
    if "train_size" in arrays:
        train_size = int(arrays["train_size"])
        if not 0 < train_size < n_records:
            raise ValueError(f"train_size is {train_size} of {n_records} records")
        return np.arange(n_records) >= train_size
    return None


def _categories(arrays: Arrays, feature_names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    if "categories" not in arrays:
        return {}
    stored = json.loads(str(arrays["categories"]))
    unknown = set(stored) - set(feature_names)
    if unknown:
        raise ValueError(f"categories names {sorted(unknown)}, which are no features")
    return {column: tuple(map(str, labels)) for column, labels in stored.items()}


def _categorical(arrays: Arrays, feature_names: tuple[str, ...], categories: Mapping[str, Any]) -> tuple[int, ...]:
    columns = {feature_names.index(column) for column in categories}
    if "categorical" in arrays:
        columns |= set(arrays["categorical"].astype(int).tolist())
    if columns and not 0 <= min(columns) <= max(columns) < len(feature_names):
        raise ValueError(f"categorical columns {sorted(columns)} of {len(feature_names)} features")
    return tuple(sorted(columns))


def _mask(name: str, values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if values.shape != shape:
        raise ValueError(f"{name} has shape {values.shape}, {shape} is needed")
    return values.astype(np.bool_)


def _require_length(name: str, values: Any, length: int) -> None:
    if len(values) != length:
        raise ValueError(f"{name} has {len(values)} entries, {length} are needed")
