"""Options of constructions, covariances and margin maximisation: defaults, printed values and checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from anystream.estimators.parameters import check_bool, check_float, check_int

Options = dict[str, Any]


def _check_count_or_none(name: str, value: object) -> int | None:
    return None if value is None else check_int(name, value, 2)


def _check_amount(name: str, value: object) -> float:
    return check_float(name, value, 0.0)


_CHECKS: dict[str, Callable[[str, object], Any]] = {
    "sample": _check_count_or_none,
    "window": _check_count_or_none,
    "tolerance": _check_amount,
    "shrinkage": _check_amount,
    "min_records": _check_amount,
    "weights": check_bool,
    "floor": check_bool,
}

CONSTRUCTION_DEFAULTS: dict[str, Options] = {
    "em_top_down": {"sample": 2000},
    "goldberger": {"window": 512},
    "virtual_sampling": {"window": 512, "tolerance": 0.01},
}
"""Options by construction; the others have none."""

CONSTRUCTION_PRINTED: dict[str, Options] = {
    "em_top_down": {"sample": None},
    "goldberger": {"window": None},
    "virtual_sampling": {"window": None, "tolerance": 0.0},
}
"""The constructions as their paper prints them."""

COVARIANCE_DEFAULTS: Options = {"shrinkage": 1.0, "min_records": 2.0}
COVARIANCE_PRINTED: Options = {"shrinkage": 0.0, "min_records": 0.0}
"""BN as printed: covariances as measured, in entries of any size."""

MARGIN_DEFAULTS: Options = {"weights": False, "min_records": 10.0, "floor": True}
MARGIN_PRINTED: Options = {"weights": True, "min_records": 0.0, "floor": False}
"""MM as printed: weights, means and variances move, in entries of any size."""


def resolve_options(name: str, given: object, defaults: Options, owner: str) -> Options:
    """Return the defaults with the given options in their place; ValueError if one is unknown or invalid.

    Parameters
    ----------
    name : str
        Parameter that holds the options, for errors.
    given : mapping or None
        Options by name; None: all have their defaults.
    defaults : dict
        All options that there are.
    owner : str
        What the options are of, for errors.
    """
    if given is None:
        return dict(defaults)
    if not isinstance(given, Mapping):
        raise ValueError(f"{name} is {given!r}; use a dict such as {defaults!r}, or None")
    for option in given:
        if option not in defaults:
            known = ", ".join(defaults) or "no options"
            raise ValueError(f"{name} has {option!r}; {owner} has {known}")
    return {option: _CHECKS[option](f"{name}[{option!r}]", given.get(option, defaults[option])) for option in defaults}
