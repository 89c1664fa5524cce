"""Classifiers with predictable answers and a simulated engine, for tests of the runtime."""

import numpy as np

from anystream.anytime.answer import Answer
from anystream.anytime.budget import Budget
from anystream.anytime.errors import RecordError

REFUSED = 666.0
"""A value of the first feature that `Threshold` refuses."""


class Threshold:
    """Class 1 where the first feature is positive; every record takes the steps it is given, up to `exhausted_at`."""

    def __init__(self, exhausted_at=1000, n_features=1):
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = n_features
        self.exhausted_at = exhausted_at
        self.calls = []

    def classify(self, X, *, budget):
        budget = Budget.of(budget)
        if np.any(X[:, 0] == REFUSED):
            raise RecordError(f"a record has the value {REFUSED}")
        n = len(X)
        steps = self.exhausted_at if budget.steps is None else min(budget.steps, self.exhausted_at)
        positive = X[:, 0] > 0.0
        confidence = 1.0 - 0.4 / (1.0 + steps)
        proba = np.where(positive[:, None], [[1.0 - confidence, confidence]], [[confidence, 1.0 - confidence]])
        self.calls.append((n, steps))
        done = np.full(n, steps >= self.exhausted_at)
        return Answer(self.classes_[positive.astype(int)], proba, np.full(n, steps), done, 0.0)


class Recorder(Threshold):
    """Records what it learned, and how much of that before each record it classified."""

    def __init__(self):
        super().__init__()
        self.learned, self.learned_before = [], []

    def classify(self, X, *, budget):
        self.learned_before.extend([len(self.learned)] * len(X))
        return super().classify(X, budget=budget)

    def partial_fit(self, X, y):
        self.learned.extend(zip(X[:, 0].tolist(), y.tolist(), strict=True))
