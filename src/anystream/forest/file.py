"""Model files of forests: the arrays of the ensemble and its order."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from anystream.estimators.saving import ModelState
from anystream.forest.ensemble import ARRAY_NAMES, TreeEnsemble
from anystream.forest.link import Link, LinkKind
from anystream.model_file import ModelFile, ModelFileError
from anystream.model_file.checks import require_metadata
from anystream.model_file.errors import InvalidContent

_FLAGS = ("single_records", "single_sums", "accepts_missing")


def dump_ensemble(ensemble: TreeEnsemble, rules: dict[str, NDArray[Any]]) -> ModelState:
    """Return the metadata and arrays of an ensemble and of the rules by which it is read; empty ones are left out."""
    coded = sorted(ensemble.categories)
    lists = [np.asarray(ensemble.categories[feature], np.float64) for feature in coded]
    metadata: dict[str, Any] = {name: getattr(ensemble, name) for name in _FLAGS}
    metadata |= {
        "link": ensemble.link.kind,
        "scale": ensemble.link.scale,
        "label_from_scores": ensemble.link.label_from_scores,
        "zero_is_positive": ensemble.link.zero_is_positive,
        "divisor": ensemble.divisor,
        "min_category": ensemble.min_category,
        "source": ensemble.source,
        "coded_features": coded,
    }
    arrays = {name: getattr(ensemble, name) for name in ARRAY_NAMES}
    arrays["n_codes"] = np.array([len(each) for each in lists], np.int64)
    arrays["codes"] = np.concatenate([np.empty(0), *lists])
    arrays |= {name: rule for name, rule in rules.items() if name == "order" or len(rule)}
    return ModelState(metadata, arrays)


def read_ensemble_state(
    file: ModelFile, classes: NDArray[Any], feature_names: tuple[str, ...] | None, n_features: int
) -> tuple[TreeEnsemble, dict[str, NDArray[Any]]]:
    """Return the ensemble of a file and the rules by which it is read; ModelFileError if a value is invalid."""
    arrays: dict[str, Any] = dict(file.arrays)
    try:
        order, sizes, codes = (_pop(arrays, name, dtype) for name, dtype in _EXTRA.items())
        rules = {"order": order}
        for name in _OPTIONAL:
            rules[name] = _pop(arrays, name, "float64") if name in arrays else np.empty(0)
        ensemble = TreeEnsemble(
            **{name: arrays.pop(name) for name in ARRAY_NAMES if name in arrays},
            **_read_settings(file),
            classes=classes,
            n_features=n_features,
            feature_names=feature_names,
            categories=_split_codes(require_metadata(file, "coded_features", list[int], low=0), sizes, codes),
        )
        if arrays:
            raise InvalidContent(f"it has unexpected arrays, {sorted(arrays)[0]!r} among them")
    except (InvalidContent, TypeError) as problem:
        raise ModelFileError(f"{file.path}: {problem}") from None
    return ensemble, rules


_OPTIONAL = ("expected", "stop_margin")  # the native forest checks their values
_EXTRA = {"order": "int32", "n_codes": "int64", "codes": "float64"}


def _pop(arrays: dict[str, NDArray[Any]], name: str, dtype: str) -> NDArray[Any]:
    found = arrays.pop(name, None)
    if found is None or found.dtype != np.dtype(dtype) or found.ndim != 1:
        raise InvalidContent(f"array {name!r} is missing, or not a list of {dtype}")
    return found


def _read_settings(file: ModelFile) -> dict[str, Any]:
    link = Link(
        require_metadata(file, "link", str, allowed=get_args(LinkKind)),  # type: ignore[arg-type]  # one of them
        require_metadata(file, "scale", float),
        require_metadata(file, "label_from_scores", bool),
        require_metadata(file, "zero_is_positive", bool),
    )
    numbers = {name: require_metadata(file, name, float) for name in ("divisor", "min_category")}
    flags = {name: require_metadata(file, name, bool) for name in _FLAGS}
    return {"link": link, "source": require_metadata(file, "source", str), **numbers, **flags}


def _split_codes(
    features: list[int], sizes: NDArray[np.int64], codes: NDArray[np.float64]
) -> dict[int, NDArray[np.float64]]:
    if (
        len(features) != len(sizes)
        or (sizes < 0).any()
        or sizes.sum() != len(codes)
        or len(set(features)) != len(sizes)
    ):
        raise InvalidContent("its lists of categories do not lie one after another")
    ends = np.cumsum(sizes)
    return {
        feature: codes[end - size : end]
        for feature, size, end in zip(features, sizes.tolist(), ends.tolist(), strict=True)
    }
