import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.runtime import LabelMatcher, LateLabel, Records


def records(keys, labels=None):
    return Records.from_features(np.arange(float(len(keys)))[:, None], key=keys, label=labels)


def late(*pairs):
    return [LateLabel(key, label) for key, label in pairs]


def show(result):
    """The first feature and the label of each record that was matched."""
    return list(zip(result.labelled.features.ravel().tolist(), result.labelled.label, strict=True))


def test_a_label_finds_its_record_in_either_order_and_keys_are_compared_as_text():
    matcher = LabelMatcher()
    assert show(matcher.match_labels(late((17, "x")))) == []
    assert show(matcher.match_records(records(["17", "18"]))) == [(0.0, "x")]
    assert show(matcher.match_labels(late(("18", "y")))) == [(1.0, "y")]
    assert (matcher.pending_records, matcher.pending_labels) == (0, 0)


def test_a_matched_record_keeps_its_key_offset_and_line():
    matcher = LabelMatcher()
    matcher.match_records(Records.from_features([[5.0]], key=[7], offset=[40], line=[3]))
    (rejected,) = matcher.match_labels(late((7, 1))).labelled.reject("torn")
    assert (rejected.key, rejected.offset, rejected.line) == (7, 40, 3)


def test_the_oldest_records_and_labels_are_evicted_first():
    matcher = LabelMatcher(2)
    assert matcher.match_records(records(["a", "b", "c"])).evicted == 1
    assert show(matcher.match_labels(late(("a", 1)))) == []
    assert show(matcher.match_labels(late(("b", 2), ("c", 3)))) == [(1.0, 2), (2.0, 3)]
    assert matcher.match_labels(late(("x", 1), ("y", 1))).evicted == 1
    assert show(matcher.match_records(records(["a"]))) == []


def test_records_and_labels_of_the_same_key_are_matched_in_order():
    matcher = LabelMatcher()
    assert matcher.match_records(records(["a", "b", "a"])).evicted == 0
    assert show(matcher.match_labels(late(("a", 1), ("a", 2), ("a", 3)))) == [(0.0, 1), (2.0, 2)]
    assert show(matcher.match_labels(late(("a", 4)))) == []
    assert show(matcher.match_records(records(["a", "a"]))) == [(0.0, 3), (1.0, 4)]


def test_labels_of_a_key_that_has_one_are_counted_until_they_find_a_record():
    matcher = LabelMatcher()
    matcher.match_records(records(["a"]))
    matcher.match_labels(late(("a", 1), ("a", 1), ("b", 1), ("b", 2)))
    assert matcher.duplicated == 2
    matcher.match_records(records(["a", "b"]))
    assert matcher.duplicated == 1
    matcher.match_records(records(["b"]))
    assert matcher.duplicated == 0


def test_a_record_without_a_key_never_waits():
    matcher = LabelMatcher()
    assert matcher.match_records(records([None, "x"])).evicted == 1
    assert show(matcher.match_labels(late(("None", 1)))) == []


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 9), max_size=6)), max_size=20), st.integers(1, 4))
def test_every_record_and_label_is_matched_evicted_or_pending(moves, capacity):
    matcher = LabelMatcher(capacity)
    n_records = n_labels = matched = records_evicted = labels_evicted = 0
    for are_labels, keys in moves:
        if are_labels:
            found = matcher.match_labels(late(*((key, 1) for key in keys)))
            n_labels, labels_evicted = n_labels + len(keys), labels_evicted + found.evicted
        else:
            found = matcher.match_records(records(keys))
            n_records, records_evicted = n_records + len(keys), records_evicted + found.evicted
        matched += len(found.labelled)
    assert n_records == matched + records_evicted + matcher.pending_records
    assert n_labels == matched + labels_evicted + matcher.pending_labels
    assert max(matcher.pending_records, matcher.pending_labels) <= capacity


def test_a_restored_matcher_continues_with_what_was_pending():
    matcher, other = LabelMatcher(), LabelMatcher()
    matcher.match_records(records(["a", "b"]))
    matcher.match_labels(late(("c", np.int64(3)), ("c", 4)))
    state = matcher.state()
    json.dumps([value for name, value in state.items() if name != "features"])
    other.restore(state)
    assert other.duplicated == 1
    assert show(other.match_labels(late(("b", 2)))) == [(1.0, 2)]
    assert show(other.match_records(records(["c", "c"]))) == [(0.0, 3), (1.0, 4)]


def test_a_capacity_of_nothing_is_refused():
    with pytest.raises(ValueError, match="capacity is 0"):
        LabelMatcher(0)
