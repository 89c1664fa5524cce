import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.runtime import LabelMatcher, Records


def records(keys, labels=None):
    return Records.from_features(np.arange(float(len(keys)))[:, None], key=keys, label=labels)


def test_a_label_finds_its_record_in_either_order_and_keys_are_compared_as_text():
    matcher = LabelMatcher()
    assert matcher.match_labels([(17, "x")]).labelled == []
    labelled = matcher.match_records(records(["17", "18"])).labelled
    assert [(x.tolist(), label) for x, label in labelled] == [([0.0], "x")]
    assert [(x.tolist(), label) for x, label in matcher.match_labels([("18", "y")]).labelled] == [([1.0], "y")]
    assert (matcher.pending_records, matcher.pending_labels) == (0, 0)


def test_the_oldest_records_and_labels_are_evicted_first():
    matcher = LabelMatcher(2)
    assert matcher.match_records(records(["a", "b", "c"])).evicted == 1
    assert matcher.match_labels([("a", 1)]).labelled == []
    assert [label for _, label in matcher.match_labels([("b", 2), ("c", 3)]).labelled] == [2, 3]
    assert matcher.match_labels([("x", 1), ("y", 1)]).evicted == 1
    assert matcher.match_records(records(["a"])).labelled == []


def test_a_second_record_or_label_of_the_same_key_replaces_the_first_which_counts_as_evicted():
    matcher = LabelMatcher()
    assert matcher.match_records(records(["a", "a"])).evicted == 1
    assert [x.tolist() for x, _ in matcher.match_labels([("a", 1)]).labelled] == [[1.0]]
    assert matcher.match_labels([("b", 1), ("b", 2)]).evicted == 1
    assert [label for _, label in matcher.match_records(records(["b"])).labelled] == [2]


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 9), max_size=6)), max_size=20), st.integers(1, 4))
def test_every_record_and_label_is_matched_evicted_or_pending(moves, capacity):
    matcher = LabelMatcher(capacity)
    n_records = n_labels = matched = records_evicted = labels_evicted = 0
    for are_labels, keys in moves:
        if are_labels:
            found = matcher.match_labels([(key, 1) for key in keys])
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
    matcher.match_labels([("c", np.int64(3))])
    state = matcher.state()
    json.dumps(state["labels"])
    other.restore(state)
    assert [(x.tolist(), label) for x, label in other.match_labels([("b", 2)]).labelled] == [([1.0], 2)]
    assert [label for _, label in other.match_records(records(["c"])).labelled] == [3]


def test_a_capacity_of_nothing_is_refused():
    with pytest.raises(ValueError, match="capacity is 0"):
        LabelMatcher(0)
