"""Reading and writing models: arrays and metadata, no code.

A model file is a safetensors file, so other tools and languages can read it::

    8 bytes    N, the length of the header: unsigned, little-endian
    N bytes    the header: JSON, then spaces up to a multiple of 64 bytes, or of a page
                 "__metadata__": format, kind, version, metadata (JSON), array_checksums (JSON), checksum
                 "<array>":      dtype, shape, data_offsets [begin, end) within the payload
    the rest   the payload: arrays back to back, little-endian, C order

Every array begins at a multiple of 64 bytes; in a file in pages, an array that would straddle two begins at a page,
counted from the start of the file. The format has no gaps, so an array of zero bytes named
``_padding_<i>`` fills each; `read_model` hides it. Other tools may reorder the arrays.

CRC-32 detects damage: ``checksum`` covers the header except the offsets, which must place the arrays without gap or
overlap, and is always verified; ``array_checksums`` cover the payload and are verified unless the caller declines.
Security does not depend on them, since anybody can compute them: the header is checked in full before any use, and
`check_arrays` requires the shapes and values that native code relies on.
"""

import errno
import json
import math
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anystream._native import ModelFileError
from anystream.model_file.errors import InvalidContent, short
from anystream.model_file.payload import FileWatch, copy_payload, map_payload, read_chunks
from anystream.model_file.replace_file import replace_file
from anystream.model_file.strict_json import dump, parse_json

FORMAT = "anystream 1"
ALIGNMENT = 64
"""Bytes at whose multiples arrays begin: a cache line, and the widest vector register."""
_MAX_HEADER = 16 * 2**20  # bytes
_MAX_SIZE = 2**63 - 1  # bytes of one array, or elements along one axis
_MAX_AXES = 32
_HEADER_DEPTH = 3  # header > array > shape
_METADATA_DEPTH = 32
_PADDING = "_padding_"
_FIELDS = ("format", "kind", "version", "metadata", "array_checksums", "checksum")
_DTYPES = {
    "BOOL": np.dtype("?"),
    "I8": np.dtype("i1"),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
    "U16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
CODES = {dtype.str[1:]: code for code, dtype in _DTYPES.items()}  # "f4" -> "F32", whatever the byte order
DTYPE_NAMES = ", ".join(dtype.name for dtype in _DTYPES.values())


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The content of a model file.

    Attributes
    ----------
    path : Path
        The file it was read from.
    kind : str
        Kind of model, such as ``"bayes-tree"``.
    version : int
        Version of that kind's layout, from 1.
    metadata : dict
        Settings and names as JSON values.
    arrays : dict of str to ndarray
        Read-only, in the order of the file.
    watch : FileWatch, optional
        If the arrays are mapped: tells whether the file has changed since.
    """

    path: Path
    kind: str
    version: int
    metadata: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    watch: FileWatch | None = None


class _Entry(NamedTuple):
    """One array as the header describes it; begin and end count bytes of the payload."""

    name: str
    code: str
    shape: tuple[int, ...]
    begin: int
    end: int


def write_model(
    path: str | os.PathLike[str],
    *,
    kind: str,
    version: int,
    metadata: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    check: Callable[[ModelFile], object] | None = None,
    page_bytes: int = ALIGNMENT,
) -> None:
    """Write a model file atomically.

    The bytes are written to a temporary file in the same folder, synced to disk, read back, compared with their
    checksums and renamed to `path`. If anything fails, an older file stays unchanged. Processes that have the older
    file mapped keep it.

    Parameters
    ----------
    path : path-like
        Where to write; a symbolic link is followed, the folder must exist.
    kind : str
        Kind of model, such as ``"bayes-tree"``.
    version : int
        Version of that kind's layout, from 1.
    metadata : mapping of str to JSON values
        Must be equal after a JSON round trip: lists rather than tuples, string keys, Python numbers, no NaN.
    arrays : mapping of str to ndarray
        Any byte order and strides. They are written in this order.
    check : callable, optional
        Called with the content that was read back; if it raises, an older file stays.
    page_bytes : int, default=64
        Multiple of 64: an array that would straddle two pages of this size begins at one.

    Raises
    ------
    ModelFileError
        When an argument cannot be stored, or what was written is not what is read back.
    OSError
        When writing fails.
    """
    target = Path(os.path.realpath(path))
    try:
        chunks = _encode(kind, version, metadata, arrays, page_bytes)
        if target.exists() and not target.is_file():
            raise InvalidContent("a folder or a device has this name", "name a file")
    except InvalidContent as problem:
        raise ModelFileError(f"{path}: not written: {problem}") from None
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder; create it first", str(target.parent))

    def read_back(temporary: Path) -> None:
        try:
            with open(temporary, "rb") as file:
                written = _read(Path(path), file, mmap=True, verify=True)
        except InvalidContent as problem:
            fault = f"not written: read back, {problem.fault}; check disk and memory"
            raise ModelFileError(f"{path}: {fault}") from None
        if check is not None:
            check(written)

    replace_file(target, chunks, check=read_back)


def read_model(path: str | os.PathLike[str], *, mmap: bool = False, verify: bool = True) -> ModelFile:
    """Read a model.

    Parameters
    ----------
    path : path-like
        A file that `write_model` wrote.
    mmap : bool, default=False
        Map the arrays instead of copying them into memory, see `anystream.load`.
    verify : bool, default=True
        Compare the arrays with their checksums, which reads the whole file once, mapped or not. The checksum of the
        header is always verified.

    Raises
    ------
    FileNotFoundError
        When the file does not exist.
    ModelFileError
        When it cannot be read, is damaged, or is not a model of anystream.
    """
    with open_model_file(path) as file:
        return _read(Path(path), file, mmap, verify)


@contextmanager
def open_model_file(path: str | os.PathLike[str]) -> Iterator[BufferedReader]:
    """Open a file for reading; raise what goes wrong inside as `ModelFileError` that names it."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # before opening: a pipe would wait for its writer
            raise InvalidContent("it is a folder or a device", "name the model file itself")
        with open(path, "rb") as file:
            yield file
    except InvalidContent as problem:
        raise ModelFileError(f"{path}: {problem}") from None
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise ModelFileError(f"{path}: cannot be read ({problem}); check path and permissions") from problem


def _read(path: Path, file: BufferedReader, mmap: bool, verify: bool) -> ModelFile:
    size = os.fstat(file.fileno()).st_size
    head = file.read(9)
    header_size = int.from_bytes(head[:8], "little")
    if head[8:] != b"{" and head[:8] not in (b"", bytes(8)):
        raise InvalidContent(
            f"this is not an anystream model, it begins with {head!r}",
            "name a file that `anystream fit` or `save` wrote",
        )
    file.seek(8)
    if not 2 <= header_size <= min(size - 8, _MAX_HEADER) or header_size % 8:
        raise InvalidContent(
            f"of its {size} bytes it takes {header_size} for the header, allowed are multiples of 8 "
            f"up to {_MAX_HEADER}: it is truncated or not a model"
        )
    payload_size = size - 8 - header_size
    fields, entries = _parse_header(file.read(header_size), payload_size)
    _check_format(fields)
    checksums = _check_header_sum(fields, entries)
    metadata = parse_json(fields["metadata"].encode(), _METADATA_DEPTH)
    if type(metadata) is not dict:
        raise InvalidContent(f"its metadata is {short(metadata)} instead of an object")
    start = 8 + header_size
    mapping = None
    if mmap:
        payload, mapping = map_payload(file, start, size)
    else:
        payload = copy_payload(file, start, size, ALIGNMENT)
    if verify:
        for name, _, _, begin, end in entries:  # a mapped file is read beside the mapping, which takes no memory
            chunks = read_chunks(file, start + begin, start + end) if mmap else [payload[begin:end].data]
            if _array_sum(chunks) != checksums[name]:
                raise InvalidContent(f"array {short(name)} differs from its checksum {short(checksums[name])}")
    arrays = {
        name: payload[begin:end].view(_DTYPES[code]).reshape(shape)
        for name, code, shape, begin, end in entries
        if not name.startswith(_PADDING)
    }
    watch = None if mapping is None else FileWatch(path, mapping)
    return ModelFile(path, fields["kind"], int(fields["version"]), metadata, arrays, watch)


def _parse_header(header: bytes, payload_size: int) -> tuple[dict[str, str], list[_Entry]]:
    """Return the ``__metadata__`` and the arrays in the order of the payload, which they must fill exactly."""
    if not header.startswith(b"{"):
        raise InvalidContent(f"its header begins with {header[:1]!r} instead of a brace")
    content = parse_json(header, _HEADER_DEPTH)
    fields = content.pop("__metadata__", {})
    if type(fields) is not dict or not all(type(value) is str for value in fields.values()):
        raise InvalidContent(f"__metadata__ is {short(fields)} instead of an object of strings")
    entries = [_parse_entry(name, entry) for name, entry in content.items()]
    entries.sort(key=lambda entry: (entry.begin, entry.end))
    reached = 0
    for entry in entries:
        if entry.begin != reached:
            raise InvalidContent(f"array {short(entry.name)} begins at byte {entry.begin} instead of {reached}")
        reached = entry.end
    if reached != payload_size:
        raise InvalidContent(f"its arrays have {reached} bytes and its payload {payload_size}")
    return fields, entries


def _parse_entry(name: str, entry: Any) -> _Entry:
    where = f"array {short(name)}"
    if type(entry) is not dict or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise InvalidContent(f"{where} is {short(entry)} instead of dtype, shape and data_offsets")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if type(code) is not str or code not in _DTYPES:
        raise InvalidContent(f"{where} has dtype {short(code)}, allowed are {', '.join(_DTYPES)}")
    if type(shape) is not list or len(shape) > _MAX_AXES or not all(map(_is_size, shape)):
        raise InvalidContent(f"{where} has shape {short(shape)} instead of up to {_MAX_AXES} sizes")
    if type(offsets) is not list or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise InvalidContent(f"{where} has data_offsets {short(offsets)} instead of two sizes")
    begin, end = offsets
    item = _DTYPES[code].itemsize
    if item * math.prod(n for n in shape if n) > _MAX_SIZE:  # NumPy's limit, for an empty array as well
        raise InvalidContent(f"{where} has shape {short(shape)}, which is more than {_MAX_SIZE} bytes")
    if end - begin != item * math.prod(shape):
        raise InvalidContent(f"{where} has bytes {begin} to {end} for shape {short(shape)} of {code}")
    if begin % item and begin != end:  # native code loads aligned values only
        raise InvalidContent(f"{where} begins at byte {begin}, not at a multiple of its item size {item}")
    return _Entry(name, code, tuple(shape), begin, end)


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MAX_SIZE


def _check_format(fields: dict[str, str]) -> None:
    layout = fields.get("format", "")
    if layout != FORMAT and layout.startswith("anystream "):
        raise InvalidContent(f"it has format {short(layout)}, this anystream reads {FORMAT!r}", "upgrade anystream")
    if layout != FORMAT or "kind" not in fields:
        raise InvalidContent("it has no format and kind of anystream in its __metadata__", "save a model of anystream")
    if fields.keys() != set(_FIELDS):
        raise InvalidContent(f"__metadata__ has {short(sorted(fields))} instead of {', '.join(_FIELDS)}")
    if not fields["kind"]:
        raise InvalidContent("its kind is empty")
    if not re.fullmatch("[1-9][0-9]{0,8}", fields["version"]):
        raise InvalidContent(f"its version is {short(fields['version'])} instead of a number from 1")


def _check_header_sum(fields: dict[str, str], entries: list[_Entry]) -> dict[str, str]:
    """Verify the checksum of the header and return those of the arrays."""
    found, expected = fields["checksum"], _header_sum(fields, entries)
    if found != expected:
        raise InvalidContent(f"its header differs from its checksum: {short(found)}, expected {expected}")
    checksums = parse_json(fields["array_checksums"].encode(), 1)
    if type(checksums) is not dict or checksums.keys() != {entry.name for entry in entries}:
        raise InvalidContent(f"array_checksums are {short(checksums)} instead of one for each array")
    return checksums


def _array_sum(chunks: Iterable[bytes | memoryview]) -> str:
    """Return the CRC-32 of the bytes of an array."""
    checksum = 0
    for chunk in chunks:
        checksum = zlib.crc32(chunk, checksum)
    return f"{checksum:08x}"


def _header_sum(fields: dict[str, str], entries: Iterable[_Entry]) -> str:
    """Return the CRC-32 of the header's content, independent of formatting and of array offsets."""
    described = [fields[key] for key in ("kind", "version", "metadata", "array_checksums")]
    listed = sorted((entry.name, entry.code, entry.shape) for entry in entries)
    return f"{zlib.crc32(json.dumps([described, listed]).encode()):08x}"


def _encode(
    kind: str, version: int, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], page_bytes: int
) -> list[bytes | memoryview]:
    """Return all bytes of the file, in order."""
    if type(kind) is not str or not kind:
        raise InvalidContent(f"kind is {short(kind)}", "name the model, such as 'bayes_tree'")
    if type(version) is not int or not 1 <= version < 10**9:
        raise InvalidContent(f"version is {short(version)}", "count layouts from 1")
    if type(page_bytes) is not int or page_bytes < ALIGNMENT or page_bytes % ALIGNMENT:
        raise InvalidContent(f"page_bytes is {short(page_bytes)}", f"use a multiple of {ALIGNMENT}")
    entries, payload = _lay_out(arrays, page_bytes)
    sums = {entry.name: _array_sum([data]) for entry, data in zip(entries, payload, strict=True)}
    fields = {
        "format": FORMAT,
        "kind": kind,
        "version": str(version),
        "metadata": _metadata_text(dict(metadata)),
        "array_checksums": dump(sums),
    }
    fields["checksum"] = _header_sum(fields, entries)
    content: dict[str, Any] = {"__metadata__": fields}
    for name, code, shape, begin, end in entries:
        content[name] = {"dtype": code, "shape": shape, "data_offsets": (begin, end)}
    header = dump(content).encode()
    header += b" " * (-(8 + len(header)) % page_bytes)
    if len(header) > _MAX_HEADER:
        raise InvalidContent(f"header of {len(header)} bytes, allowed are {_MAX_HEADER}", "move metadata to an array")
    try:  # verify that what is written can be read
        _parse_header(header, entries[-1].end if entries else 0)
    except InvalidContent as problem:
        raise InvalidContent(problem.fault, "rename or reshape the array") from None
    return [len(header).to_bytes(8, "little"), header, *payload]


def _lay_out(arrays: Mapping[str, NDArray[Any]], page_bytes: int) -> tuple[list[_Entry], list[memoryview]]:
    """Return entries and bytes of the arrays, each at a multiple of 64 or of a page, and of the padding."""
    entries: list[_Entry] = []
    payload: list[memoryview] = []

    def append(name: str, array: NDArray[Any], code: str) -> None:
        data = np.asarray(array, _DTYPES[code], order="C").reshape(-1).view(np.uint8)
        begin = entries[-1].end if entries else 0
        entries.append(_Entry(name, code, array.shape, begin, begin + data.size))
        payload.append(data.data)

    for name, array in arrays.items():
        if type(name) is not str or name in ("", "__metadata__") or name.startswith(_PADDING):
            raise InvalidContent(f"an array cannot be named {short(name)}", "give it another name")
        if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
            raise InvalidContent(f"array {short(name)} is a {type(array).__name__}", "pass a plain NumPy array")
        code = CODES.get(array.dtype.str[1:])
        if code is None:
            raise InvalidContent(f"array {short(name)} has dtype {array.dtype}", f"convert it to one of {DTYPE_NAMES}")
        gap = _gap_before(array.nbytes, entries[-1].end, page_bytes) if entries else 0
        if gap and array.size:
            append(f"{_PADDING}{len(entries)}", np.zeros(gap, np.uint8), "U8")
        append(name, array, code)
    return entries, payload


def _gap_before(n_bytes: int, end: int, page_bytes: int) -> int:
    """Return the bytes to leave free before an array, so that it straddles no page unless it is larger than one."""
    gap = -end % ALIGNMENT
    straddles = (end + gap) // page_bytes != (end + gap + n_bytes - 1) // page_bytes
    return -end % page_bytes if straddles else gap


def _metadata_text(metadata: dict[str, Any]) -> str:
    """Return the metadata as JSON, after checking that it is equal after a round trip."""
    for key, value in metadata.items():
        try:
            equal = parse_json(dump({key: value}).encode(), _METADATA_DEPTH) == {key: value}
        except (TypeError, ValueError, RecursionError, InvalidContent) as problem:
            fault = problem.fault if isinstance(problem, InvalidContent) else str(problem)
            raise InvalidContent(f"metadata {short(key)} is not plain JSON ({fault})", "convert it") from None
        if not equal:
            remedy = "use lists, and dicts with string keys"
            raise InvalidContent(f"metadata {short(key)} is {short(value)}, which JSON would change", remedy)
    return dump(metadata)
