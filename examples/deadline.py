"""One record with a deadline: an answer at once, a better one while there is time."""

import time

from sklearn.datasets import load_digits

from anystream import BayesTreeClassifier, Budget

X, y = load_digits(return_X_y=True)
held_out = 231
rest = [i for i in range(len(X)) if i != held_out]
model = BayesTreeClassifier().fit(X[rest], y[rest])

query = model.query(X[held_out])
print(f"at once:        {query.label} with probability {query.proba.max():.2f}")

deadline = time.monotonic() + 200e-6
query.refine(Budget(until=deadline))
print(f"after 200 us:   {query.label} with probability {query.proba.max():.2f}, {query.steps} steps")

query.refine()
print(f"exhausted:      {query.label} with probability {query.proba.max():.2f}, {query.steps} steps")
print(f"true label:     {y[held_out]}")
