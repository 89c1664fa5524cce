"""Checks of stream parameters: TypeError for a value of another type, ValueError for one out of range.

Unlike `anystream.estimators.parameters`, ints are not clipped to what native code can count: a seed may have any size,
and two different seeds must stay different.
"""

import operator
from numbers import Real


def check_int(name: str, value: object, *, min_value: int) -> int:
    """Return `value` as an int of at least `min_value`.

    Examples
    --------
    >>> check_int("size", 0, min_value=1)
    Traceback (most recent call last):
    ...
    ValueError: size is 0; give a whole number of at least 1
    """
    wanted = f"give a whole number of at least {min_value}"
    if isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; {wanted}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # raises TypeError if it is not an int
    except TypeError:
        raise TypeError(f"{name} is {value!r}; {wanted}") from None
    if number < min_value:
        raise ValueError(f"{name} is {number}; {wanted}")
    return number


def check_float(name: str, value: object, *, wanted: str, min_value: float, max_value: float) -> float:
    """Return `value` as a float in [min_value, max_value]; `wanted` completes the error message.

    Examples
    --------
    >>> check_float("noise", 2, wanted="a share from 0 to 1", min_value=0, max_value=1)
    Traceback (most recent call last):
    ...
    ValueError: noise is 2; give a share from 0 to 1
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} is {value!r}; give {wanted}")
    if not min_value <= float(value) <= max_value:  # false for NaN as well
        raise ValueError(f"{name} is {value}; give {wanted}")
    return float(value)
