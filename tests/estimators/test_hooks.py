"""A classifier that lacks a hook raises when its class is created; complete ones keep the contract."""

import numpy as np
import pytest

from anystream import BayesTreeClassifier, check_anytime_classifier
from anystream.anytime import AnytimeClassifier
from anystream.estimators import (
    IncrementalClassifier,
    MergeableMixin,
    SaveableMixin,
    StepwiseClassifier,
    TrainedClassifier,
)
from anystream.estimators.saving import find_class, is_saveable
from anystream.estimators.stream_classifier import StreamClassifier


@pytest.mark.parametrize(
    ("base", "hook"),
    [
        (AnytimeClassifier, "classify_records"),
        (TrainedClassifier, "fit_records"),
        (IncrementalClassifier, "learn_records"),
        (StepwiseClassifier, "next_state"),
        (StreamClassifier, "model_settings"),
    ],
)
def test_a_class_without_a_hook_cannot_be_created(base, hook):
    with pytest.raises(TypeError, match=rf"Incomplete does not define .*\b{hook}\b.*; define them"):
        type("Incomplete", (base,), {})


def test_a_mixin_adds_its_hooks():
    with pytest.raises(TypeError, match="does not define merge_states"):
        type("Unmergeable", (MergeableMixin, Nearest), {})
    with pytest.raises(TypeError, match="does not define dump_state, restore_state"):
        type("Unsaveable", (SaveableMixin, Nearest), {})


def test_a_base_of_others_may_lack_hooks_and_cannot_be_instantiated():
    class Base(TrainedClassifier, abstract=True):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Base()


def test_a_kind_belongs_to_one_class():
    assert find_class("bayes-tree") is BayesTreeClassifier
    assert is_saveable(BayesTreeClassifier())
    assert not is_saveable(type("Derived", (BayesTreeClassifier,), {})())
    with pytest.raises(TypeError, match="kind 'bayes-tree' of Impostor belongs to BayesTreeClassifier"):
        type("Impostor", (BayesTreeClassifier,), {"kind": "bayes-tree"})


class Nearest(StepwiseClassifier):
    """Nearest neighbour in the order of the training data."""

    def __init__(self, *, budget=200):
        self.budget = budget

    def fit_records(self, records, numbers, n_classes):
        self.records_, self.numbers_, self.n_classes_ = records, numbers, n_classes

    def start(self, record):
        return record, 0, np.inf, 0

    def next_state(self, state):
        record, i, best, label = state
        if i == len(self.records_):
            return None
        distance = np.nanmean(np.append((record - self.records_[i]) ** 2, 0.0))
        return (record, i + 1, *((distance, self.numbers_[i]) if distance < best else (best, label)))

    def proba_of(self, state):
        return np.eye(self.n_classes_)[state[3]]


def test_a_stepwise_classifier_keeps_the_contract():
    check_anytime_classifier(Nearest())


def test_a_stepwise_query_is_exhausted_after_the_last_step_and_not_before():
    model = Nearest().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    query = model.query([1.9])
    assert [(query.steps, query.exhausted)] + [(query.refine(1).steps, query.exhausted) for _ in range(4)] == [
        (0, False),
        (1, False),
        (2, False),
        (3, True),
        (3, True),
    ]


@pytest.mark.parametrize("record", [[1.0, 2.0], [np.inf]])
def test_a_record_that_does_not_fit_the_model_is_rejected(record):
    with pytest.raises(ValueError, match=r"features, fit saw 1|infinite"):
        Nearest().fit([[0.0], [1.0]], [0, 1]).query(record)
