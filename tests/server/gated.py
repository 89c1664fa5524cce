"""A model that classifies only while its gate is open."""

import threading

import numpy as np


class GatedModel:
    """Wraps a classifier; `entered` is set when a call waits at the closed gate."""

    def __init__(self, classifier):
        self._classifier = classifier
        self.gate, self.entered = threading.Event(), threading.Event()
        self.gate.set()
        self.batches = []
        self.error = None

    def __getattr__(self, name):
        return getattr(self._classifier, name)

    def classify(self, X, *, budget=None):
        if not self.gate.is_set():
            self.entered.set()
            self.gate.wait(60)
        if self.error is not None:
            raise self.error
        self.batches.append(np.array(X))
        return self._classifier.classify(X, budget=budget)

    def close_gate(self):
        self.entered.clear()
        self.batches.clear()
        self.gate.clear()
