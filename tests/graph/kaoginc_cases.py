"""Streams, queries and comparisons that several tests of KAOGINC use."""

import numpy as np

from anystream.streams import MovingGaussians

QUERIES = np.random.default_rng(9).normal(size=(50, 2)) * 3.0


def swapping_stream(n_records=2400, drift=1200, seed=0):
    return MovingGaussians(concepts=("plain", "swapped"), drifts=(drift,), seed=seed, n_records=n_records)


def learn_stream(model, stream, size=80):
    for X, y in stream.batches(size):
        model.partial_fit(X, y)
    return model


def assert_same_model(first, second):
    expected = second.to_file().arrays
    for name, array in first.to_file().arrays.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)
