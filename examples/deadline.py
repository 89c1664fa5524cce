"""One record against the clock: an answer at once, a better one while there is time."""

import time

from sklearn.datasets import load_digits

from anystream import BayesTreeClassifier, Budget

X, y = load_digits(return_X_y=True)
model = BayesTreeClassifier().fit(X[1:], y[1:])

query = model.query(X[0])
print(f"at once:        {query.label} with probability {query.proba.max():.2f}")

deadline = time.monotonic() + 200e-6
query.refine(Budget(until=deadline))
print(f"after 200 us:   {query.label} with probability {query.proba.max():.2f}, {query.steps} steps")

query.refine()
print(
    f"in the end:     {query.label} with probability {query.proba.max():.2f}, {query.steps} steps; the truth is {y[0]}"
)
