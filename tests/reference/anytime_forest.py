"""An anytime forest without arrays of records: one record, one tree, one level after another, and exact bounds.

`order` is a list of trees, one per step; `PlainContenderQuery` chooses the next tree by the record.
"""

from fractions import Fraction

import numpy as np

from reference.forest import goes_left, leaves_below
from reference.forest_orders import contender_trees, path_of


class PlainForestQuery:
    """One record: the node of every tree, and the place in the order."""

    def __init__(self, ensemble, order, record):
        self.ensemble, self.order, self.record = ensemble, list(order), record
        self.nodes = [int(root) for root in ensemble.first_node[:-1]]
        self.slot = self.steps = 0

    @property
    def n_finished(self):
        """Number of trees with a split that are at a leaf."""
        roots = self.ensemble.first_node[:-1]
        return sum(self.ensemble.left[n] < 0 <= self.ensemble.left[r] for n, r in zip(self.nodes, roots, strict=True))

    def step(self):
        """Advance the next tree of the order that is not at a leaf; return whether there was one."""
        while self.slot < len(self.order):
            tree = self.order[self.slot]
            self.slot += 1
            left = int(self.ensemble.left[self.nodes[tree]])
            if left >= 0:
                right = not goes_left(self.ensemble, self.nodes[tree], self.record)
                self.nodes[tree] = left + right
                self.steps += 1
                return True
        return False

    @property
    def exhausted(self):
        return all(self.ensemble.left[node] < 0 for node in self.nodes)

    @property
    def scores(self):
        """The scores of the present nodes, added in the order of the trees in the framework's precision.

        Averaged trees count once they have left their root; before any has, all of them count.
        """
        number = np.float32 if self.ensemble.single_sums else np.float64
        scores = [number(base) for base in self.ensemble.base]
        counted = [tree for tree in range(self.ensemble.n_trees) if not self.is_unread(tree)]
        divisor = self.ensemble.divisor
        if not counted or len(counted) == self.ensemble.n_trees:
            counted = range(self.ensemble.n_trees)
        else:
            divisor = sum(float(self.ensemble.value[self.ensemble.first_node[tree]].sum()) for tree in counted)
        for tree in counted:
            output = int(self.ensemble.output[tree])
            for k in range(len(scores)) if self.ensemble.value.shape[1] > 1 else [max(output, 0)]:
                value = self.ensemble.value[self.nodes[tree]][k if self.ensemble.value.shape[1] > 1 else 0]
                scores[k] = scores[k] + number(value)
        return np.array([[score / number(divisor) for score in scores]])

    def is_unread(self, tree):
        at_root = self.nodes[tree] == self.ensemble.first_node[tree] and self.ensemble.left[self.nodes[tree]] >= 0
        return self.ensemble.link.kind == "mean" and at_root

    @property
    def proba(self):
        proba = self.ensemble.link.probabilities(self.scores)[0]
        return proba / proba.sum() if self.ensemble.link.kind == "one_vs_all" else proba

    @property
    def label(self):
        return int(self.ensemble.link.labels(self.scores)[0])

    def score_ranges(self):
        """Return the least and the most that each score can become, as exact numbers."""
        ensemble = self.ensemble
        low = [Fraction(base) for base in ensemble.base.tolist()]
        high = list(low)
        for node, output in zip(self.nodes, ensemble.output.tolist(), strict=True):
            leaves = leaves_below(ensemble, node)
            for k in range(len(low)) if ensemble.value.shape[1] > 1 else [max(output, 0)]:
                values = [Fraction(float(ensemble.value[i][k if ensemble.value.shape[1] > 1 else 0])) for i in leaves]
                low[k] += min(values)
                high[k] += max(values)
        return [value / Fraction(ensemble.divisor) for value in low], [
            value / Fraction(ensemble.divisor) for value in high
        ]

    def decided_by(self):
        """Return how far the ranges of the scores are from overlapping; the label is open unless this is above 0."""
        low, high = self.score_ranges()
        if self.ensemble.link.kind == "sigmoid":
            return max(low[0], -high[0])
        best = max(range(len(low)), key=lambda k: low[k])
        return min((low[best] - high[k] for k in range(len(low)) if k != best), default=Fraction(1))


class PlainContenderQuery(PlainForestQuery):
    """One record of a boosted ensemble, whose scores say which tree comes next."""

    def __init__(self, ensemble, expected, record):
        super().__init__(ensemble, [], record)
        trees = contender_trees(ensemble, record, expected)
        self.order = [tree for tree in trees for _ in path_of(ensemble, tree, record)[1:]]
