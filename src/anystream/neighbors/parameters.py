"""What the parameters of the classifier may be, and how many exemplars they leave room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anystream.anytime.parameters import one_of, thread_count, whole_number
from anystream.neighbors.distances import make_distance
from anystream.neighbors.orderings import ordering_named

if TYPE_CHECKING:
    from anystream.neighbors.classifier import AnytimeNeighborsClassifier


def check_parameters(model: AnytimeNeighborsClassifier) -> None:
    """Refuse what is out of range or does not go together."""
    ordering_named(model.ordering)
    one_of("search", model.search, ("ordered", "inverted"))
    one_of("trim", model.trim, (None, "auto"))
    whole_number("k", model.k, least=1)
    whole_number("budget", model.budget)
    whole_number("seed", model.seed)
    thread_count(model.n_jobs)
    for name in ("window", "max_bytes"):
        if getattr(model, name) is not None:
            whole_number(name, getattr(model, name), least=1)
    if callable(model.metric):
        _check_callable(model)
        return
    distance = make_distance(model.metric, model.metric_params, model.scaling)
    if model.max_bytes is not None and distance.records == "texts":
        raise ValueError(f"max_bytes is {model.max_bytes!r}, but texts differ in length; use window")


def capacity(model: AnytimeNeighborsClassifier) -> int:
    """Most exemplars; 0 for no limit."""
    limits = [] if model.window is None else [int(model.window)]
    if model.max_bytes is not None:
        width = model.n_features_in_ + 1  # one more for records without direction
        # a row and a block lane of each feature, traits, a label, a serial, a list; vectors grow by doubling
        each = 2 * (10 * width + 8 * 32 + 32)
        room = int(model.max_bytes) // each
        if model.search == "inverted":  # those that left keep their place until lists are made anew
            room = (room - 66) * 8 // 9
        limits.append(room)
        if room < 1:
            least = each * (68 if model.search == "inverted" else 1)
            raise ValueError(f"max_bytes is {model.max_bytes}; use {least} at least, or a window")
    return min(limits, default=0)


def _check_callable(model: AnytimeNeighborsClassifier) -> None:
    for name in ("metric_params", "scaling", "max_bytes"):
        if getattr(model, name) is not None:
            raise ValueError(f"{name} is {getattr(model, name)!r}, but the metric is a callable; leave it out")
    if model.search == "inverted":
        raise ValueError("search is 'inverted', but the metric is a callable; use search='ordered' or a named metric")
