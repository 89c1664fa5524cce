"""Methods that the drift benchmarks compare, one line each.

A method is a name, the module that it comes from, and a function that creates the classifier for chunks of a given
size. Methods that cannot be imported are skipped with a note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Method:
    """Recipe of one classifier. Slow ones run on fewer seeds by default."""

    name: str
    module: str
    make: Callable[[Any, int], Any]  # (module, records per chunk) -> unfitted model
    slow: bool = False


METHODS = (
    Method("KAOGINC", "anystream.graph", lambda m, chunk: m.KAOGINCClassifier(batch_size=chunk)),
    Method("KAOGINC, paper", "anystream.graph", lambda m, chunk: m.KAOGINCClassifier.paper(batch_size=chunk)),
    Method("DWM-NB", "anystream.drift", lambda m, chunk: m.DynamicWeightedMajority()),
    Method(
        "DWM-NB, any number of experts",
        "anystream.drift",
        lambda m, chunk: m.DynamicWeightedMajority(max_experts=1_000_000),
    ),
    Method("WCEA, trees", "anystream.drift", lambda m, chunk: m.WCEA(chunk_size=chunk, train_within=0)),
    Method(
        "WCEA, NB", "anystream.drift", lambda m, chunk: m.WCEA(m.GaussianNaiveBayes(), chunk_size=chunk, train_within=0)
    ),
    Method(
        "WCEA, NB, Wang's top K",
        "anystream.drift",
        lambda m, chunk: m.WCEA(m.GaussianNaiveBayes(), keep="best", chunk_size=chunk, train_within=0),
    ),
    Method(
        "WCEA, trees, Wang's top K",
        "anystream.drift",
        lambda m, chunk: m.WCEA(keep="best", chunk_size=chunk, train_within=0),
    ),
    Method("SEA, 5 members", "anystream.drift", lambda m, chunk: m.SEAEnsemble(chunk_size=chunk, train_within=0)),
    Method("SEA, Street-Kim 25", "anystream.drift", lambda m, chunk: m.SEAEnsemble.street_kim(chunk_size=chunk)),
    Method("OnlineTree2 (our reading)", "anystream.drift", lambda m, chunk: m.OnlineTree2()),
    Method("Bayes tree", "anystream.bayes_tree", lambda m, chunk: m.BayesTreeClassifier()),
    Method(
        "WCEA, Bayes trees",
        "anystream.bayes_tree",
        lambda m, chunk: import_module("anystream.drift").WCEA(
            m.BayesTreeClassifier(metric=None, root_model=None), chunk_size=chunk, train_within=0
        ),
    ),
    Method("LOCUST", "anystream.subspace", lambda m, chunk: m.LocustClassifier()),
    Method("ARF(10), river", "river.forest", lambda m, chunk: m.ARFClassifier(n_models=10, seed=1), slow=True),
    Method("SRP(10), river", "river.ensemble", lambda m, chunk: m.SRPClassifier(n_models=10, seed=1), slow=True),
)


def choose_methods(names: list[str] | None) -> tuple[list[Method], list[str]]:
    """Return the methods whose name contains one of `names` (default: all), and a note for each that is missing."""
    methods, notes = [], []
    for method in METHODS:
        if names and not any(name.lower() in method.name.lower() for name in names):
            continue
        try:
            make_model(method, 100)
        except (ImportError, AttributeError) as error:
            notes.append(f"{method.name} skipped: {error}")
        else:
            methods.append(method)
    return methods, notes


def make_model(method: Method, chunk: int) -> Any:
    """Return an unfitted model for chunks of `chunk` records."""
    return method.make(import_module(method.module), chunk)
