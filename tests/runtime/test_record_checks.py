"""Labels are checked once for all records that have equal ones."""

import numpy as np
import pytest

from anystream.runtime.record_checks import RecordChecks
from anystream.runtime.records import Records


def checks(classes):
    kind = "text" if isinstance(classes[0], str) else "number"
    return RecordChecks(1, True, 1e100, frozenset(classes), kind, 1000)


@pytest.mark.parametrize(
    ("classes", "labels", "invalid"),
    [
        ([0, 1], [0, 1, None, 1, True, 1.0], []),
        ([0, 1], [0, 0.5, 1, 0.5, 2**63, "1", [1]], [1, 3, 4, 5, 6]),
        ([0, 1], [[1], 0, 1], [0]),  # a list cannot be looked up
        (["1", "0"], ["1", 1, "0", 1.0, True, "2"], [1, 3, 4]),
    ],
)
def test_records_whose_label_no_model_of_this_kind_learns_are_rejected_one_by_one(classes, labels, invalid):
    records = Records.from_features(np.zeros((len(labels), 1))).with_labels(labels)
    valid, rejected = checks(classes).split(records)
    assert valid.label.tolist() == [label for row, label in enumerate(labels) if row not in invalid]
    assert len(rejected) == len(invalid)
