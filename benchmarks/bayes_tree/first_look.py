"""The ladder of answers below the trees: class shares, first look, root model; accuracy and processor time.

    python -m benchmarks.bayes_tree.first_look [--sets digits,spambase]

Models by default, one thread, fitted on a half of the records (at most 10,000) and judged by the other. Times are the
minimum of several repeats of `classify` on 20,000 records, per record.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits

from anystream import BayesTreeClassifier
from anystream.bayes_tree.first_look import learn_first_look
from anystream.streams import DatasetNotFoundError, load_dataset
from benchmarks.table import machine, print_table
from benchmarks.timing import min_seconds

SETS = ("digits", "optdigits", "spambase", "kr_vs_kp", "covtype")
MAX_RECORDS, TIMED = 20_000, 20_000
STEPS = (0, 1, 10, 200)


def halves(name: str) -> tuple[np.ndarray, ...]:
    """Return training records, their labels, test records and theirs."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    else:
        found = load_dataset(name).shuffled(seed=0)
        X, y = np.asarray(found.X[:MAX_RECORDS], dtype=np.float64), found.y[:MAX_RECORDS]
    half = len(y) // 2
    return X[:half], y[:half], X[half:], y[half:]


def measure(name: str) -> list[object]:
    """Return the row of one data set."""
    X, y, Q, labels = halves(name)
    began = time.process_time()
    model = BayesTreeClassifier(n_jobs=1).fit(X, y)
    fit_s = time.process_time() - began
    numbers = np.searchsorted(model.classes_, y).astype(np.int32)
    look_s = min_seconds(lambda: learn_first_look(X, numbers, len(model.classes_)), repeats=3)
    many = np.ascontiguousarray(np.resize(Q, (TIMED, Q.shape[1])))
    us = [min_seconds(lambda steps=steps: model.classify(many, budget=steps)) / TIMED * 1e6 for steps in (0, 1)]
    shares = np.unique(y, return_counts=True)
    guessed = (labels == shares[0][shares[1].argmax()]).mean()
    accuracy = [(model.predict(Q, budget=steps) == labels).mean() for steps in STEPS]
    return [
        name,
        X.shape[1],
        len(model.classes_),
        f"{guessed:.1%}",
        *(f"{each:.1%}" for each in accuracy),
        *(f"{each:.2f}" for each in us),
        f"{look_s / fit_s:.1%}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    rows = []
    for name in parser.parse_args().sets.split(","):
        try:
            rows.append(measure(name))
        except DatasetNotFoundError as error:
            print(f"{name} is left out: {error}")
    header = ("", "features", "classes", "class shares", *(f"step {steps}" for steps in STEPS))
    times = ("us, step 0", "us, step 1", "share of fit")
    print_table("First look", (*header, *times), rows, [machine()])


if __name__ == "__main__":
    main()
