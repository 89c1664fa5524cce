"""What a parameter of a classifier may be, and what is said when it is not."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TypeVar

Choice = TypeVar("Choice")


def whole_number(name: str, value: object, least: int = 0) -> int:
    """A parameter that must be a whole number from `least` on; more than native code can count is cut off.

    Examples
    --------
    >>> whole_number("fanout", 2, 3)
    Traceback (most recent call last):
    ...
    ValueError: fanout is 2; use a whole number from 3 on
    """
    if type(value) is int and least <= value <= 2**62:
        return value  # at once: this is asked for every record
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} is {value!r}; use a whole number from {least} on")
    return min(int(value), 2**62)


def real_number(name: str, value: object, least: float = -math.inf, most: float = math.inf) -> float:
    """A parameter that must be a number from `least` to `most`; NaN is none, and limits are finite numbers.

    Examples
    --------
    >>> real_number("decline", 2, 0, 1)
    Traceback (most recent call last):
    ...
    ValueError: decline is 2; use a number from 0 to 1
    """
    limited = least > -math.inf
    right = isinstance(value, Real) and not isinstance(value, bool) and least <= float(value) <= most
    if not right or (limited and float(value) == math.inf):  # type: ignore[arg-type]  # it is a number
        span = f" from {least:g} on" if most == math.inf else f" from {least:g} to {most:g}"
        raise ValueError(f"{name} is {value!r}; use a number{span if limited else ''}")
    return float(value)  # type: ignore[arg-type]  # it is a number


def positive_number(name: str, value: object, most: float = math.inf) -> float:
    """A parameter that must be a number above 0 and below `most`."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < most:
        wanted = "above 0" if most == math.inf else f"between 0 and {most:g}"
        raise ValueError(f"{name} is {value!r}; use a number {wanted}")
    return float(value)


def one_of(name: str, value: object, allowed: tuple[Choice, ...]) -> Choice:
    """A parameter that must be one of a few values; 1 is not True."""
    for choice in allowed:
        if value is choice or (isinstance(value, type(choice)) and value == choice):
            return choice
    raise ValueError(f"{name} is {value!r}; use one of {', '.join(map(repr, allowed))}")


def thread_count(n_jobs: object) -> int:
    """The threads that a parameter `n_jobs` asks for, as native code takes them: 0 is one per core."""
    if n_jobs is None or n_jobs == -1:
        return 0
    try:
        return min(whole_number("n_jobs", n_jobs, 1), 2**31 - 1)
    except ValueError:
        raise ValueError(f"n_jobs is {n_jobs!r}; use 1 or more threads, or None or -1 for all cores") from None
