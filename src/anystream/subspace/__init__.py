"""LOCUST: local subspaces of a bounded memory of the stream, drawn anew for each record."""

from anystream.subspace.classifier import LocustClassifier
from anystream.subspace.published import BlockLocustClassifier

__all__ = ["BlockLocustClassifier", "LocustClassifier"]
