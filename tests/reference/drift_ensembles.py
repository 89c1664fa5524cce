"""The ensembles as in their papers, with plain lists; `make()` returns a new member with fit, learn and proba."""

import numpy as np


class SlowDynamicWeightedMajority:
    """Kolter and Maloof, Figure 1: one record at a time."""

    def __init__(self, make, n_classes, beta, theta, period):
        self.make, self.n_classes = make, n_classes
        self.beta, self.theta, self.period = beta, theta, period
        self.experts, self.weights, self.i = [make()], [1.0], 0

    def votes(self, x):
        votes = [0.0] * self.n_classes
        for expert, weight in zip(self.experts, self.weights, strict=True):
            votes[self.prediction(expert, x)] += weight
        return votes

    def prediction(self, expert, x):
        return int(expert.proba(x[np.newaxis], self.n_classes)[0].argmax())

    def learn(self, x, y):
        self.i += 1
        if self.i % self.period == 0 and self.i > 1:
            votes = [0.0] * self.n_classes
            for j, expert in enumerate(self.experts):
                predicted = self.prediction(expert, x)
                if predicted != y:
                    self.weights[j] *= self.beta
                votes[predicted] += self.weights[j]
            top = max(self.weights)
            both = [(e, w / top) for e, w in zip(self.experts, self.weights, strict=True) if w / top >= self.theta]
            self.experts, self.weights = [e for e, _ in both], [w for _, w in both]
            if votes.index(max(votes)) != y:
                self.experts.append(self.make())
                self.weights.append(1.0)
        for expert in self.experts:
            expert.learn(x[np.newaxis], np.array([y], dtype=np.int32), self.n_classes)


class SlowWCEA:
    """Wang et al., Algorithm 1, with the weights of Eq. 6 to 8."""

    def __init__(self, make, n_classes, capacity, folds, keep="newest"):
        self.make, self.n_classes, self.capacity, self.folds, self.keep = make, n_classes, capacity, folds, keep
        self.members, self.weights = [], []  # the newest last

    def squared_errors(self, member, X, y):
        return [(1 - p[c]) ** 2 for p, c in zip(member.proba(X, self.n_classes), y, strict=True)]

    def learn_chunk(self, X, y):
        shares = [np.mean(y == c) for c in range(self.n_classes)]
        mse_r = sum(p * (1 - p) ** 2 for p in shares)
        weights = [mse_r - np.mean(self.squared_errors(m, X, y)) for m in self.members]
        while self.keep == "newest" and len(self.members) > self.capacity - 1:
            worst = min(range(len(weights)), key=lambda i: (weights[i], i))  # the oldest of equals
            del self.members[worst], weights[worst]
        errors = []
        for fold in range(min(self.folds, len(y))):
            held_out = np.arange(len(y)) % min(self.folds, len(y)) == fold
            member = self.make()
            member.fit(X[~held_out], y[~held_out], self.n_classes)
            errors += self.squared_errors(member, X[held_out], y[held_out])
        newest = self.make()
        newest.fit(X, y, self.n_classes)
        self.members.append(newest)
        self.weights = [*weights, mse_r - np.mean(errors)]
        while len(self.members) > self.capacity:
            worst = min(range(len(self.weights)), key=lambda i: (self.weights[i], i))
            del self.members[worst], self.weights[worst]

    def proba(self, X):
        total = np.zeros((len(X), self.n_classes))
        for member, weight in zip(self.members, self.weights, strict=True):
            if weight > 0:
                total += weight * member.proba(X, self.n_classes)
        if not any(weight > 0 for weight in self.weights):
            return self.members[-1].proba(X, self.n_classes)
        return total / total.sum(axis=1, keepdims=True)


def quality(shares, predicted, truth):
    """Street and Kim's quality of a member, record by record."""
    total = 0.0
    for votes, p, t in zip(shares, predicted, truth, strict=True):
        first, second = sorted(votes, reverse=True)[:2]
        ensemble = list(votes).index(max(votes))
        if p == t and ensemble == t:
            total += 1 - abs(first - second)
        elif p == t:
            total += 1 - abs(first - votes[t])
        else:
            total -= 1 - abs(votes[t] - votes[p])
    return total
