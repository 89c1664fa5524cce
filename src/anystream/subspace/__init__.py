"""LOCUST: classification by local subspaces of a bounded memory of the stream, sampled for each record."""

from anystream.subspace.block_locust import BlockLocustClassifier
from anystream.subspace.locust import LocustClassifier

__all__ = ["BlockLocustClassifier", "LocustClassifier"]
