"""A stream classifier as metadata and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from anystream.anytime.file_head import head_to_json, model_with_head, parameters_of
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays

if TYPE_CHECKING:
    from anystream.anytime.stream_model import StreamClassifier

Model = TypeVar("Model", bound="StreamClassifier")


def stream_model_to_file(model: StreamClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `stream_model_from_file` needs to make the model again."""
    arrays, d = model.model_.arrays(), model.n_features_in_
    return head_to_json(model), {name: arrays[name].reshape(_shape(spec, d)) for name, spec in model._arrays.items()}


def stream_model_from_file(cls: type[Model], file: ModelFile) -> Model:
    """The model of a file. Shapes and ranges are checked here, native code checks that the arrays fit each other."""
    model = model_with_head(cls, file)
    d, n_classes = model.n_features_in_, len(model.classes_)
    arrays, _ = check_arrays(file, model._arrays, {"d": d, "classes": n_classes})
    flat = {name: array.reshape(-1) for name, array in arrays.items()}
    with parameters_of(cls, file):
        try:
            model.model_ = cls._native_model.from_arrays(model._model_settings(), d, n_classes, flat)
        except ModelFileError as error:
            raise ModelFileError(f"{file.path}: {error}") from None
    return model


def _shape(spec: ArraySpec, d: int) -> tuple[int, ...]:
    if len(spec.shape) == 1:
        return (-1,)
    first, *rest = spec.shape
    return (first if isinstance(first, int) else -1, *(d if size == "d" else int(size) for size in rest))
