"""Micro-clusters: moments of nearby points, with snapshots of earlier times."""

from anystream.microclusters.classifier import MicroClusterClassifier

__all__ = ["MicroClusterClassifier"]
