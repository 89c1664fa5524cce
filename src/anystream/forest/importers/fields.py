"""Fields of untrusted JSON and UBJSON, checked before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream.model_file.errors import InvalidContent, short

_T = TypeVar("_T")
_KINDS = {dict: "an object", list: "a list", str: "a text", int: "a whole number", float: "a number"}


def get_field(content: Mapping[str, Any], path: str, kind: type[_T]) -> _T:
    """Return the value at a path such as ``"learner.objective.name"``; raise InvalidContent if it is another type."""
    found: Any = content
    for key in path.split("."):
        if not isinstance(found, Mapping) or key not in found:
            raise InvalidContent(f"{path!r} is missing")
        found = found[key]
    if kind is float and type(found) is int:
        found = float(found)
    if type(found) is not kind:
        raise InvalidContent(f"{path!r} is {short(found)} instead of {_KINDS[kind]}")
    return found


def get_list(content: Mapping[str, Any], name: str) -> Any:
    """Return a list or an array that may be absent, as an empty list then."""
    found = content.get(name)
    if found is None:
        return []
    if not isinstance(found, (list, np.ndarray)):
        raise InvalidContent(f"{name!r} is {short(found)} instead of a list")
    return found


def parse_count(text: object, name: str, max_count: int) -> int:
    """Return a whole number from 0 to `max_count` that is stored as text or number."""
    if isinstance(text, str) and len(text) < 20 and text.isascii() and text.isdigit():
        text = int(text)
    if type(text) is not int or not 0 <= text <= max_count:
        raise InvalidContent(f"{name!r} is {short(text)}, allowed are whole numbers from 0 to {max_count}")
    return text


def int_array(content: Mapping[str, Any], name: str, size: int | None = None) -> NDArray[np.int64]:
    """Return a list of whole numbers; truth values count as 0 and 1."""
    array = _array(content, name, "biu", size)
    if array.dtype == np.uint64 and (array > 2**62).any():
        raise InvalidContent(f"{name!r} has {array.max()}, which is too large")
    return array.astype(np.int64)


def float_array(content: Mapping[str, Any], name: str, size: int | None = None) -> NDArray[np.float64]:
    """Return a list of numbers."""
    return _array(content, name, "iuf", size).astype(np.float64)


def _array(content: Mapping[str, Any], name: str, kinds: str, size: int | None) -> NDArray[Any]:
    found = content.get(name)
    if not isinstance(found, (list, np.ndarray)):
        raise InvalidContent(f"{name!r} is {short(found)} instead of a list")
    try:
        array = np.asarray(found if len(found) else np.empty(0, np.int64))
    except ValueError:  # lists of different lengths
        raise InvalidContent(f"{name!r} is {short(found)} instead of a list of numbers") from None
    if array.ndim != 1 or array.dtype.kind not in kinds:
        raise InvalidContent(f"{name!r} is {short(found)} instead of a list of numbers")
    if size is not None and len(array) != size:
        raise InvalidContent(f"{name!r} has {len(array)} numbers, expected {size}")
    return array
