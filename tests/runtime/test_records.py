import pickle

import numpy as np
import pytest

from anystream.runtime import Records, RejectedRecord
from anystream.runtime.records import is_given


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


@pytest.mark.parametrize("n", [0, 1, 3])
def test_columns_that_were_not_given_hold_none_and_take_no_memory(n):
    records = Records.from_features(np.zeros((n, 2)))
    for column in (records.label, records.unknown, records.kept):
        assert column.tolist() == [None] * n
        assert is_given(column).tolist() == [False] * n
        assert is_given(column[:1]).tolist() == [False] * min(n, 1)
        assert not column.flags.writeable
    joined = Records.concatenate([records, Records.from_features(np.zeros((1, 2)), label=["a"], unknown={0: "b"})])
    assert is_given(joined.label).tolist() == is_given(joined.unknown).tolist() == [False] * n + [True]
    assert pickle.loads(pickle.dumps(records)).label.tolist() == [None] * n
