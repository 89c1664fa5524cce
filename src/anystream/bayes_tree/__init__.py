"""Bayes tree: a hierarchy of Gaussian mixtures per class, refined for each query while the budget lasts."""

from anystream.bayes_tree.classifier import BayesTreeClassifier
from anystream.bayes_tree.static_mixture import StaticMixtureClassifier

__all__ = ["BayesTreeClassifier", "StaticMixtureClassifier"]
