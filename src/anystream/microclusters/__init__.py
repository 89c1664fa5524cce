"""Micro-clusters: moments of points that lie close together, and what they were at earlier times."""

from anystream.microclusters.classifier import MicroClusterClassifier

__all__ = ["MicroClusterClassifier"]
