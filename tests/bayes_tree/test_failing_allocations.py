"""A failed allocation leaves a Bayes tree as it was, bit for bit, or with everything learned."""

import os

import pytest

from attack.failing_allocations import each_failing_allocation, run_with_failing_allocations
from attack.preload import compiler

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="needs Linux and a C++ compiler"),
    pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="has its own malloc"),
]

ACTIONS = {
    "one record": lambda model, X, y: model.learn_one({0: 0.5, 1: 1.5}, 1),
    "a class": lambda model, X, y: model.learn_one({0: 9.0, 1: 9.0}, 77),
    "a feature": lambda model, X, y: model.learn_one({0: 0.5, 1: 1.5, "new": 3.0}, 1),
    "a missing value": lambda model, X, y: model.learn_one({0: 0.5}, 1),
    "a batch": lambda model, X, y: model.partial_fit(X[:30], y[:30]),
    "a batch with classes": lambda model, X, y: model.partial_fit(X[:30], y[:30] + 2),
    "fit": lambda model, X, y: model.fit(X[:60], y[:60]),
}
SIZES = {"one record": [1, 2, 40, 1500], "a batch": [40, 1500]}
CASES = [(action, n, None, "em_top_down") for action in ACTIONS for n in SIZES.get(action, [40])] + [
    ("one record", 40, 20, "em_top_down"),
    ("one record", 1500, 1300, "em_top_down"),
    ("a class", 40, 20, "em_top_down"),
    ("a feature", 40, 20, "em_top_down"),
    ("a batch", 40, 20, "em_top_down"),
    ("one record", 40, None, "guttman"),
    ("a batch", 40, 20, "guttman"),
]


def test_a_failed_allocation_changes_nothing_or_learns_everything():
    done = run_with_failing_allocations(__file__)
    assert done.returncode == 0, done.stderr[-2000:]
    raised = [int(word) for word in done.stdout.split()]
    assert len(raised) == len(CASES)
    assert min(raised) > 0


def fail_in_turn(action: str, n: int, window: int | None, construction: str) -> None:
    """Let each allocation of an action fail; print how often it raised."""
    import pickle

    import numpy as np

    from bayes_tree.plain import plain

    random = np.random.default_rng(0)
    y = random.integers(2, size=n + 60)
    X = random.normal(size=(n + 60, 2)) + y[:, None]
    start = plain(fanout=3, n_jobs=1, window=window, construction=construction).partial_fit(X[60:], y[60:])
    queries = {name: random.normal(size=(20, d)) for name, d in (("old", 2), ("wide", 3))}

    def state(model):
        queries_of = queries["wide" if model.n_features_in_ == 3 else "old"]
        arrays = {name: array.tobytes() for name, array in model.forest_.arrays().items()}
        return arrays, model.classes_.tolist(), list(model.columns_), model.predict_proba(queries_of).tobytes()

    def learned_alike(model, expected):
        """Whether the answers are those of the undisturbed model: postponed work may change the arrays."""
        return model.classes_.tolist() == expected[1] and list(model.columns_) == expected[2]

    stored = pickle.dumps(start)
    before = state(start)
    expected = None
    raised = 0
    for case in each_failing_allocation(max_cases=12):
        model = start.snapshot() if case.first % 2 else pickle.loads(stored)
        with case:
            ACTIONS[action](model, X, y)
        if expected is None:
            expected = state(model)
        if case.raised is None:
            assert learned_alike(model, expected), case
        else:
            raised += 1
            assert state(model) == before, case
        assert state(start) == before, case
        again = pickle.loads(pickle.dumps(model))  # its arrays are consistent
        for x, label in zip(X[:10], y[:10], strict=True):
            again.learn_one(dict(enumerate(x)), label)
        if case.raised is not None:
            ACTIONS[action](model, X, y)
            assert state(model) == expected, case
    print(raised)


if __name__ == "__main__":
    for case in CASES:
        fail_in_turn(*case)
