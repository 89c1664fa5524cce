"""A stream that learns as it goes: test, then train, with a budget of 20 steps for each answer."""

from anystream import BayesTreeClassifier
from anystream.streams import SEA

stream = SEA(concepts=(8.0, 9.0), drifts=(2000,), seed=0, n_records=4000)
model = BayesTreeClassifier(budget=20)
right = 0
for seen, (x, label) in enumerate(stream.records(), start=1):
    record = {"x1": x[0], "x2": x[1], "x3": x[2]}
    right += model.predict_one(record) == label
    model.learn_one(record, label)
    if seen % 1000 == 0:
        print(f"after {seen} records: {right / seen:.1%} right")
