"""Learning of one portion of labelled records, without those that cannot be learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.model_file import ModelFileError
from anystream.runtime.records import Records, RejectedRecord, show_value

MAX_CLASSES = 1000
"""Default of the maximum number of classes up to which a stream may add new ones."""


def learn_portion(model: Any, records: Records, max_classes: int) -> list[RejectedRecord]:
    """Learn records in order; return those that cannot be learned, with the reason.

    A record of a new class is not learned if the model has `max_classes` classes. If learning raises an error, the
    records are halved until those at fault are found. An error that is not about records, such as a full memory or a
    damaged model, is raised.
    """
    records, surplus = _split_off_surplus_classes(model, records, max_classes)
    return surplus + _learn_halves(model, records)


def _split_off_surplus_classes(model: Any, records: Records, max_classes: int) -> tuple[Records, list[RejectedRecord]]:
    known = set(np.asarray(getattr(model, "classes_", ())).tolist())
    surplus = np.zeros(len(records), dtype=np.bool_)
    for row, label in enumerate(records.label.tolist()):
        if label in known:
            continue
        if len(known) < max_classes:
            known.add(label)
        else:
            surplus[row] = True
    if not surplus.any():
        return records, []
    rejected = []
    for row in np.flatnonzero(surplus).tolist():
        label = show_value(records.label[row])
        reason = f"the label is {label}, a new class, and the model has {len(known)} classes; allowed are {max_classes}"
        rejected += records.take(slice(row, row + 1)).reject(reason)
    return records.take(~surplus), rejected


def _learn_halves(model: Any, records: Records) -> list[RejectedRecord]:
    if len(records) == 0:
        return []
    try:
        model.partial_fit(records.features, _label_array(records.label))
    except (MemoryError, OSError, ModelFileError):
        raise
    except Exception as error:
        if len(records) == 1:
            return records.reject(f"the record cannot be learned: {error or type(error).__name__}")
        half = len(records) // 2
        first = _learn_halves(model, records.take(slice(half)))
        return first + _learn_halves(model, records.take(slice(half, None)))
    return []


def _label_array(labels: NDArray[Any]) -> NDArray[Any]:
    """Return texts as objects, because an array of texts takes the width of the longest for each of them."""
    values = labels.tolist()
    return labels if all(isinstance(value, str) for value in values) else np.array(values)
