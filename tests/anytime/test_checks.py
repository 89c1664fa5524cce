"""The public checks find classifiers that break a promise."""

import numpy as np
import pytest

from anystream import BayesTreeClassifier, check_anytime_classifier
from anystream.anytime.checks import yield_anytime_checks


class Forgetful(BayesTreeClassifier):
    """Refuses to answer at budget 0: starts with ten steps."""

    def _answer(self, queries, budget):
        proba, steps, certified = super()._answer(queries, budget)
        return proba, steps + 10, certified


class Moody(BayesTreeClassifier):
    """Answers depend on the batch."""

    def _answer(self, queries, budget):
        proba, steps, certified = super()._answer(queries, budget)
        proba = proba * (1 + 0.01 * np.arange(len(proba)))[:, None]
        return proba / proba.sum(axis=1, keepdims=True), steps, certified


class Boastful(BayesTreeClassifier):
    """Calls every answer certain."""

    def _answer(self, queries, budget):
        proba, steps, certified = super()._answer(queries, budget)
        return proba[:, ::-1] if budget.steps == 1 else proba, steps, np.ones_like(certified)


class Tiring(BayesTreeClassifier):
    """Changes when it is asked."""

    def _answer(self, queries, budget):
        self.asked_ = getattr(self, "asked_", 0) + 1
        return super()._answer(queries, budget)


class Lazy(BayesTreeClassifier):
    """Ignores deadlines."""

    def _answer(self, queries, budget):
        return super()._answer(queries, type(budget)(steps=budget.steps if budget.steps is not None else 40))


class Transparent(BayesTreeClassifier):
    """Is its own snapshot."""

    def snapshot(self):
        return self


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (Forgetful, "no steps"),
        (Moody, "order of records|differs"),
        (Boastful, "certified label changed|differs"),
        (Tiring, "asking changed the model"),
        (Transparent, "learning reached a snapshot"),
        (Lazy, "must give the answer of budget 0"),
    ],
)
def test_a_broken_promise_is_found_and_named(broken, promise):
    with pytest.raises(AssertionError, match=promise):
        check_anytime_classifier(broken())


def test_every_check_has_a_name_and_a_sentence():
    for check in yield_anytime_checks(BayesTreeClassifier()):
        assert check.func.__name__.startswith("check_")
        assert check.func.__doc__
