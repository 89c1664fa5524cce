"""Saving classifiers to model files and reading them back."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from anystream.estimators.parameters import MAX_INT, check_random_state
from anystream.model_file import ModelFile, ModelFileError, ModelHead, require_metadata, write_model
from anystream.model_file.container import ALIGNMENT
from anystream.model_file.head import json_parameters
from anystream.model_file.payload import FileWatch


class ModelState(NamedTuple):
    """What a classifier has learned: metadata as JSON values, and arrays."""

    metadata: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class SaveableMixin(metaclass=ABCMeta):
    """`save` and `from_file`; a subclass declares its `kind` and defines how its state is dumped and restored.

    A model file stores arrays and JSON, never code. A class that declares `kind` is registered under it, so that
    `anystream.load` and ensembles find the class again.
    """

    kind: ClassVar[str]
    """Name of the model in files."""
    file_version: ClassVar[int] = 1
    """Version of the layout of this kind."""
    older_file_versions: ClassVar[tuple[int, ...]] = ()
    """Older versions that `restore_state` reads too."""
    has_columns: ClassVar[bool] = True
    """Whether every model has columns; False if there are models of records without features."""
    copies_mapped_files: ClassVar[bool] = False
    """Whether `restore_state` copies all arrays of a mapped file into memory, so that mapping saves none."""

    classes_: NDArray[Any]
    columns_: dict[Hashable, int]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register the class under the `kind` that it declares."""
        super().__init_subclass__(**kwargs)
        if "kind" in vars(cls):
            _register(cls.kind, cls)

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def dump_state(self) -> ModelState:
        """Return metadata and arrays from which `restore_state` restores what was learned."""

    @abstractmethod
    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Restore what `dump_state` returned, every value checked before it is used.

        Parameters and `check_parameters`, `classes_`, `columns_` and `n_features_in_` are done already. `mapped` tells
        whether the arrays lie in a memory-mapped file.
        """

    @property
    def file_page_bytes(self) -> int:
        """Bytes at whose multiples large arrays begin in files of the model."""
        return ALIGNMENT

    def parameters_to_json(self) -> dict[str, Any]:
        """Return the constructor parameters as JSON values."""
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]  # of BaseEstimator
        return json_parameters(parameters)

    @classmethod
    def parameters_from_json(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return constructor parameters from JSON values; TypeError or ValueError if they are invalid."""
        return dict(parameters)

    # -- mapped files ------------------------------------------------------------------------------------------------

    _file_watch: FileWatch | None = None  # of a model whose arrays are mapped

    def pin(self) -> Self:
        """Return a twin for one call that reads; ModelFileError if the mapped file of the model has changed."""
        self.check_unchanged()
        twin: Self = super().pin()  # type: ignore[misc]  # of AnytimeClassifier
        return twin

    def check_unchanged(self) -> None:
        """Raise ModelFileError if the mapped file of the model has changed."""
        if self._file_watch is not None:
            self._file_watch.check()

    # -- files -------------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the model to a file that holds no code; `anystream.load` reads it.

        The file is complete or absent: it is written under another name, read back and loaded as a test, and then
        moved. An older file at `path` stays if anything fails.

        Parameters
        ----------
        path : path
            Where to write.
        notes : mapping, optional
            JSON values to keep with the model, such as the columns of the table it was fitted on;
            ``anystream.model_file.read_model(path).metadata["notes"]`` returns them.
        """
        file = self.to_file()
        metadata = file.metadata if notes is None else file.metadata | {"notes": dict(notes)}
        write_model(
            path,
            kind=file.kind,
            version=file.version,
            metadata=metadata,
            arrays=file.arrays,
            check=self._check_written,
            page_bytes=self.file_page_bytes,
        )

    def to_file(self) -> ModelFile:
        """Return the content of the model's file, without writing it."""
        check_is_fitted(self)
        model: Any = self.published()  # type: ignore[attr-defined]  # of AnytimeClassifier
        if isinstance(vars(model).get("random_state"), np.random.RandomState | np.random.Generator):
            model.random_state = model.seed_  # what was drawn from it
        head = ModelHead(
            model.parameters_to_json(),
            model.classes_,
            tuple(model.columns_) if hasattr(model, "columns_") else None,
            hasattr(model, "feature_names_in_"),
        )
        metadata, arrays = model.dump_state()
        return ModelFile(Path(), self.kind, self.file_version, head.to_json() | _dump_seed(model) | metadata, arrays)

    def _check_written(self, written: ModelFile) -> None:
        """Raise ModelFileError if this content of a file, written but not in place yet, cannot be loaded."""
        try:
            type(self).from_file(written)
        except ModelFileError as problem:
            raise ModelFileError(f"{problem} (found when the file was read back; it was not written)") from None

    @classmethod
    def from_file(cls, file: ModelFile, *, mapped: bool = False) -> Self:
        """Return the model of a file, every value checked before it is used; `anystream.load` calls this."""
        head = ModelHead.read(file, cls.kind, (*cls.older_file_versions, cls.file_version))
        if head.columns is None and cls.has_columns:
            raise ModelFileError(f"{file.path}: has no columns; save the model again")
        with name_file_in_errors(cls, file):
            model: Any = cls(**cls.parameters_from_json(head.parameters))
        model.classes_ = head.classes
        if head.columns is not None:
            model.n_features_in_ = len(head.columns)
            model.columns_ = {name: column for column, name in enumerate(head.columns)}
            if head.named:
                model.feature_names_in_ = np.array(head.columns, dtype=object)
        if _SEED in file.metadata:
            model.seed_ = require_metadata(file, _SEED, int, low=0, high=MAX_INT)
        with name_file_in_errors(cls, file):
            check_random_state(head.parameters.get("random_state", 0))
            model.check_parameters()
        model.restore_state(file, mapped=mapped)
        if file.watch is not None:
            model._file_watch = file.watch
        made: Self = model
        return made


@contextmanager
def name_file_in_errors(cls: type, file: ModelFile) -> Iterator[None]:
    """Turn an invalid parameter in the block into a ModelFileError that names the file."""
    try:
        yield
    except ModelFileError:
        raise
    except (TypeError, ValueError, KeyError) as error:
        raise ModelFileError(f"{file.path}: the parameters are not those of a {cls.__name__}: {error}") from None


# -- seeds ----------------------------------------------------------------------------------------------------------

_SEED = "seed"


def _dump_seed(model: Any) -> dict[str, int]:
    return {_SEED: model.seed_} if "seed_" in vars(model) else {}


# -- kinds ----------------------------------------------------------------------------------------------------------

_CLASSES: dict[str, type[SaveableMixin]] = {}


def find_class(kind: str) -> type[SaveableMixin] | None:
    """Return the imported class that reads files of this kind, or None."""
    return _CLASSES.get(kind)


def is_saveable(estimator: object) -> bool:
    """Whether a model file can store models of exactly the class of `estimator`."""
    return isinstance(estimator, SaveableMixin) and find_class(estimator.kind) is type(estimator)


def _register(kind: str, cls: type[SaveableMixin]) -> None:
    taken = _CLASSES.get(kind)
    if taken is not None and (taken.__module__, taken.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(f"kind {kind!r} of {cls.__name__} belongs to {taken.__name__} already; choose another")
    _CLASSES[kind] = cls
