"""Labelled records in a checkpoint: arrays of features and positions, and lists of JSON values."""

from __future__ import annotations

from typing import Any

import numpy as np

from anystream.runtime.records import Records


def pack_records(records: Records) -> dict[str, Any]:
    """Return features, labels and what identifies the records; arrival and deadline are not kept."""
    return {
        "features": records.features,
        "offsets": records.offset,
        "lines": records.line,
        "keys": [plain_key(key) for key in records.key.tolist()],
        "labels": [to_plain(label) for label in records.label.tolist()],
    }


def unpack_records(state: dict[str, Any]) -> Records:
    """Return the records that `pack_records` packed."""
    return Records.from_features(
        state["features"], key=state["keys"], offset=state["offsets"], line=state["lines"], label=state["labels"]
    )


def plain_key(key: Any) -> Any:
    """Return a key as JSON can hold it: keys of other types as text, which is how keys are compared."""
    return key if isinstance(key, str | int | float | None) else str(key)


def to_plain(label: Any) -> Any:
    """Return a label as JSON can hold it: a Python value instead of a NumPy scalar."""
    return label.item() if isinstance(label, np.generic) else label
