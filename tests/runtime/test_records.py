import numpy as np
import pytest

from anystream.runtime import Records, RejectedRecord


def test_records_concatenate_and_iterate_with_keys_of_their_own_types():
    a = Records.from_features([[1.0]], key=["a"], label=[None])
    b = Records.from_features([[2.0]], key=[7], label=["x"])
    both = Records.concatenate([a, b])
    found = [(record.key, record.label, record.features.tolist()) for record in both]
    assert found == [("a", None, [1.0]), (7, "x", [2.0])]


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="2 rows of features and 1 of key"):
        Records.from_features([[1.0], [2.0]], key=["a"])
    with pytest.raises(ValueError, match="one row per record"):
        Records.from_features([1.0, 2.0])


def test_a_rejected_record_tells_its_place_and_reason_and_keeps_a_short_text():
    records = Records.from_features(np.arange(2000.0).reshape(2, 1000), key=["a", "b"], offset=[7, 9])
    first, second = records.reject("torn")
    assert (first.key, first.describe()) == ("a", "the record at offset 7: torn")
    assert len(second.record) == 500
    assert RejectedRecord("torn", 7, 3).describe() == "line 3: torn"
