"""What the parameters of the classifier may be, and how many exemplars they leave room for."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

from anystream.neighbors.distances import make_distance
from anystream.neighbors.orderings import ordering_named

if TYPE_CHECKING:
    from anystream.neighbors.classifier import AnytimeNeighborsClassifier


def check_parameters(model: AnytimeNeighborsClassifier) -> None:
    """Refuse what is out of range or does not go together."""
    ordering_named(model.ordering)
    if model.search not in ("ordered", "inverted"):
        raise ValueError(f"search is {model.search!r}; use 'ordered' or 'inverted'")
    if model.trim not in (None, "auto"):
        raise ValueError(f"trim is {model.trim!r}; use None or 'auto'")
    _whole("k", model.k, least=1)
    _whole("budget", model.budget)
    _whole("seed", model.seed)
    if model.n_jobs is not None and model.n_jobs != -1:
        _whole("n_jobs", model.n_jobs, least=1)
    for name in ("window", "max_bytes"):
        if getattr(model, name) is not None:
            _whole(name, getattr(model, name), least=1)
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


def _whole(name: str, value: object, least: int = 0) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} is {value!r}; use a whole number from {least} on")
