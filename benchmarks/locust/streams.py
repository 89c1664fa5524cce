"""Streams of the comparison, in file order or reversed, and the protocol of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anystream.streams import RandomRBF, available_datasets, load_dataset


@dataclass(frozen=True)
class Stream:
    """Records in order; `block` records are predicted before any of them is learned, every `test_every`-th is tested."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    categorical: tuple[int, ...]
    block: int
    test_every: int


_PROTOCOLS = {  # data set, block, test every, maximum number of records
    "covtype": ("covtype", 20_000, 20, None),
    "kdd": ("kddcup99_10pct", 20_000, 20, None),
    "elec2": ("elec2", 5_000, 5, None),
    "airlines": ("airlines", 10_000, 10, 100_000),
    "rialto": ("rialto", 8_000, 7, None),
    "powersupply": ("powersupply", 5_000, 5, None),
}

STREAMS = ["covtype", "kdd", "covtype reversed", "kdd reversed", "elec2", "airlines", "rialto", "powersupply"]


def generated_stream() -> Stream:
    """Return a stream as wide as covtype and with as many classes, for machines without data sets."""
    X, y = RandomRBF(n_features=54, n_classes=7, seed=0, n_records=220_000).take(220_000)
    return Stream("generated", X, y, (), 20_000, 20)


def load_stream(name: str) -> Stream | None:
    """Return a stream by name, ``"… reversed"`` for the other direction; None, with a message, if it is missing."""
    key = name.removesuffix(" reversed")
    data_set, block, test_every, max_records = _PROTOCOLS[key]
    if data_set not in available_datasets():
        print(f"- {name}: skipped, {data_set}.npz is not in the folder of ANYSTREAM_DATA")
        return None
    data = load_dataset(data_set)
    X, y = np.ascontiguousarray(data.X[:max_records], dtype=np.float64), data.y[:max_records]
    if name != key:
        X, y = np.ascontiguousarray(X[::-1]), np.ascontiguousarray(y[::-1])
    return Stream(name, X, y, data.categorical, block, test_every)
