"""The way back from a model file to a classifier."""

from __future__ import annotations

from os import PathLike
from typing import Any

from anystream.anytime.kinds import classifier_of, known_kinds
from anystream.model_file import ModelFileError, read_model


def load(path: str | PathLike[str], *, mmap: bool = False) -> Any:
    """The classifier that ``save`` wrote.

    Parameters
    ----------
    path : path
        A model file.
    mmap : bool, default=False
        Answer straight from the file: it opens in a moment whatever its size, and only the parts that queries visit are
        read. Without it the file is read and every checksum and index is verified now; with it, what is visited is
        checked as it is visited, and everything before the model learns.
    """
    file = read_model(path, mmap=mmap)
    if file.kind not in known_kinds():
        known = ", ".join(known_kinds())
        raise ModelFileError(f"{file.path}: holds a model of kind {file.kind!r}, this anystream knows {known}; upgrade")
    return classifier_of(file.kind)._from_file(file, mapped=mmap)
