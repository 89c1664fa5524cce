"""K-associated graphs: pure components of neighbours, built once (KAOG) or from a stream (KAOGINC)."""

from anystream.graph.kaog import KAOGClassifier
from anystream.graph.kaoginc import KAOGINCClassifier

__all__ = ["KAOGClassifier", "KAOGINCClassifier"]
