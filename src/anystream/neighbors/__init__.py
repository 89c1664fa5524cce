"""Anytime nearest neighbours: exemplars under any distance, the useful ones first, refined while the budget lasts."""

from anystream.neighbors.best_drop_curve import best_drop_curve
from anystream.neighbors.classifier import AnytimeNeighborsClassifier

__all__ = ["AnytimeNeighborsClassifier", "best_drop_curve"]
