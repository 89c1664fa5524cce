"""Learning from a stream: every record is classified with at most 20 steps, then learned with its label."""

from anystream import BayesTreeClassifier
from anystream.streams import SEA

stream = SEA(concepts=(8.0, 9.0), drifts=(2000,), seed=0, n_records=4000)
model = BayesTreeClassifier(budget=20)
n_right = 0
for n_records, (x, label) in enumerate(stream.records(), start=1):
    record = {"x1": x[0], "x2": x[1], "x3": x[2]}
    n_right += model.predict_one(record) == label
    model.learn_one(record, label)
    if n_records % 1000 == 0:
        print(f"after {n_records} records: {n_right / n_records:.1%} right")
