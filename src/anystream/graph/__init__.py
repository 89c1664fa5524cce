"""K-associated graphs: pure components of neighbours, built once (KAOG) or from a stream (KAOGINC)."""

from anystream.graph.decision_surface import decision_surface, plot_decision_surfaces
from anystream.graph.kaog import KAOGClassifier
from anystream.graph.kaoginc import KAOGINCClassifier

__all__ = ["KAOGClassifier", "KAOGINCClassifier", "decision_surface", "plot_decision_surfaces"]
