"""Table of the libraries, and the methods of those that are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from anystream.compare.candidate import Candidate


class Library(NamedTuple):
    """A library of classifiers.

    Parameters
    ----------
    name : str
        Name in tables.
    module : str
        File of `anystream.compare.libraries` with its adapter.
    packages : tuple of str
        Distributions that the adapter imports; the first has the version to report.
    methods : tuple of str
        Names of its classifiers, which are the keys of the adapter's ``METHODS``.
    needs : mapping of str to str
        Distributions that single methods need besides.
    """

    name: str
    module: str
    packages: tuple[str, ...]
    methods: tuple[str, ...]
    needs: dict[str, str]


LIBRARIES: dict[str, Library] = {
    library.name: library
    for library in (
        Library(
            "anystream",
            "own",
            ("anystream",),
            (
                *("bayes-tree", "neighbors", "locust", "micro-clusters", "kaoginc"),
                *("imported RandomForest(100)", "imported LightGBM(100)"),
            ),
            {"imported LightGBM(100)": "lightgbm"},
        ),
        Library("river", "river", ("river",), ("GaussianNB", "HoeffdingTree", "KNN(1000)", "ARF(10)", "AMF(10)"), {}),
        Library(
            "capymoa",
            "capymoa",
            ("capymoa",),
            ("NaiveBayes", "HoeffdingTree", "KNN(1000)", "SAMkNN(5000)", "ARF(10)", "SRP(10)"),
            {},
        ),
        Library("samlb", "samlb", ("samlb",), ("NaiveBayes", "HoeffdingTree", "KNN(1000)", "ARF(10)", "SRP(10)"), {}),
        Library(
            "scikit-learn",
            "sklearn",
            ("scikit-learn",),
            ("GaussianNB", "KNeighbors(5)", "RandomForest(100)", "HistGradientBoosting(100)"),
            {},
        ),
        Library("lightgbm", "lightgbm", ("lightgbm",), ("LightGBM(100)",), {}),
        Library(
            "onnxruntime",
            "onnxruntime",
            ("onnxruntime", "skl2onnx", "onnxmltools"),
            ("RandomForest(100)", "LightGBM(100)"),
            {"LightGBM(100)": "lightgbm"},
        ),
    )
}
"""Libraries by name, in the order of tables."""


class Method(NamedTuple):
    """One classifier of one library, by name."""

    library: str
    name: str

    @property
    def version(self) -> str:
        """Version of the library."""
        return installed_version(LIBRARIES[self.library].packages[0]) or "unknown"

    def create(self, n_features: int, n_classes: int, seed: int) -> Candidate:
        """Import the library and return an untrained classifier."""
        adapter = import_module(f"anystream.compare.libraries.{LIBRARIES[self.library].module}")
        make: Callable[[int, int, int], Candidate] = adapter.METHODS[self.name]
        return make(n_features, n_classes, seed)

    def __str__(self) -> str:
        return f"{self.library} {self.name}"


def find_methods(
    libraries: Iterable[str] | None = None, names: Iterable[str] | None = None
) -> tuple[list[Method], list[str]]:
    """Return the methods of installed libraries, and a message about each library or method that is left out.

    Parameters
    ----------
    libraries : iterable of str, optional
        Names of libraries; default: all.
    names : iterable of str, optional
        Parts of names of methods, such as ``bayes-tree`` or ``river HoeffdingTree``; default: all.

    Examples
    --------
    >>> methods, _ = find_methods(["scikit-learn"], ["forest"])
    >>> [str(method) for method in methods]
    ['scikit-learn RandomForest(100)']
    """
    wanted = [part.lower() for part in names] if names is not None else None
    methods, notes = [], []
    for library in LIBRARIES if libraries is None else libraries:
        if library not in LIBRARIES:
            raise ValueError(f"there is no library {library!r}; choose from {', '.join(LIBRARIES)}")
        entry = LIBRARIES[library]
        missing = [package for package in entry.packages if installed_version(package) is None]
        if missing:
            notes.append(f"{library} is left out: {', '.join(missing)} not installed; see make compare")
            continue
        for name in entry.methods:
            method = Method(library, name)
            if wanted is not None and not any(part in str(method).lower() for part in wanted):
                continue
            if name in entry.needs and installed_version(entry.needs[name]) is None:
                notes.append(f"{method} is left out: {entry.needs[name]} is not installed; see make compare")
                continue
            methods.append(method)
    if not methods:
        raise ValueError("no method is left to compare; give other --libraries or --methods")
    return methods, notes


def installed_version(package: str) -> str | None:
    """Return the version of a distribution; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
