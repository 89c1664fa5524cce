"""A table of one record: the same labels and the same errors as in a batch, at less cost."""

import numpy as np
import pytest

from all_classifiers import INCREMENTAL, clusters
from anystream import AnytimeForestClassifier, BayesTreeClassifier, load
from anystream.model_file import ModelFileError


@pytest.mark.parametrize("make", [*INCREMENTAL.values(), AnytimeForestClassifier], ids=[*INCREMENTAL, "forest"])
def test_a_table_of_one_record_gets_the_label_of_a_batch(make):
    X, y = clusters(120, 3)
    model = make().fit(X[:90], y[:90])
    X = np.concatenate([X[90:], np.full((1, 3), 0.5)])
    for steps in (None, 0, 3):
        single = [model.predict(X[i : i + 1], budget=steps) for i in range(len(X))]
        assert all(label.shape == (1,) and label.dtype == y.dtype for label in single)
        np.testing.assert_array_equal(np.concatenate(single), model.predict(X, budget=steps))
        if not callable(getattr(model, "metric", None)):  # such a metric compares no named features
            assert model.predict_one(dict(enumerate(X[0])), budget=steps) == single[0][0]


@pytest.mark.parametrize("make", [*INCREMENTAL.values(), AnytimeForestClassifier], ids=[*INCREMENTAL, "forest"])
def test_a_table_of_one_record_gets_the_probabilities_of_a_batch(make):
    X, y = clusters(120, 3)
    model = make().fit(X[:90], y[:90])
    X = np.concatenate([X[90:100], np.full((1, 3), 0.5)])
    for steps in (None, 0, 3):
        batch = model.classify(X, budget=steps)
        single = [model.predict_proba(X[i : i + 1], budget=steps) for i in range(len(X))]
        assert all(proba.shape == (1, 3) for proba in single)
        np.testing.assert_array_equal(np.concatenate(single), batch.proba)
        for i in range(len(X)):
            answer = model.classify(X[i : i + 1], budget=steps)
            for name in ("labels", "proba", "steps", "certified", "reached", "confident", "settled"):
                found, expected = getattr(answer, name), getattr(batch, name)[i : i + 1]
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected)


def test_the_marks_of_one_answer_can_be_changed_without_changing_those_of_the_next():
    X, y = clusters(60, 3)
    model = AnytimeForestClassifier().fit(X, y)
    for _ in range(2):
        answer = model.classify(X[:1])
        assert (answer.certified[0], answer.reached[0], answer.confident[0]) == (True, True, False)
        answer.certified[0], answer.reached[0], answer.confident[0] = False, False, True
        assert (answer.certified[0], answer.reached[0], answer.confident[0]) == (False, False, True)


def test_the_label_of_one_record_does_not_share_memory_with_the_classes():
    X, y = clusters(60, 3)
    model = BayesTreeClassifier().fit(X, y)
    model.predict(X[:1])[0] = "other"
    assert "other" not in model.classes_


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([[0.0, np.inf, 0.0]], "infinity"),
        ([[0.0, 0.0]], "2 features"),
        ([[[0.0, 0.0, 0.0]]], "dim 3"),
    ],
)
def test_one_invalid_record_is_refused_as_in_a_batch(record, message):
    X, y = clusters(60, 3)
    model = BayesTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.predict(np.array(record))
    with pytest.raises(ValueError, match=message):
        model.predict_proba(np.array(record))


def test_an_invalid_budget_for_one_record_is_refused():
    X, y = clusters(60, 3)
    model = BayesTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="steps is -1"):
        model.predict(X[:1], budget=-1)
    with pytest.raises(TypeError, match="budget is True"):
        model.predict(X[:1], budget=True)
    with pytest.raises(ValueError, match="steps is -1"):
        model.predict_proba(X[:1], budget=-1)


def test_one_record_of_a_mapped_model_whose_file_changed_gets_no_label(tmp_path):
    X, y = clusters(60, 3)
    path = tmp_path / "model.safetensors"
    BayesTreeClassifier().fit(X, y).save(path)
    model = load(path, mmap=True)
    model.predict(X[:1])
    with path.open("r+b") as file:
        file.truncate(100)
    with pytest.raises(ModelFileError):
        model.predict(X[:1])
    with pytest.raises(ModelFileError):
        model.predict_proba(X[:1])
