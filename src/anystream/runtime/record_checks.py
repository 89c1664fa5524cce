"""Checks of records before they are queued: what can be wrong with a record for any model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.feature_values import MAX_VALUE
from anystream.model_file.label_json import MAX_CHARACTERS
from anystream.runtime.records import Records, RejectedRecord, is_given, show_value

MAX_TEXT = 1000
"""Default of the maximum number of characters in a key or label."""
_INT_LIMIT = 2**63  # labels are stored as integers of 64 bits
_CONTAINERS = (list, tuple, dict, set, bytes, np.ndarray)


@dataclass(frozen=True, slots=True)
class RecordChecks:
    """What a record must satisfy to be classified and, if the model learns, to be learned.

    Parameters
    ----------
    n_features : int or None
        Number of features that the model was fitted on; None if the model does not tell it.
    takes_missing : bool
        Whether a feature may be missing (NaN).
    max_value : float
        Largest magnitude of a feature.
    classes : frozenset
        Classes of the model.
    label_kind : {"number", "text"} or None
        What the model's classes are; None if the model does not tell it, or if they are both.
    max_text : int
        Maximum number of characters in a key or label.
    """

    n_features: int | None
    takes_missing: bool
    max_value: float = math.inf
    classes: frozenset[Any] = frozenset()
    label_kind: str | None = None
    max_text: int = MAX_TEXT

    @classmethod
    def from_model(cls, model: Any, *, learns: bool = False, max_text: int = MAX_TEXT) -> Self:
        """Read the requirements from the attributes and tags of a scikit-learn classifier.

        A model that `learns` takes no feature beyond `anystream.anytime.feature_values.MAX_VALUE`, since its square
        must be a number.
        """
        if max_text < 1:
            raise ValueError(f"max_text is {max_text}; use 1 character or more")
        tags = getattr(model, "__sklearn_tags__", None)
        takes_missing = tags is None or bool(tags().input_tags.allow_nan)
        classes = np.asarray(getattr(model, "classes_", ())).tolist()
        max_value = MAX_VALUE if learns else math.inf
        return cls(
            getattr(model, "n_features_in_", None),
            takes_missing,
            max_value,
            frozenset(classes),
            _kind_of_classes(classes),
            max_text,
        )

    def split(self, records: Records) -> tuple[Records, list[RejectedRecord]]:
        """Return the valid records, and the others with the reason."""
        if len(records) == 0:
            return records, []
        n_features = records.features.shape[1]
        if self.n_features is not None and n_features != self.n_features:
            reason = f"the record has {n_features} features, the model was fitted on {self.n_features}"
            return records.take(slice(0, 0)), records.reject(reason)
        rejected: list[RejectedRecord] = []
        if not np.isfinite(records.features).all():
            infinite = np.isinf(records.features)
            records, rejected = _split_off(records, infinite, "a feature is infinite; use NaN for a missing value")
            if not self.takes_missing:
                missing = np.isnan(records.features)
                reason = "a feature is missing, and the model takes no missing values"
                records, more = _split_off(records, missing, reason)
                rejected += more
        if self.max_value < math.inf:
            beyond = np.abs(records.features) > self.max_value
            reason = f"a feature is beyond {self.max_value:g}, which no model learns; rescale it, or use NaN"
            records, more = _split_off(records, beyond, reason)
            rejected += more
        if not _are_plain_texts(records.key, self.max_text):
            records, more = _split_off_errors(records, records.key, self.key_error)
            rejected += more
        if _has_no_error(records.label, self.label_error):
            return records, rejected
        records, more = _split_off_errors(records, records.label, self.label_error)
        return records, rejected + more

    def key_error(self, key: Any) -> str | None:
        """Return what is wrong with a key, or None: sinks write it, and later labels refer to it."""
        if isinstance(key, str):
            return _text_error("key", key, self.max_text)
        if isinstance(key, float) and not math.isfinite(key):
            return f"the key is {key}, which JSON cannot hold; use text or a finite number"
        if isinstance(key, _CONTAINERS):
            return f"the key is {show_value(key)}; use text or a number"
        return None

    def label_error(self, label: Any) -> str | None:
        """Return what is wrong with a label, or None; the label None stands for an unknown one."""
        if label is None or (isinstance(label, str | int | float) and label in self.classes):
            return None
        if isinstance(label, str):
            if self.label_kind == "number":
                return f"the label is {show_value(label)}, those of the model are numbers"
            return _text_error("label", label, min(self.max_text, MAX_CHARACTERS))  # a file could not store it
        if not isinstance(label, bool | int | float | np.number | np.bool_):
            return f"the label is {show_value(label)}; use text or a number"
        if self.label_kind == "text":
            return f"the label is {show_value(label)}, those of the model are texts"
        if not (-_INT_LIMIT <= label < _INT_LIMIT and label == int(label)):
            return f"the label is {show_value(label)}; use a whole number of at most 64 bits"
        return None


def _text_error(name: str, text: str, max_characters: int) -> str | None:
    if len(text) > max_characters:
        return f"the {name} has {len(text)} characters, allowed are {max_characters}"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return f"the {name} is {show_value(text)}, which has half of a surrogate pair; send valid Unicode"
    return None


def _kind_of_classes(classes: list[Any]) -> str | None:
    kinds = {"text" if isinstance(label, str) else "number" for label in classes}
    return kinds.pop() if len(kinds) == 1 else None


def _split_off(
    records: Records, invalid_values: NDArray[np.bool_], reason: str
) -> tuple[Records, list[RejectedRecord]]:
    """Return the records without an invalid value, and the others with the reason."""
    invalid: NDArray[np.bool_] = np.asarray(invalid_values.any(axis=1))
    if not invalid.any():
        return records, []
    return records.take(~invalid), records.take(invalid).reject(reason)


def _has_no_error(labels: NDArray[Any], find_error: Callable[[Any], str | None]) -> bool:
    """Whether no label has an error; labels of one type that are equal are looked at once, since there are few."""
    values = (labels[:1] if labels.strides == (0,) else labels).tolist()  # no labels: one None for all records
    types = set(map(type, values))
    try:
        if len(types) == 1:
            return all(find_error(value) is None for value in set(values))
        return all(find_error(value) is None for _, value in set(zip(map(type, values), values, strict=True)))
    except TypeError:  # a list, for example, has no hash
        return False


def _are_plain_texts(values: NDArray[Any], max_characters: int) -> bool:
    """Whether all values are texts of ASCII, none of them too long, in which there is no error."""
    if values.dtype.kind != "O" or len(values) == 0:
        return False
    texts = values.tolist()
    return set(map(type, texts)) == {str} and max(map(len, texts)) <= max_characters and "".join(texts).isascii()


def _split_off_errors(
    records: Records, column: NDArray[Any], find_error: Callable[[Any], str | None]
) -> tuple[Records, list[RejectedRecord]]:
    """Return the records whose value in a column has no error, and the others with the error."""
    if column.dtype.kind in "iu":
        return records, []
    if not is_given(column).any():  # no labels at all
        return records, []
    values = column.tolist()
    errors = {row: error for row, value in enumerate(values) if (error := find_error(value)) is not None}
    if not errors:
        return records, []
    valid = np.ones(len(records), dtype=np.bool_)
    valid[list(errors)] = False
    rejected = [records.take(slice(row, row + 1)).reject(error)[0] for row, error in errors.items()]
    return records.take(valid), rejected
