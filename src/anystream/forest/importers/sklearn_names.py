"""Feature names of scikit-learn's estimators."""

from __future__ import annotations

from typing import Any


def feature_names(model: Any) -> tuple[str, ...] | None:
    """Return the names of the data frame that the model was trained on, if it was one."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)
