"""Checks of the content of a model file, made before any of it is used."""

import math
import re
import sys
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from anystream._native import ModelFileError
from anystream.model_file.container import CODES, DTYPE_NAMES, ModelFile
from anystream.model_file.errors import RESTORE, InvalidContent, short

_CHUNK = 2**18  # values checked together
_T = TypeVar("_T")


def require_kind(model_file: ModelFile, kind: str, versions: Collection[int]) -> None:
    """Raise ModelFileError unless the file holds this kind of model in one of the `versions`."""
    path, version = model_file.path, model_file.version
    if model_file.kind != kind:
        raise ModelFileError(f"{path}: holds a model of kind {short(model_file.kind)}; load it as such, not {kind!r}")
    if version in versions:
        return
    reads = f"version {version}, this one reads {min(versions)} to {max(versions)}"
    if version > max(versions):
        raise ModelFileError(f"{path}: written by a newer anystream ({reads}); upgrade")
    raise ModelFileError(f"{path}: written by an older anystream ({reads}); fit the model again")


def require_metadata(
    model_file: ModelFile,
    key: str,
    expected: type[_T],
    *,
    allowed: Container[Any] | None = None,
    low: float | None = None,
    high: float | None = None,
) -> _T:
    """Return one metadata value after checking its type and range.

    Parameters
    ----------
    model_file : ModelFile
        The file.
    key : str
        Name of the value.
    expected : type
        bool, int, float, str, list, dict, or a list of one of them such as ``list[str]``. A bool is not
        an int; an int is accepted as a float.
    allowed : container, optional
        Allowed values, such as ``range(2, 65)`` or ``("max", "mean")``; for a list, of its items.
    low, high : float, optional
        Smallest and largest number, both allowed; for a list, of its items.
    """
    item_types = get_args(expected)
    if (get_origin(expected) or expected) not in (bool, int, float, str, list, dict) or len(item_types) > 1:
        raise TypeError(f"expected is {expected}; use bool, int, float, str, list, dict or list[...]")

    def error(found: Any, wanted: str) -> ModelFileError:
        return ModelFileError(f"{model_file.path}: metadata {key!r} has {short(found)}, {wanted}; {RESTORE}")

    def checked(found: Any, item_type: Any) -> Any:
        if item_type is float and type(found) is int:
            found = float(found)
        if type(found) is not item_type:
            raise error(found, f"expected {item_type.__name__}")
        if allowed is not None and found not in allowed:
            raise error(found, f"allowed is {short(allowed)}")
        if (low is not None and found < low) or (high is not None and found > high):
            raise error(found, f"allowed is {_range_text(low, high)}")
        return found

    if key not in model_file.metadata:
        raise ModelFileError(f"{model_file.path}: metadata {key!r} is missing; {RESTORE}")
    value = model_file.metadata[key]
    if not item_types:
        return cast(_T, checked(value, expected))
    if type(value) is not list:
        raise error(value, "expected a list")
    return cast(_T, [checked(item, item_types[0]) for item in value])


@dataclass(frozen=True)
class ArraySpec:
    """Required type, shape and values of an array; checked before native code uses it.

    Parameters
    ----------
    dtype : str
        Such as ``"int32"``. The bytes of a bool array must be 0 or 1.
    shape : tuple of int or str
        A name stands for a size, the same wherever it occurs; it may have an offset, as in ``"nodes+1"``.
    low, high : number or str, optional
        Smallest and largest value, both allowed. A name stands for a size, here too: an index into the
        entries is at most ``"entries-1"``. For floats above zero take ``low=sys.float_info.min``.
    finite : bool, default=False
        No NaN, no infinity.
    sorted : bool, default=False
        Values never decrease; one axis only.

    Notes
    -----
    NaN fails a range and an order. All checks except dtype and shape read every value, and so all of a mapped array,
    once.
    """

    dtype: str
    shape: tuple[int | str, ...]
    low: float | str | None = None
    high: float | str | None = None
    finite: bool = False
    sorted: bool = False

    def __post_init__(self) -> None:
        if np.dtype(self.dtype).str[1:] not in CODES:
            raise ValueError(f"dtype is {self.dtype!r}; use one of {DTYPE_NAMES}")
        if self.sorted and len(self.shape) != 1:
            raise ValueError(f"sorted needs one axis, shape is {self.shape}; leave sorted out")
        for size in (*self.shape, self.low, self.high):
            if isinstance(size, str):
                _split(size)


def check_arrays(
    model_file: ModelFile, specs: Mapping[str, ArraySpec], sizes: Mapping[str, int] | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, int]]:
    """Return the arrays of a model and the sizes they share, after checking each array against its spec.

    Parameters
    ----------
    model_file : ModelFile
        The file; its arrays must be exactly those of `specs`.
    specs : mapping of str to ArraySpec
        A named size gets its value where it first occurs in a shape; all later occurrences must equal it.
    sizes : mapping of str to int, optional
        Sizes known in advance, such as the number of features from the metadata.

    Returns
    -------
    arrays : dict of str to ndarray
        In the order of `specs`.
    sizes : dict of str to int
        The given and the found ones.

    Examples
    --------
    >>> from pathlib import Path
    >>> arrays = {"first": np.array([0, 2], np.int32), "mean": np.ones((2, 3))}
    >>> specs = {
    ...     "mean": ArraySpec("float64", ("entries", "d"), finite=True),
    ...     "first": ArraySpec("int32", ("nodes+1",), low=0, high="entries", sorted=True),
    ... }
    >>> check_arrays(ModelFile(Path("tree.safetensors"), "tree", 1, {}, arrays), specs, sizes={"d": 3})[1]
    {'d': 3, 'entries': 2, 'nodes': 1}
    """
    try:
        return check_named_arrays(model_file.arrays, specs, sizes)
    except InvalidContent as problem:
        raise ModelFileError(f"{model_file.path}: {problem}") from None


def check_named_arrays(
    found: Mapping[str, NDArray[Any]], specs: Mapping[str, ArraySpec], sizes: Mapping[str, int] | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, int]]:
    """Like `check_arrays`, for arrays that are not from a model file; raise InvalidContent, which names no path."""
    known = dict(sizes or {})
    if missing := specs.keys() - found.keys():
        raise InvalidContent(f"the arrays {short(sorted(missing))} are missing")
    if surplus := found.keys() - specs.keys():
        raise InvalidContent(f"it has unexpected arrays, {short(sorted(surplus))}")
    for name, spec in specs.items():
        _check_shape(name, found[name], spec, known)
    for name, spec in specs.items():  # all sizes are known now
        _check_values(name, found[name], spec, known)
    return {name: found[name] for name in specs}, known


def _check_shape(name: str, array: NDArray[Any], spec: ArraySpec, known: dict[str, int]) -> None:
    """Check dtype and shape, and add sizes that occur for the first time to `known`."""
    if array.dtype != np.dtype(spec.dtype):
        raise InvalidContent(f"array {name!r} has dtype {array.dtype}, expected {spec.dtype}")
    matches = array.ndim == len(spec.shape)
    symbols = set()
    for size, wanted in zip(array.shape, spec.shape, strict=False):
        if isinstance(wanted, str):
            symbol, offset = _split(wanted)
            symbols.add(symbol)
            matches &= known.setdefault(symbol, max(size - offset, 0)) + offset == size
        else:
            matches &= wanted == size
    if not matches:
        values = "".join(f", {symbol} = {known[symbol]}" for symbol in sorted(symbols))
        wanted_shape = str(spec.shape).replace("'", "")
        raise InvalidContent(f"array {name!r} has shape {array.shape}, expected {wanted_shape}{values}")


def _check_values(name: str, array: NDArray[Any], spec: ArraySpec, known: Mapping[str, int]) -> None:
    low, high = _resolve(name, spec.low, known), _resolve(name, spec.high, known)
    values = array.reshape(-1)
    if array.dtype == np.bool_:
        values, low, high = values.view(np.uint8), 0, 1
    if low is None and high is None and not spec.finite and not spec.sorted:
        return
    limit = sys.float_info.max if spec.finite else math.inf
    at_least = -limit if low is None else max(low, -limit)
    at_most = limit if high is None else min(high, limit)
    for start in range(0, values.size, _CHUNK):
        part = values[start : start + _CHUNK + 1]  # one more, for the order across chunks
        with np.errstate(invalid="ignore"):
            smallest, largest = part.min().item(), part.max().item()  # NaN if there is one
            rises = part[1:] >= part[:-1] if spec.sorted else np.True_
        if not (at_least <= smallest and largest <= at_most):
            bad = next(i for i, value in enumerate(part.tolist()) if not at_least <= value <= at_most)
            index = ", ".join(str(axis) for axis in np.unravel_index(start + bad, array.shape))
            allowed = _range_text(low, high, spec.finite)
            raise InvalidContent(f"array {name!r} has {part[bad]} at index ({index}), allowed is {allowed}")
        if not rises.all():
            bad = int(np.argmin(rises))
            fall = f"{part[bad]} to {part[bad + 1]} at index ({start + bad + 1})"
            raise InvalidContent(f"array {name!r} decreases from {fall}, allowed is to stay or increase")


def _resolve(name: str, bound: float | str | None, known: Mapping[str, int]) -> float | None:
    if not isinstance(bound, str):
        return bound
    symbol, offset = _split(bound)
    if symbol not in known:
        raise ValueError(
            f"the range of array {name!r} uses {symbol!r}, which does not occur in a shape; pass it in sizes"
        )
    return known[symbol] + offset


def _split(expression: str) -> tuple[str, int]:
    """Split ``"nodes+1"`` into ``("nodes", 1)``."""
    match = re.fullmatch(r"([A-Za-z_]\w*)([+-]\d+)?", expression)
    if match is None:
        raise ValueError(f"size is {expression!r}; write a name, or one with an offset such as 'nodes+1'")
    return match[1], int(match[2] or 0)


def _range_text(low: float | None, high: float | None, finite: bool = False) -> str:
    ends = [f"from {low}"] * (low is not None) + [f"to {high}"] * (high is not None)
    return " ".join(["finite"] * finite + ends) or "any number"
