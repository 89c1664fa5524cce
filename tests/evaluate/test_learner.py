"""Adapters: classifiers with the scikit-learn or the river API can be evaluated."""

import numpy as np
import pytest
from river.naive_bayes import GaussianNB as RiverGaussianNB
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from anystream import BayesTreeClassifier, Budget
from anystream.drift import GaussianNaiveBayes
from anystream.evaluate import run_prequential
from anystream.streams import load_dataset
from evaluate.call_log import numbered_records


@pytest.mark.parametrize("make", [GaussianNB, RiverGaussianNB, GaussianNaiveBayes, BayesTreeClassifier])
@pytest.mark.parametrize("batch_size", [1, 25])
def test_classifiers_with_either_api_can_be_run(make, batch_size):
    iris = load_dataset("iris").shuffled(seed=1)
    run = run_prequential(make(), iris, batch_size=batch_size, warm_up=50)
    assert run.accuracy > 0.9
    assert run.method == make.__name__
    assert run.stream == "iris"


def test_labels_can_be_strings_and_new_labels_can_appear():
    X, y = numbered_records(40)
    labels = np.where(y < 20, "early", "late")
    run = run_prequential(GaussianNaiveBayes(), (X, labels), batch_size=5)
    assert set(run.classes) == {"early", "late"}
    assert run.accuracy > 0.7


def test_the_budget_is_passed_to_an_anytime_classifier():
    budgets = []

    class LogBudget(BayesTreeClassifier):
        def predict(self, X, *, budget=None):
            budgets.append(budget)
            return super().predict(X, budget=budget)

    iris = load_dataset("iris").shuffled(seed=1)
    budget = Budget(steps=3)
    run_prequential(LogBudget(), iris, batch_size=50, budget=budget)
    run_prequential(LogBudget(), iris, warm_up=148, budget=budget)
    assert budgets == [budget] * 4


def test_models_that_cannot_be_run_are_rejected():
    with pytest.raises(TypeError, match="RandomForestClassifier cannot learn from a stream"):
        run_prequential(RandomForestClassifier(), numbered_records(5))
    with pytest.raises(TypeError, match="does not take a budget"):
        run_prequential(GaussianNB(), numbered_records(5), budget=3)
