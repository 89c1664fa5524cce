"""Intrusion detection: connections come in bursts, an attack is a burst itself, and new attacks appear on the way.

Uses KDD Cup 1999 (``kddcup99_10pct`` in ANYSTREAM_DATA); without it, connections of the same shape are generated.
``--records 400000`` runs it large.
"""

import argparse

import numpy as np

from anystream import LocustClassifier
from anystream.runtime import DeadlineShare, MachineCost, simulate
from anystream.runtime.workloads import draw_arrivals
from anystream.streams import available_datasets, load_dataset


def load_connections(n_records: int) -> tuple[np.ndarray, np.ndarray]:
    """Return connections and whether each is normal or which attack it is."""
    if "kddcup99_10pct" in available_datasets():
        data = load_dataset("kddcup99_10pct")
        start = 0 if n_records > 100_000 else 4000  # a part in which attacks begin
        names = np.asarray(data.class_names)[data.y[start : start + n_records]]
        return data.X[start : start + n_records], names
    print("KDD Cup 1999 is not in ANYSTREAM_DATA: generated connections of the same shape")
    random = np.random.default_rng(0)
    names = np.full(n_records, "normal", dtype=object)
    X = random.lognormal(1.0, 1.0, (n_records, 41))
    for name, share, feature in (("smurf.", 0.3, 4), ("neptune.", 0.2, 24), ("portsweep.", 0.03, 30)):
        start = random.integers(n_records // 4, n_records // 2)
        attack = start + np.arange(int(share * n_records))
        attack = attack[attack < n_records]
        names[attack] = name
        X[attack, feature] = random.normal(500, 20, len(attack))
    return X, names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=8000)
    X, names = load_connections(parser.parse_args().records)
    block = len(X) // 8
    model = LocustClassifier(label_delay=block).fit(X[:block], names[:block])
    cost = MachineCost(call_s=300e-6, record_s=6e-6, step_s=8e-6)
    bursts = np.where(np.arange(20) % 5 == 4, 12.0, 1.0)  # one twentieth of a second in five, twelve times as many
    print("block  known attacks  right and in time  steps per connection")
    for start in range(block, len(X) - block + 1, block):
        now = slice(start, start + block)
        arrivals = draw_arrivals(bursts * block / bursts.mean(), 0.05, seed=start)
        run = simulate(
            model, arrivals, X[now], names[now], scheduler=DeadlineShare(max_steps=100), cost=cost, within_s=0.010
        )
        print(
            f"{start // block:5}  {len(model.classes_) - 1:13}  {run.right_on_time / run.taken:17.1%}  "
            f"{run.steps / run.answered:20.0f}"
        )
        model.partial_fit(X[now], names[now])  # the analysts have labelled the block


if __name__ == "__main__":
    main()
