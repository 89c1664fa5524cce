"""A classifier that is simple enough to foretell, for tests of the runtime."""

import numpy as np

from anystream.anytime.answer import Answer
from anystream.anytime.budget import Budget


class Threshold:
    """Class 1 where the first feature is positive; every record takes the steps it is given, up to `exhausted_at`."""

    def __init__(self, exhausted_at=1000, n_features=1):
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = n_features
        self.exhausted_at = exhausted_at
        self.calls = []

    def classify(self, X, *, budget):
        budget = Budget.of(budget)
        if np.any(X[:, 0] == 666.0):
            raise ValueError("a record has the number of the beast")
        n = len(X)
        steps = self.exhausted_at if budget.steps is None else min(budget.steps, self.exhausted_at)
        positive = X[:, 0] > 0.0
        sure = 1.0 - 0.4 / (1.0 + steps)
        proba = np.where(positive[:, None], [[1.0 - sure, sure]], [[sure, 1.0 - sure]])
        self.calls.append((n, steps))
        done = np.full(n, steps >= self.exhausted_at)
        return Answer(self.classes_[positive.astype(int)], proba, np.full(n, steps), done, 0.0)
