"""Streams: labelled records in a fixed order, generated or loaded from data sets.

Generators (`SEA`, `Sine`, `MovingGaussians`, `JapaneseFlag`, `RandomRBF`) and data sets (`load_dataset`) have the same
methods for reading: ``batches(size)``, ``records()`` and ``take(n)``.

Examples
--------
>>> from anystream.streams import SEA
>>> stream = SEA(concepts=(8, 9), drifts=(500,), noise=0.1, seed=42, n_records=1000)
>>> [(X.shape, y.shape) for X, y in stream.batches(400)]
[((400, 3), (400,)), ((400, 3), (400,)), ((200, 3), (200,))]
"""

from anystream.streams.dataset import Dataset
from anystream.streams.generated import GeneratedStream
from anystream.streams.japanese_flag import JapaneseFlag
from anystream.streams.load import DatasetNotFoundError, available_datasets, load_dataset
from anystream.streams.moving_gaussians import MovingGaussians
from anystream.streams.random_rbf import RandomRBF
from anystream.streams.sea import SEA
from anystream.streams.sine import Sine

__all__ = [
    "SEA",
    "Dataset",
    "DatasetNotFoundError",
    "GeneratedStream",
    "JapaneseFlag",
    "MovingGaussians",
    "RandomRBF",
    "Sine",
    "available_datasets",
    "load_dataset",
]
