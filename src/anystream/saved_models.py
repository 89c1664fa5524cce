"""The way back from a model file to a classifier."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import Any

from anystream.model_file import ModelFileError, read_model

_CLASSIFIERS = {
    "bayes-tree": ("anystream.bayes_tree", "BayesTreeClassifier"),
    "kaog": ("anystream.graph", "KAOGClassifier"),
    "kaoginc": ("anystream.graph", "KAOGINCClassifier"),
    "locust": ("anystream.subspace", "LocustClassifier"),
    "locust-blocks": ("anystream.subspace", "BlockLocustClassifier"),
    "micro-clusters": ("anystream.microclusters", "MicroClusterClassifier"),
    "neighbors": ("anystream.neighbors", "AnytimeNeighborsClassifier"),
}
"""Which classifier reads which kind of file. A file names its kind, never code."""


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
    if file.kind not in _CLASSIFIERS:
        known = ", ".join(sorted(_CLASSIFIERS))
        raise ModelFileError(f"{file.path}: holds a model of kind {file.kind!r}, this anystream knows {known}; upgrade")
    module, name = _CLASSIFIERS[file.kind]
    return getattr(import_module(module), name)._from_file(file, mapped=mmap)
