"""The Bayes tree: a hierarchy of Gaussian mixtures per class, refined for each query while the budget lasts."""

from anystream.bayes_tree.classifier import BayesTreeClassifier

__all__ = ["BayesTreeClassifier"]
