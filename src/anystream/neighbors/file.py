"""Exemplars in a model file: arrays of the native gallery and of the distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.anytime.profile import PerformanceProfile
from anystream.model_file import ArraySpec, ModelFile, ModelFileError, check_arrays, require_metadata
from anystream.model_file.errors import RESTORE
from anystream.neighbors.exemplars import Exemplars
from anystream.neighbors.recipe import NeighborsRecipe
from anystream.neighbors.training_set import AnyExemplars

_COMMON = {
    "label": ArraySpec("int32", ("exemplars",), low=0, high="classes-1"),
    "serial": ArraySpec("int64", ("exemplars",), low=-1),
    "layout": ArraySpec("int64", (9,), low=0),
    "list": ArraySpec("int64", ("borders",), low=0, high="exemplars", sorted=True),
    "centre_distance": ArraySpec("float64", ("listed",), low=0),
    "useful": ArraySpec("uint8", ("late",), high=1),
    "fronts": ArraySpec("int64", ("fronts",), low=0, high="exemplars", sorted=True),
    "renewal": ArraySpec("int64", ("renewal",), low=0, high="exemplars"),
}
_BLOCKS = {
    "rows": ArraySpec("float64", ("values",)),
    "blocks": ArraySpec("uint32", ("lanes",)),
    "slack": ArraySpec("float32", ("blocks",), low=0),
    "origin": ArraySpec("float64", ("width",), finite=True),
    "scale": ArraySpec("float64", (1,), low=0, finite=True),
    "missing": ArraySpec("uint8", (1,), high=1),
}
_PAIRS = {
    "values": ArraySpec("float64", ("values",), finite=True),
    "first": ArraySpec("int64", ("exemplars",), low=0, high="values"),
    "length": ArraySpec("int64", ("exemplars",), low=0, high="values"),
    "traits": ArraySpec("float64", ("traits",), finite=True),
}
_LEARNED = "learned."
_TRIMMED = "trimmed_profile"


def dump_exemplars(exemplars: AnyExemplars) -> dict[str, NDArray[Any]]:
    """Return the arrays of the exemplars and of their distance; TypeError for a Python metric."""
    if not isinstance(exemplars, Exemplars):
        raise TypeError(
            "a model file stores no code, so it cannot store a Python metric; pickle it, or use a named metric"
        )
    learned = {_LEARNED + name: array for name, array in exemplars.distance.learned.items()}
    return {**exemplars.gallery.arrays(), **learned}


def read_exemplars(file: ModelFile, recipe: NeighborsRecipe, n_features: int, n_classes: int) -> Exemplars:
    """Return the exemplars of a file, every value checked before it is used.

    Parameters
    ----------
    file : ModelFile
        A file with the arrays that `dump_exemplars` returned.
    recipe : NeighborsRecipe
        The parameters of the model.
    n_features : int
        Number of features; 0 if records have none.
    n_classes : int
        Number of classes.
    """
    distance = recipe.new_distance()
    learned = {_LEARNED + name: spec for name, spec in distance.array_specs().items()}
    layout = _BLOCKS if "blocks" in file.arrays else _PAIRS
    specs = {**_COMMON, **layout, **learned}
    arrays, _ = check_arrays(file, specs, {"classes": n_classes, "d": n_features})
    distance.learned = {name.removeprefix(_LEARNED): np.array(arrays.pop(name)) for name in learned}
    try:
        distance.check_learned(n_features)
        gallery = _native.NeighborsGallery.from_arrays(distance.native_metric, n_classes, recipe.capacity, arrays)
    except ModelFileError as error:  # of native code, which adds what to do
        raise ModelFileError(f"{file.path}: {error}") from None
    except (OverflowError, TypeError, ValueError) as error:
        raise ModelFileError(f"{file.path}: {error}; {RESTORE}") from None
    return Exemplars(distance, gallery)


def dump_trimmed_profile(profile: PerformanceProfile | None) -> dict[str, Any]:
    """Return the metadata of a `trimmed_profile_`."""
    return {_TRIMMED: None if profile is None else profile.to_json()}


def read_trimmed_profile(file: ModelFile) -> PerformanceProfile | None:
    """Return the `trimmed_profile_` of a file."""
    if file.metadata.get(_TRIMMED) is None:
        return None
    try:
        return PerformanceProfile.from_json(require_metadata(file, _TRIMMED, str))
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(f"{file.path}: {error}") from None
