"""Durations as text: parsing of options, and formatting for reports."""

from __future__ import annotations

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as ``5ms``, ``2s`` or ``1.5min``.

    Examples
    --------
    >>> parse_duration("5ms"), parse_duration("2s"), parse_duration("1.5min")
    (0.005, 2.0, 90.0)
    >>> parse_duration("5")
    Traceback (most recent call last):
    ...
    ValueError: '5' has no unit; write 5ms or 5s
    >>> parse_duration("5 parsecs")
    Traceback (most recent call last):
    ...
    ValueError: '5 parsecs' is not a duration; write a number and a unit, such as 5ms, 2s or 1min
    """
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(ns|us|µs|ms|s|min|m|h)?\s*", text)
    if match and match[2] is None:
        raise ValueError(f"{text!r} has no unit; write {match[1]}ms or {match[1]}s")
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not seconds > 0.0:
        raise ValueError(f"{text!r} is not a duration; write a number and a unit, such as 5ms, 2s or 1min")
    return seconds


def format_duration(seconds: float) -> str:
    """Return a duration as text, in the largest unit in which it is at least 1; NaN is a dash.

    Examples
    --------
    >>> format_duration(0.00425), format_duration(90), format_duration(float("nan"))
    ('4.25 ms', '90 s', '-')
    """
    if seconds != seconds:
        return "-"
    for unit in ("s", "ms", "us"):
        if seconds >= _UNITS[unit]:
            return f"{seconds / _UNITS[unit]:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
