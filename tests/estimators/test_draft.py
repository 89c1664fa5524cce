"""Learning that fails leaves the model as it was."""

import pickle

import numpy as np
import pytest

from anystream.anytime import BatchResult
from anystream.drift.decided_query import DecidedQuery
from anystream.estimators import IncrementalClassifier
from anystream.estimators.draft import draft_of
from anystream.subspace import LocustClassifier


def test_a_draft_that_fails_changes_no_attribute():
    model = LocustClassifier()
    model.kept, model.removed = 1, 2

    def change_and_fail():
        with draft_of(model) as draft:
            draft.kept, draft.added = 3, 4
            del draft.removed
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        change_and_fail()
    assert (model.kept, model.removed) == (1, 2)
    assert not hasattr(model, "added")


def test_a_draft_is_published_whole_and_keeps_parameters_that_were_set_meanwhile():
    model = LocustClassifier(budget=3)
    model.kept, model.removed = 1, 2
    reader = model.pin()
    with draft_of(model) as draft:
        draft.kept, draft.added = 3, 4
        del draft.removed
        model.set_params(budget=7)
        assert (model.kept, model.removed) == (1, 2)
    assert (model.kept, model.added, model.budget) == (3, 4, 7)
    assert not hasattr(model, "removed")
    assert (reader.kept, reader.removed) == (1, 2)


class FailsOnNine(IncrementalClassifier):
    """Counts classes and refuses records that hold a 9."""

    def __init__(self, *, budget=0):
        self.budget = budget

    def reset(self, n_features):
        self.counts_ = np.zeros(0)

    def learn_records(self, records, numbers, n_classes):
        counts = np.zeros(n_classes)
        counts[: len(self.counts_)] = self.counts_
        self.counts_ = counts + np.bincount(numbers, minlength=n_classes)
        if (records == 9.0).any():
            raise RuntimeError("a record holds a 9")

    def classify_records(self, records, budget):
        shares = np.tile(self.counts_ / self.counts_.sum(), (len(records), 1))
        return BatchResult(shares, np.zeros(len(records), dtype=np.int64), np.ones(len(records), dtype=np.bool_))

    def staged_proba(self, records, stages):
        return (self.classify_records(records, None).proba for _ in stages)

    def open_query(self, record):
        return DecidedQuery(self.classes_, self.classify_records(record[np.newaxis], None).proba[0])

    def resume_query(self, state):
        return DecidedQuery.resume(self.classes_, state)


@pytest.mark.parametrize(
    "learn",
    [
        lambda model: model.fit([[1.0], [9.0]], ["c", "d"]),
        lambda model: model.partial_fit([[1.0], [9.0]], ["c", "d"], classes=["e"]),
        lambda model: model.learn_one({0: 9.0}, "c"),
        lambda model: model.learn_one({0: 1.0, "new": 9.0}, "c"),
    ],
    ids=["fit", "partial_fit", "learn_one", "learn_one with a new feature"],
)
def test_a_failure_of_any_way_to_learn_changes_nothing(learn):
    model = FailsOnNine().fit([[1.0], [2.0]], ["a", "b"])
    before = pickle.dumps(vars(model))
    with pytest.raises(RuntimeError, match="holds a 9"):
        learn(model)
    assert pickle.dumps(vars(model)) == before
    assert model.predict_proba([[1.0]]).tolist() == [[0.5, 0.5]]
    model.partial_fit([[3.0]], ["z"])
    assert model.classes_.tolist() == ["a", "b", "z"]
    assert model.counts_.tolist() == [1, 1, 1]


def test_a_failure_of_the_first_batch_leaves_an_unfitted_model():
    model = FailsOnNine()
    with pytest.raises(RuntimeError, match="holds a 9"):
        model.partial_fit([[9.0]], ["a"])
    assert vars(model) == {"budget": 0}


def test_classes_are_numbered_by_appearance_where_records_come_one_by_one():
    import pandas as pd

    batch, one_by_one = FailsOnNine(), FailsOnNine()
    labels = ["m", "a", "z", "a"]
    batch.learn_many(pd.DataFrame({"x": range(4)}), labels)
    for x, label in enumerate(labels):
        one_by_one.learn_one({"x": x}, label)
    assert batch.classes_.tolist() == one_by_one.classes_.tolist() == ["m", "a", "z"]
