"""What a parameter of a stream may be, and what is said when it is not."""

import operator
from numbers import Real


def whole_number(name: str, value: object, *, least: int) -> int:
    """Answer `value` as an int of at least `least`.

    Examples
    --------
    >>> whole_number("size", 0, least=1)
    Traceback (most recent call last):
    ...
    ValueError: size is 0; give a whole number of at least 1
    """
    wanted = f"give a whole number of at least {least}"
    if isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; {wanted}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # what is no integer is answered below
    except TypeError:
        raise TypeError(f"{name} is {value!r}; {wanted}") from None
    if number < least:
        raise ValueError(f"{name} is {number}; {wanted}")
    return number


def real_number(name: str, value: object, *, wanted: str, least: float, most: float) -> float:
    """Answer `value` as a float in [least, most]; `wanted` ends the error's sentence.

    Examples
    --------
    >>> real_number("noise", 2, wanted="a share from 0 to 1", least=0, most=1)
    Traceback (most recent call last):
    ...
    ValueError: noise is 2; give a share from 0 to 1
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} is {value!r}; give {wanted}")
    if not least <= float(value) <= most:  # false for NaN as well
        raise ValueError(f"{name} is {value}; give {wanted}")
    return float(value)
