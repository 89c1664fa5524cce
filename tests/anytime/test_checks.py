"""The public checks detect classifiers that break a promise."""

import numpy as np
import pytest

from anystream import BayesTreeClassifier, check_anytime_classifier
from anystream.anytime.checks import yield_anytime_checks


class StepTaker(BayesTreeClassifier):
    """Takes ten steps at budget 0."""

    def classify_records(self, records, budget):
        proba, steps, certified, *_ = super().classify_records(records, budget)
        return proba, steps + 10, certified


class BatchDependent(BayesTreeClassifier):
    """Results depend on the batch."""

    def classify_records(self, records, budget):
        proba, steps, certified, *_ = super().classify_records(records, budget)
        proba = proba * (1 + 0.01 * np.arange(len(proba)))[:, None]
        return proba / proba.sum(axis=1, keepdims=True), steps, certified


class Tiring(BayesTreeClassifier):
    """Labels get worse with the steps."""

    def staged_proba(self, records, stages):
        for steps, proba in zip(stages, super().staged_proba(records, stages), strict=True):
            yield np.roll(proba, 1, axis=1) if steps > 50 else proba


class OverConfident(BayesTreeClassifier):
    """Certifies every label."""

    def classify_records(self, records, budget):
        proba, steps, certified, *_ = super().classify_records(records, budget)
        return proba[:, ::-1] if budget.steps == 1 else proba, steps, np.ones_like(certified)


class Impure(BayesTreeClassifier):
    """Changes when it classifies."""

    def classify_records(self, records, budget):
        self.calls_ = getattr(self, "calls_", 0) + 1
        return super().classify_records(records, budget)


class Late(BayesTreeClassifier):
    """Ignores deadlines."""

    def classify_records(self, records, budget):
        return super().classify_records(records, type(budget)(steps=budget.steps if budget.steps is not None else 40))


class Unhurried(BayesTreeClassifier):
    """Begins with every record, however little time there is."""

    def classify_records(self, records, budget):
        return super().classify_records(records, type(budget)(steps=0 if budget.timed else budget.steps))


class SharedSnapshot(BayesTreeClassifier):
    """Returns itself as its snapshot."""

    def snapshot(self):
        return self


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (StepTaker, "no steps"),
        (BatchDependent, "order of records|differs"),
        (OverConfident, "certified label changed|differs"),
        (Impure, "classifying changed the model"),
        (Tiring, "accuracy falls"),
        (SharedSnapshot, "learning changed a snapshot"),
        (Late, "must give the result of budget 0"),
        (Unhurried, "must end a batch of 3000 records"),
    ],
)
def test_a_broken_promise_is_detected_and_named(broken, promise):
    with pytest.raises(AssertionError, match=promise):
        check_anytime_classifier(broken())


def test_every_check_has_a_name_and_a_sentence():
    for check in yield_anytime_checks(BayesTreeClassifier()):
        assert check.func.__name__.startswith("check_")
        assert check.func.__doc__
