"""Data set: labelled records in a fixed order, read as a whole or as a stream."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.streams.parameters import check_int


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Labelled records with the names of their features and classes, as `load_dataset` returns them.

    Parameters
    ----------
    name : str
        The name that was passed to `load_dataset`.
    X : ndarray of shape (n_records, n_features), CSR matrix of that shape, or ndarray of shape (n_records,)
        The records: float64 with NaN for missing values, sparse if they were stored as such, or one string each.
    y : ndarray of shape (n_records,), int64
        Class codes, 0 to ``len(class_names) - 1``.
    feature_names : tuple of str
        One per column of X; a single one if the records are strings.
    class_names : tuple of str
        ``class_names[code]`` is the label.
    categorical : tuple of int, default=()
        The columns that are known to contain unordered codes.
    categories : mapping of str to tuple of str, default={}
        For categorical columns by name: the label of code 0, of code 1, and so on; empty if unknown.
    is_test : ndarray of shape (n_records,), bool, or None, default=None
        The predefined split into training and test records; None if there is no split.

    Examples
    --------
    >>> from anystream.streams import load_dataset
    >>> iris = load_dataset("iris")
    >>> iris.n_records, iris.n_features, iris.class_names
    (150, 4, ('setosa', 'versicolor', 'virginica'))
    >>> [len(y) for X, y in iris.batches(60)]
    [60, 60, 30]
    >>> x, label = next(iris.shuffled(seed=1).records())
    >>> x.shape, iris.class_names[label]
    ((4,), ...)
    """

    name: str
    X: Any
    y: NDArray[np.int64]
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    categorical: tuple[int, ...] = ()
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_test: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}: {self.n_records} records, {self.n_features} features, "
            f"{len(self.class_names)} classes)"
        )

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.y)

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return len(self.feature_names)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def classes(self) -> NDArray[np.int64]:
        """All class codes."""
        return np.arange(self.n_classes)

    @property
    def train(self) -> tuple[Any, NDArray[np.int64]]:
        """Training records ``(X, y)`` of the predefined split."""
        rows = ~self._split()
        return self.X[rows], self.y[rows]

    @property
    def test(self) -> tuple[Any, NDArray[np.int64]]:
        """Test records ``(X, y)`` of the predefined split."""
        rows = self._split()
        return self.X[rows], self.y[rows]

    def batches(self, size: int, *, start: int = 0) -> Iterator[tuple[Any, NDArray[np.int64]]]:
        """Iterate in order over batches ``(X, y)`` of `size` records; the last one may be smaller."""
        size = check_int("size", size, min_value=1)
        firsts = range(check_int("start", start, min_value=0), self.n_records, size)
        return ((self.X[first : first + size], self.y[first : first + size]) for first in firsts)

    def records(self, *, start: int = 0) -> Iterator[tuple[Any, int]]:
        """Iterate in order over single records ``(x, y)``; a sparse x is a matrix of one row."""
        rows = range(check_int("start", start, min_value=0), self.n_records)
        if isinstance(self.X, np.ndarray):
            return ((self.X[row], int(self.y[row])) for row in rows)
        return ((self.X[row : row + 1], int(self.y[row])) for row in rows)

    def take(self, n: int, *, start: int = 0) -> tuple[Any, NDArray[np.int64]]:
        """Return the `n` records from position `start` on as one ``(X, y)``."""
        first = check_int("start", start, min_value=0)
        last = first + check_int("n", n, min_value=1)
        if last > self.n_records:
            raise ValueError(
                f"records {first} to {last - 1} requested, but {self.name} has {self.n_records} records; take fewer"
            )
        return self.X[first:last], self.y[first:last]

    def shuffled(self, seed: int) -> "Dataset":
        """Return a copy with the records in random order, for data sets that are sorted by class."""
        order = np.random.default_rng(check_int("seed", seed, min_value=0)).permutation(self.n_records)
        is_test = None if self.is_test is None else self.is_test[order]
        return replace(self, X=self.X[order], y=self.y[order], is_test=is_test)

    def _split(self) -> NDArray[np.bool_]:
        if self.is_test is None:
            raise ValueError(
                f"{self.name} has no predefined split; "
                f"split X and y yourself, for example with sklearn.model_selection.train_test_split"
            )
        return self.is_test
