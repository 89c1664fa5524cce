"""Checks of records before they are queued: what can be wrong with a record for any model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.records import Records, RejectedRecord


@dataclass(frozen=True, slots=True)
class RecordChecks:
    """What a record must satisfy to be classified.

    Parameters
    ----------
    n_features : int or None
        Number of features that the model was fitted on; None if the model does not tell it.
    takes_missing : bool
        Whether a feature may be missing (NaN).
    """

    n_features: int | None
    takes_missing: bool

    @classmethod
    def from_model(cls, model: Any) -> Self:
        """Read the requirements from the attributes and tags of a scikit-learn classifier."""
        tags = getattr(model, "__sklearn_tags__", None)
        takes_missing = tags is None or bool(tags().input_tags.allow_nan)
        return cls(getattr(model, "n_features_in_", None), takes_missing)

    def split(self, records: Records) -> tuple[Records, list[RejectedRecord]]:
        """Return the valid records, and the others with the reason."""
        if len(records) == 0:
            return records, []
        n_features = records.features.shape[1]
        if self.n_features is not None and n_features != self.n_features:
            reason = f"the record has {n_features} features, the model was fitted on {self.n_features}"
            return records.take(slice(0, 0)), records.reject(reason)
        infinite = np.isinf(records.features)
        records, rejected = _split_off(records, infinite, "a feature is infinite; use NaN for a missing value")
        if not self.takes_missing:
            missing = np.isnan(records.features)
            reason = "a feature is missing, and the model takes no missing values"
            records, more = _split_off(records, missing, reason)
            rejected += more
        return records, rejected


def _split_off(
    records: Records, invalid_values: NDArray[np.bool_], reason: str
) -> tuple[Records, list[RejectedRecord]]:
    """Return the records without an invalid value, and the others with the reason."""
    invalid: NDArray[np.bool_] = np.asarray(invalid_values.any(axis=1))
    if not invalid.any():
        return records, []
    return records.take(~invalid), records.take(invalid).reject(reason)
