"""Tasks: data sets and streams, each split into training and test records in the same way for every method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anystream.compare.settings import Settings
from anystream.streams import SEA, GeneratedStream, MovingGaussians, Sine, load_dataset

_TRAIN_SHARE = 2 / 3
_DRIFTS_AT = (1 / 12, 1 / 6, 1 / 4)
"""Drifts of generated streams, as shares of their length: the test records, which are the last third, and most of the
training records are of the last concept."""
_IN_TIME_ORDER = ("elec2", "airlines", "powersupply", "ozone_8hr", "rialto", "kddcup99_10pct")
DECIMALS = 6
"""Decimals that files of data sets have: float32 is rounded to them, so that libraries get the printed numbers."""

GENERATED: dict[str, Callable[[int, int], GeneratedStream[object]]] = {
    "SEA": lambda n, seed: SEA(concepts=(8, 9, 7, 9.5), drifts=_place_drifts(n), noise=0.1, seed=seed, n_records=n),  # type: ignore[dict-item,return-value]  # concepts of one type
    "Sine": lambda n, seed: Sine(  # type: ignore[dict-item,return-value]  # concepts of one type
        concepts=("sine1", "sine1_reversed", "sine2", "sine2_reversed"),
        drifts=_place_drifts(n),
        seed=seed,
        n_records=n,
    ),
    "Gauss": lambda n, seed: MovingGaussians(  # type: ignore[dict-item,return-value]  # concepts of one type
        concepts=("plain", "swapped", "plain", "swapped"), drifts=_place_drifts(n), seed=seed, n_records=n
    ),
}
"""Generated streams by name, which need no file."""

DEFAULT_TASKS = ("SEA", "Sine", "digits", "pendigits", "letter", "covtype", "elec2")
"""Tasks of a comparison that names none; those whose file is missing are skipped."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """Labelled records for training and, after them or at random, for testing.

    Parameters
    ----------
    name : str
        Name of the data set or stream.
    X_train, y_train, X_test, y_test : array
        Records and class codes 0 to ``n_classes - 1``; in time order if the data have one.
    n_classes : int
        Number of classes.
    ordered : bool
        Whether the test records are later than the training records; otherwise all were shuffled.
    """

    name: str
    X_train: NDArray[np.float64]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]
    n_classes: int
    ordered: bool

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self.X_train.shape[1])


def load_task(name: str, settings: Settings) -> Task:
    """Return a task by the name of a generated stream or of a data set.

    Records in time order: the first two thirds are for training, the last third for testing. Others are shuffled
    first. At most ``max_train`` and ``max_test`` records are taken, from one slice of the data set.

    Examples
    --------
    >>> task = load_task("SEA", Settings.quick())
    >>> task.X_train.shape, task.X_test.shape, task.n_classes, task.ordered
    ((1000, 3), (300, 3), 2, True)
    """
    if name in GENERATED:
        n = settings.max_train + settings.max_train // 2
        X, y = GENERATED[name](n, settings.seed).take(n)
        return _split(name, X, y, int(y.max()) + 1, settings, ordered=True)
    data = load_dataset(name)
    if not isinstance(data.X, np.ndarray) or data.X.ndim != 2:
        raise ValueError(f"the records of {name} are not rows of numbers; compare on a data set with a dense numeric X")
    if np.isnan(data.X).any():
        raise ValueError(f"{name} has missing values, which not every library takes; compare on another data set")
    ordered = name in _IN_TIME_ORDER
    if not ordered:
        data = data.shuffled(settings.seed)
    X = np.asarray(np.asarray(data.X, dtype=np.float64).round(DECIMALS), dtype=np.float64)
    return _split(name, X, data.y, data.n_classes, settings, ordered=ordered)


def _split(
    name: str, X: NDArray[np.float64], y: NDArray[np.int64], n_classes: int, settings: Settings, *, ordered: bool
) -> Task:
    n_train = min(int(len(y) * _TRAIN_SHARE), settings.max_train)
    n_end = min(len(y), n_train + settings.max_test)
    return Task(
        name=name,
        X_train=X[:n_train],
        y_train=y[:n_train],
        X_test=X[n_train:n_end],
        y_test=y[n_train:n_end],
        n_classes=n_classes,
        ordered=ordered,
    )


def _place_drifts(n_records: int) -> tuple[int, ...]:
    return tuple(int(n_records * share) for share in _DRIFTS_AT)
