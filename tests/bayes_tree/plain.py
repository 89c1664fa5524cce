"""Bayes trees that choose nothing."""

from anystream import BayesTreeClassifier


def plain(**parameters):
    """A tree without learned metric and root model, unless asked for: quick to fit, and its mechanics stand alone."""
    return BayesTreeClassifier(**({"metric": None, "root_model": None} | parameters))
