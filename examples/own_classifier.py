"""An anytime classifier of your own: naive Bayes that reads one feature per step, the most telling feature first.

Run it with ``python examples/own_classifier.py``. The class below is all it takes: a constructor, training, and three
functions of a state. Budgets, deadlines, stages, queries that can be stored and resumed, and scikit-learn's methods
come from `StepwiseClassifier`; `check_anytime_classifier` tests the result against the contract.
"""

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits

from anystream import Budget, check_anytime_classifier
from anystream.estimators import StepwiseClassifier


class FeatureByFeature(StepwiseClassifier):
    """Gaussian naive Bayes that reads one feature per step.

    Parameters
    ----------
    smoothing : float, default=1e-3
        Variance added to that of every feature.
    budget : int, default=64
        Features per record that calls without a budget of their own read.
    """

    def __init__(self, *, smoothing=1e-3, budget=64):
        self.smoothing = smoothing
        self.budget = budget

    def fit_records(self, records, numbers, n_classes):
        """Estimate the Gaussians of every class, and order the features by how well they separate the classes."""
        classes = [records[numbers == c] for c in range(n_classes)]
        self.mean_ = np.array([np.nanmean(part, axis=0) for part in classes])
        self.variance_ = np.array([np.nanvar(part, axis=0) for part in classes]) + self.smoothing
        self.log_prior_ = np.log([len(part) / len(records) for part in classes])
        separation = self.mean_.var(axis=0) / self.variance_.mean(axis=0)
        self.order_ = np.argsort(-separation, kind="stable")

    def start(self, record):
        """Return the record, the number of features read, and the log joint of the classes."""
        return record, 0, self.log_prior_

    def next_state(self, state):
        """Read one more feature; a missing value changes nothing."""
        record, n_read, log_joint = state
        if n_read == len(self.order_):
            return None
        j = self.order_[n_read]
        if np.isnan(record[j]):
            return record, n_read + 1, log_joint
        distance = (record[j] - self.mean_[:, j]) ** 2 / self.variance_[:, j]
        return record, n_read + 1, log_joint - 0.5 * (distance + np.log(self.variance_[:, j]))

    def proba_of(self, state):
        """Normalise the log joint."""
        return softmax(state[2])


if __name__ == "__main__":
    check_anytime_classifier(FeatureByFeature())
    X, y = load_digits(return_X_y=True)
    model = FeatureByFeature().fit(X[::2], y[::2])
    for budget in (0, 4, 16, 64):
        print(f"{budget:3} features: {np.mean(model.predict(X[1::2], budget=budget) == y[1::2]):.2f} right")
    print(model.classify(X[1::2], budget=Budget(seconds=0.05)))
