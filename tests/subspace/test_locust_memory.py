"""Memory of LOCUST models."""

import numpy as np
import pytest
from locust_cases import blobs

from anystream.subspace import BlockLocustClassifier, LocustClassifier


@pytest.mark.parametrize(
    ("unbounded", "max_bytes"), [(LocustClassifier(), 1_000_000), (BlockLocustClassifier(block_size=500), 120_000)]
)
def test_memory_stays_below_its_bound(unbounded, max_bytes):
    X, y = blobs(5000, d=20)
    assert unbounded.fit(X, y).memory_bytes_ > max_bytes
    bounded = unbounded.clone({"max_bytes": max_bytes}).fit(X, y)
    assert bounded.memory_bytes_ <= max_bytes
    assert bounded.score(X, y) > 0.7
    with pytest.raises(ValueError, match=r"max_bytes is 1000, but .* takes up to"):
        unbounded.clone({"max_bytes": 1000}).fit(X, y)


def test_constant_and_binary_features_take_little_memory():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 2000)
    numeric = LocustClassifier(label_delay=0).fit(random.normal(size=(2000, 100)), y).memory_bytes_
    binary = LocustClassifier(label_delay=0).fit(random.integers(0, 2, (2000, 100)), y).memory_bytes_
    constant = LocustClassifier(label_delay=0).fit(np.ones((2000, 100)), y).memory_bytes_
    assert numeric > 1.2 * binary > 1.2 * constant


@pytest.mark.parametrize("model", [LocustClassifier(), BlockLocustClassifier()], ids=lambda model: type(model).__name__)
def test_memory_grows_with_the_stored_points_not_with_the_classes(model):
    X, y = blobs(2000, d=20)
    few = model.fit(X, y).memory_bytes_
    many = model.clone().partial_fit(X, y, classes=np.arange(100_000)).memory_bytes_
    assert many < few + 100_000 * 64
