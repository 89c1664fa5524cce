"""Strict parsing of JSON from untrusted files."""

import json
import math
from typing import Any

import numpy as np

from anystream.model_file.errors import InvalidContent, short

_MAX_DIGITS = 100  # of an integer; the state of a random generator has 39


def dump(value: Any) -> str:
    """Return JSON without spaces; raise ValueError for a number that is not finite."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def parse_json(raw: bytes, max_depth: int) -> Any:
    """Parse UTF-8 JSON with unique keys, finite numbers, valid strings and at most `max_depth` levels."""
    try:
        text = raw.decode()
        if (depth := depth_of(raw)) > max_depth:
            raise InvalidContent(f"its JSON is nested {depth} deep, allowed is {max_depth}")
        value = json.loads(
            text,
            object_pairs_hook=_parse_object,
            parse_int=_parse_int,
            parse_float=_parse_float,
            parse_constant=_parse_float,
        )
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair cannot be encoded
    except (UnicodeDecodeError, UnicodeEncodeError) as problem:
        raise InvalidContent(f"its JSON is not UTF-8 ({problem.reason})") from None
    except json.JSONDecodeError as problem:
        raise InvalidContent(f"its JSON is broken ({problem})") from None
    return value


def depth_of(raw: bytes) -> int:
    """Return the nesting depth, found without recursion, so that no file can exhaust the stack of json.loads.

    Exact up to the first character that JSON does not allow, where json.loads stops.
    """
    characters = np.frombuffer(raw.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)
    structure = characters[~np.logical_xor.accumulate(characters == ord('"'))]  # outside of strings
    opening = (structure == ord("[")) | (structure == ord("{"))
    closing = (structure == ord("]")) | (structure == ord("}"))
    return int(np.cumsum(opening.astype(np.int8) - closing, dtype=np.int32).max(initial=0))


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise InvalidContent(f"its JSON has {short(name)} twice")
        result[name] = value
    return result


def _parse_int(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise InvalidContent(f"its JSON has a number of {len(text)} digits, allowed are {_MAX_DIGITS}")
    return int(text)


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidContent(f"its JSON has {short(text)}, which is not finite")
    return number
