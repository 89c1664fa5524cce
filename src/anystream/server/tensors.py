"""Tensors of the Open Inference Protocol: data types, in JSON and as raw bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from anystream.server.errors import BAD_REQUEST, RequestError

_DTYPES: dict[str, str] = {
    "BOOL": "?",
    "UINT8": "<u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "INT8": "<i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "FP16": "<f2",
    "FP32": "<f4",
    "FP64": "<f8",
    "BF16": "<u2",  # the upper half of an FP32
}
DATATYPES = (*_DTYPES, "BYTES")
"""Names of the data types."""
_MAX_DEPTH = 4  # nested lists in the data of a tensor

_floats = msgspec.json.Decoder(list[float])
_floats_or_missing = msgspec.json.Decoder(list[float | None])
_integers = msgspec.json.Decoder(list[int])
_booleans = msgspec.json.Decoder(list[bool])
_texts = msgspec.json.Decoder(list[str])
_anything = msgspec.json.Decoder()


def check_tensor(name: str, datatype: str, shape: Sequence[int], max_values: int) -> int:
    """Return the number of values in a tensor; raise if data type or shape are invalid."""
    if datatype not in DATATYPES:
        raise RequestError(
            BAD_REQUEST, f"inputs: the datatype of {name!r} is {datatype[:60]!r}; use one of {', '.join(DATATYPES)}"
        )
    if not 1 <= len(shape) <= 2 or min(shape) < 0:
        raise RequestError(
            BAD_REQUEST, f"inputs: the shape of {name!r} is {shape}; use [records] or [records, features]"
        )
    n_values = math.prod(shape)
    if n_values > max_values:
        raise RequestError(
            BAD_REQUEST, f"inputs: {name!r} has {n_values} values, the maximum is {max_values}; send fewer"
        )
    return n_values


def read_json_tensor(name: str, datatype: str, n_values: int, data: bytes) -> NDArray[np.float64] | list[str]:
    """Return the data of a tensor in JSON, flat or nested: numbers, null where missing, or for BYTES texts."""
    try:
        values = _decode_flat(datatype, data)
    except (msgspec.ValidationError, OverflowError):
        values = _decode_nested(name, datatype, data)
    if len(values) != n_values:
        raise RequestError(
            BAD_REQUEST, f"inputs: {name!r} has {len(values)} values, its shape says {n_values}; send as many"
        )
    return values


def _decode_flat(datatype: str, data: bytes) -> NDArray[np.float64] | list[str]:
    if datatype == "BYTES":
        return _texts.decode(data)
    if datatype == "BOOL":
        return np.array(_booleans.decode(data), dtype=np.float64)
    if datatype[0] in "UI":
        return np.array(_integers.decode(data), dtype=_DTYPES[datatype]).astype(np.float64)
    return np.array(_floats.decode(data), dtype=np.float64)


def _decode_nested(name: str, datatype: str, data: bytes) -> NDArray[np.float64] | list[str]:
    values: list[Any] = _anything.decode(data)
    for _ in range(_MAX_DEPTH):
        if not isinstance(values, list) or not any(isinstance(value, list) for value in values):
            break
        values = [inner for value in values for inner in (value if isinstance(value, list) else [value])]
    try:
        if not isinstance(values, list):
            raise TypeError
        flat = msgspec.json.encode(values)
        if datatype.startswith(("FP", "BF")):
            return np.array(
                [math.nan if value is None else value for value in _floats_or_missing.decode(flat)], dtype=np.float64
            )
        return _decode_flat(datatype, flat)
    except (msgspec.ValidationError, OverflowError, TypeError):
        raise RequestError(
            BAD_REQUEST, f"inputs: the data of {name!r} are not {datatype} values; send a list of them"
        ) from None


def read_raw_tensor(name: str, datatype: str, n_values: int, data: memoryview) -> NDArray[np.float64] | list[str]:
    """Return the data of a tensor in little-endian bytes as numbers or, for BYTES, texts."""
    if datatype == "BYTES":
        return _read_raw_texts(name, n_values, data)
    dtype = np.dtype(_DTYPES[datatype])
    if len(data) != n_values * dtype.itemsize:
        raise RequestError(
            BAD_REQUEST,
            f"inputs: {name!r} has {len(data)} bytes, its shape says {n_values * dtype.itemsize}; send as many",
        )
    values = np.frombuffer(data, dtype=dtype)
    if datatype == "BF16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    elif datatype == "BOOL":
        values = np.frombuffer(data, dtype=np.uint8) != 0
    return to_double(values)


def to_double(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return a copy in double precision; NaN of any bits is a missing value."""
    if values.dtype.kind != "f" or values.dtype.itemsize == 8:
        return values.astype(np.float64)
    with np.errstate(invalid="ignore"):  # NumPy would warn of signalling ones
        return values.astype(np.float64)


def _read_raw_texts(name: str, n_values: int, data: memoryview) -> list[str]:
    texts: list[str] = []
    at = 0
    try:
        while at < len(data) and len(texts) < n_values:
            end = at + 4 + int.from_bytes(data[at : at + 4], "little")
            if end > len(data):
                break
            texts.append(str(data[at + 4 : end], "utf-8"))
            at = end
    except UnicodeDecodeError:
        raise RequestError(
            BAD_REQUEST, f"inputs: value {len(texts)} of {name!r} is not UTF-8; send text in that encoding"
        ) from None
    if at != len(data) or len(texts) != n_values:
        raise RequestError(
            BAD_REQUEST, f"inputs: the bytes of {name!r} are not {n_values} values with their lengths before them"
        )
    return texts


def datatype_of(values: NDArray[Any]) -> str:
    """Return the data type of an output.

    Examples
    --------
    >>> datatype_of(np.array(["a", "b"])), datatype_of(np.array([1, 2])), datatype_of(np.array([True]))
    ('BYTES', 'INT64', 'BOOL')
    """
    return {"i": "INT64", "u": "UINT64", "f": "FP64", "b": "BOOL"}.get(values.dtype.kind, "BYTES")


def to_json_values(values: NDArray[Any]) -> list[Any]:
    """Return an output as a flat list."""
    flat: list[Any] = values.ravel().tolist()
    return flat if values.dtype.kind in "iufb" else [str(value) for value in flat]


def to_raw_bytes(values: NDArray[Any]) -> bytes:
    """Return an output as little-endian bytes."""
    datatype = datatype_of(values)
    if datatype != "BYTES":
        return values.astype(_DTYPES[datatype]).tobytes()
    texts = [str(value).encode() for value in values.ravel().tolist()]
    return b"".join(len(text).to_bytes(4, "little") + text for text in texts)
