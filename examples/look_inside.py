"""Frontier of a query as it is refined: entries as ellipses, records as dots, in three pictures."""

import sys

import numpy as np
from matplotlib import pyplot

from anystream import BayesTreeClassifier

random = np.random.default_rng(3)
X = np.vstack(
    [
        random.normal(centre, spread, (150, 2))
        for centre, spread in (([0, 0], [1, 0.5]), ([2.5, 1], [0.4, 1]), ([0, 3], [0.7, 0.4]))
    ]
)
y = np.repeat(["a", "b", "c"], 150)
model = BayesTreeClassifier(metric=None, root_model=None).fit(X, y)  # entries lie in the space of the data
print(model.tree_.describe())

figure, panels = pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained", sharex=True, sharey=True)
query = model.query([1.2, 1.0])
for ax, steps in zip(panels, (0, 6, 20), strict=True):
    query.refine(steps - query.steps)
    model.tree_.plot_frontier(query, ax=ax)
path = sys.argv[1] if len(sys.argv) > 1 else "frontier.png"
figure.savefig(path, dpi=70)
print(f"wrote the plots to {path}")
