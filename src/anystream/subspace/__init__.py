"""LOCUST: local subspaces of a bounded memory of the stream, drawn anew for each record."""

from anystream.subspace.classifier import LocustClassifier

__all__ = ["LocustClassifier"]
