"""Checks of constructor parameters; each raises ValueError with the name, the value and what to use instead."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TypeVar

import numpy as np

Choice = TypeVar("Choice")

MAX_INT = 2**62
"""Larger ints are clipped to this, which native code can still count beyond."""


def check_int(name: str, value: object, min_value: int = 0) -> int:
    """Return an int parameter of at least `min_value`.

    Examples
    --------
    >>> check_int("fanout", 2, 3)
    Traceback (most recent call last):
    ...
    ValueError: fanout is 2; use a whole number from 3 on
    """
    if type(value) is int and min_value <= value <= MAX_INT:
        return value  # the fast path: this runs for every record of a stream
    if isinstance(value, bool) or not isinstance(value, Integral) or value < min_value:
        raise ValueError(f"{name} is {value!r}; use a whole number from {min_value} on")
    return min(int(value), MAX_INT)


def check_float(name: str, value: object, min_value: float = -math.inf, max_value: float = math.inf) -> float:
    """Return a float parameter from `min_value` to `max_value`; NaN is invalid, and so is infinity where it is bounded.

    Examples
    --------
    >>> check_float("decline", 2, 0, 1)
    Traceback (most recent call last):
    ...
    ValueError: decline is 2; use a number from 0 to 1
    """
    bounded = min_value > -math.inf
    valid = isinstance(value, Real) and not isinstance(value, bool) and min_value <= float(value) <= max_value
    if not valid or (bounded and float(value) == math.inf):  # type: ignore[arg-type]  # a Real by now
        span = f" from {min_value:g} on" if max_value == math.inf else f" from {min_value:g} to {max_value:g}"
        raise ValueError(f"{name} is {value!r}; use a number{span if bounded else ''}")
    return float(value)  # type: ignore[arg-type]  # a Real by now


def check_positive(name: str, value: object, below: float = math.inf) -> float:
    """Return a float parameter above 0 and below `below`."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < below:
        wanted = "above 0" if below == math.inf else f"between 0 and {below:g}"
        raise ValueError(f"{name} is {value!r}; use a number {wanted}")
    return float(value)


def check_choice(name: str, value: object, allowed: tuple[Choice, ...]) -> Choice:
    """Return a parameter that is one of `allowed`; 1 does not count as True."""
    for choice in allowed:
        if value is choice or (isinstance(value, type(choice)) and value == choice):
            return choice
    raise ValueError(f"{name} is {value!r}; use one of {', '.join(map(repr, allowed))}")


def check_random_state(random_state: object) -> None:
    """Raise ValueError unless a parameter `random_state` is an int from 0 on, None or a generator of NumPy."""
    if random_state is not None and not isinstance(random_state, np.random.RandomState | np.random.Generator):
        check_int("random_state", random_state)


def draw_seed(random_state: object) -> int:
    """Return the seed of a parameter `random_state`: the int itself, or one that is drawn.

    As in scikit-learn, None draws from the global state of NumPy, and a generator from its own, which thereby advances.

    Examples
    --------
    >>> draw_seed(7), draw_seed(np.random.RandomState(0)) == draw_seed(np.random.RandomState(0))
    (7, True)
    """
    check_random_state(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if random_state is None:
        return int(np.random.randint(2**31 - 1))  # noqa: NPY002  scikit-learn's meaning of None
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return check_int("random_state", random_state)


def resolve_threads(n_jobs: object) -> int:
    """Return the number of threads for native code from a parameter `n_jobs`; 0 means one per core."""
    if n_jobs is None or n_jobs == -1:
        return 0
    try:
        return min(check_int("n_jobs", n_jobs, 1), 2**31 - 1)
    except ValueError:
        raise ValueError(f"n_jobs is {n_jobs!r}; use 1 or more threads, or None or -1 for all cores") from None


def check_bool(name: str, value: object) -> bool:
    """Return a flag; ValueError if it is not a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {value!r}; use True or False")
    return bool(value)
