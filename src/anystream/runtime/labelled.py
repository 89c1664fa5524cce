"""Labelled records, and their form in a checkpoint: rows of features and a list of JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LabelledRecord = tuple[NDArray[np.float64], Any]
"""The features of a record and its label."""


def pack_labelled(labelled: Sequence[LabelledRecord]) -> dict[str, Any]:
    """Return labelled records as ``features`` and ``labels``."""
    return {"features": [x for x, _ in labelled], "labels": [to_plain(label) for _, label in labelled]}


def unpack_labelled(state: dict[str, Any]) -> list[LabelledRecord]:
    """Return the labelled records that `pack_labelled` packed."""
    return list(zip(state["features"], state["labels"], strict=True))


def to_plain(label: Any) -> Any:
    """Return a label as JSON can hold it: a Python value instead of a NumPy scalar."""
    return label.item() if isinstance(label, np.generic) else label
