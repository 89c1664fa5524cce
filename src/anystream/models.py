"""Table of the library's classifiers, and loading of their model files.

Importing this module is quick: the command line needs the table for its help, and NumPy and scikit-learn take seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from anystream.estimators.saving import SaveableMixin
    from anystream.model_file import ModelFile


class ModelEntry(NamedTuple):
    """One classifier of the library.

    Parameters
    ----------
    kind : str
        Name in model files and on the command line.
    package : str
        Package that exports the class; it is imported when the class is needed.
    class_name : str
        Name of the class.
    main : bool
        Whether `anystream` exports the class and ``anystream fit`` offers it; the others are for comparison.
    """

    kind: str
    package: str
    class_name: str
    main: bool

    def load_class(self) -> Any:
        """Import the package and return the class."""
        return getattr(import_module(self.package), self.class_name)


MODELS: dict[str, ModelEntry] = {
    entry.kind: entry
    for entry in (
        ModelEntry("bayes-tree", "anystream.bayes_tree", "BayesTreeClassifier", True),
        ModelEntry("neighbors", "anystream.neighbors", "AnytimeNeighborsClassifier", True),
        ModelEntry("locust", "anystream.subspace", "LocustClassifier", True),
        ModelEntry("micro-clusters", "anystream.microclusters", "MicroClusterClassifier", True),
        ModelEntry("kaog", "anystream.graph", "KAOGClassifier", True),
        ModelEntry("kaoginc", "anystream.graph", "KAOGINCClassifier", True),
        ModelEntry("forest", "anystream.forest", "AnytimeForestClassifier", True),
        ModelEntry("locust-blocks", "anystream.subspace", "BlockLocustClassifier", False),
        ModelEntry("naive-bayes", "anystream.drift", "GaussianNaiveBayes", False),
        ModelEntry("sea-ensemble", "anystream.drift", "SEAEnsemble", False),
        ModelEntry("dynamic-weighted-majority", "anystream.drift", "DynamicWeightedMajority", False),
        ModelEntry("wcea", "anystream.drift", "WCEA", False),
        ModelEntry("online-tree", "anystream.drift", "OnlineTree2", False),
    )
}
"""All classifiers of the library, by kind."""


def load(path: str | PathLike[str], *, mmap: bool = False, verify: bool = True) -> Any:
    """Return the classifier that ``save`` wrote.

    Parameters
    ----------
    path : path
        A model file.
    mmap : bool, default=False
        By default the file is copied into memory, and nothing that happens to it later matters. True maps it instead:
        processes share its memory, and the model may be larger than the memory, since numbers other than positions
        (about 97 % of a file) are read when a query visits them. A mapped file may be replaced, as ``save`` does, or
        removed. If it is changed or truncated in place, the next call raises `ModelFileError`, and a call in progress
        returns no result; only a query opened before goes on with what it reads.
        A forest maps the arrays of its file; the packed nodes that its queries read are made in memory. Kinds that
        cannot use a mapped file copy it all the same, and a RuntimeWarning says so.
    verify : bool, default=True
        Compare the file with its checksums, so that a single changed bit raises `ModelFileError`. This reads all of the
        file once, at more than 1 GB/s; False opens a mapped file at once.
    """
    from anystream.model_file import read_model

    file = read_model(path, mmap=mmap, verify=verify)
    model = restore_model(file, mapped=mmap)
    copied = explain_copy(file) if mmap else None
    if copied is not None:
        warnings.warn(copied, RuntimeWarning, stacklevel=2)
    return model


def restore_model(file: ModelFile, *, mapped: bool = False) -> Any:
    """Return the classifier in a model file that `anystream.model_file.read_model` has read.

    Parameters
    ----------
    file : ModelFile
        Content of the file.
    mapped : bool, default=False
        Whether the arrays of `file` lie in a memory-mapped file; see `load`.
    """
    _register_classes(file)
    return _find_class_of(file).from_file(file, mapped=mapped)


def explain_copy(file: ModelFile) -> str | None:
    """Return why mapping this file saves no memory; None if the model, or a member of it, reads the mapped arrays."""
    from anystream.estimators.saving import find_class

    _register_classes(file)
    classes = [found for found in map(find_class, _kinds_in(file)) if found is not None]
    if not all(found.copies_mapped_files for found in classes):
        return None
    return (
        f"{file.path}: models of kind {file.kind!r} cannot be mapped, the arrays were read into memory; for models "
        "larger than memory use a Bayes tree or nearest neighbours"
    )


def _register_classes(file: ModelFile) -> None:
    for kind in _kinds_in(file):
        if kind in MODELS:
            MODELS[kind].load_class()  # which registers the class


def _find_class_of(file: ModelFile) -> type[SaveableMixin]:
    from anystream.estimators.saving import find_class
    from anystream.model_file import ModelFileError

    found = find_class(file.kind)
    if found is None:
        known = ", ".join(sorted(MODELS))
        raise ModelFileError(
            f"{file.path}: holds a model of kind {file.kind!r}, this anystream has {known}; upgrade, or import the "
            "module that defines the classifier"
        )
    return found


def _kinds_in(file: ModelFile) -> Iterator[str]:
    """Yield the kind of a file and of everything nested in it, such as the members of an ensemble."""
    yield file.kind
    pending: list[Any] = [file.metadata]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if isinstance(value.get("kind"), str):
                yield value["kind"]
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
