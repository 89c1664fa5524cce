"""The methods that the drift benchmarks compare: one line each.

A method is a name, the module and class that it comes from, and its parameters for chunks of a given size. What cannot
be imported is left out and said so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Method:
    """How to make one learner. `slow` ones run on fewer seeds unless everything is asked for."""

    name: str
    module: str
    make: Callable[[Any, int], Any]  # the module, records of a chunk -> an unfitted model
    slow: bool = False


METHODS = (
    Method("KAOGINC", "anystream.graph", lambda m, chunk: m.KAOGINCClassifier(batch_size=chunk)),
    Method("KAOGINC, paper", "anystream.graph", lambda m, chunk: m.KAOGINCClassifier.paper(batch_size=chunk)),
    Method("DWM-NB", "anystream.drift", lambda m, chunk: m.DynamicWeightedMajority()),
    Method("WCEA, trees", "anystream.drift", lambda m, chunk: m.WCEA(chunk_size=chunk)),
    Method("WCEA, NB", "anystream.drift", lambda m, chunk: m.WCEA(m.GaussianNaiveBayes(), chunk_size=chunk)),
    Method("SEA, 5 seats", "anystream.drift", lambda m, chunk: m.SEAEnsemble(chunk_size=chunk)),
    Method("SEA, Street-Kim 25", "anystream.drift", lambda m, chunk: m.SEAEnsemble.street_kim(chunk_size=chunk)),
    Method("OnlineTree2 (our reading)", "anystream.drift", lambda m, chunk: m.OnlineTree2()),
    Method("Bayes tree", "anystream.bayes_tree", lambda m, chunk: m.BayesTreeClassifier()),
    Method(
        "WCEA, Bayes trees",
        "anystream.bayes_tree",
        lambda m, chunk: import_module("anystream.drift").WCEA(
            m.BayesTreeClassifier(metric=None, root_model=None), chunk_size=chunk
        ),
    ),
    Method("LOCUST", "anystream.subspace", lambda m, chunk: m.LocustClassifier()),
    Method("ARF(10), river", "river.forest", lambda m, chunk: m.ARFClassifier(n_models=10, seed=1), slow=True),
    Method("SRP(10), river", "river.ensemble", lambda m, chunk: m.SRPClassifier(n_models=10, seed=1), slow=True),
)


def chosen(names: list[str] | None) -> tuple[list[Method], list[str]]:
    """The methods whose name contains one of `names` (all without names), and those that cannot be imported."""
    wanted = [m for m in METHODS if not names or any(name.lower() in m.name.lower() for name in names)]
    missing = []
    for method in wanted:
        try:
            method.make(import_module(method.module), 100)
        except (ImportError, AttributeError) as error:
            missing.append(f"{method.name} left out: {error}")
    absent = {text.split(" left out")[0] for text in missing}
    return [m for m in wanted if m.name not in absent], missing


def fresh(method: Method, chunk: int) -> Any:
    """An unfitted model."""
    return method.make(import_module(method.module), chunk)
