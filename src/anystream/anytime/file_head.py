"""What a model file says of any classifier beside its arrays: parameters, classes and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from anystream.anytime.class_labels import labels_from_json, labels_to_json
from anystream.model_file import ModelFile, ModelFileError, require_kind, require_metadata

Model = TypeVar("Model")


def head_to_json(model: Any, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What `model_with_head` needs. Where JSON cannot hold the parameters, the room gives what stands for them."""
    given = model.get_params() if parameters is None else parameters
    return {
        "parameters": {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()},
        "classes": labels_to_json(model.classes_),
        "columns": labels_to_json(np.array(list(model.columns_))) if hasattr(model, "columns_") else None,
        "named": hasattr(model, "feature_names_in_"),
    }


def model_with_head(
    cls: type[Model], file: ModelFile, parameters: Mapping[str, Any] | None = None, *, tabular: bool = True
) -> Model:
    """A model of a file's parameters, classes and columns; what it has learned is still to come.

    The parameters, all of them checked, are those of the file, or those given: the room knows what stands for what.
    Only a model of records that have no features (`tabular` is false) may lack columns.
    """
    kind, version = cls.kind, cls.file_version  # type: ignore[attr-defined]  # an anytime classifier
    require_kind(file, kind, (version,))
    given = require_metadata(file, "parameters", dict) if parameters is None else parameters
    with parameters_of(cls, file):
        model: Any = cls(**given)
    model.classes_ = labels_from_json(file, "classes")
    if len(model.classes_) == 0:
        raise ModelFileError(f"{file.path}: has no classes; save the model again")
    if tabular or file.metadata.get("columns") is not None:
        columns = labels_from_json(file, "columns")
        if len(columns) == 0:
            raise ModelFileError(f"{file.path}: has no features; save the model again")
        model.n_features_in_ = len(columns)
        model.columns_ = {name: column for column, name in enumerate(columns.tolist())}
        if require_metadata(file, "named", bool):
            model.feature_names_in_ = np.asarray(columns, dtype=object)
    with parameters_of(cls, file):
        model._check_parameters()
    made: Model = model
    return made


@contextmanager
def parameters_of(cls: type, file: ModelFile) -> Iterator[None]:
    """Say of a parameter that is refused in the block that it came from the file."""
    try:
        yield
    except ModelFileError:
        raise
    except (TypeError, ValueError, KeyError) as error:
        raise ModelFileError(f"{file.path}: the parameters are not those of a {cls.__name__}: {error}") from None
