"""Models that learn while the memory of the native core runs out: they change entirely or not at all.

Run by `test_learning_without_memory` in a process of its own; the arguments are kinds of models.
"""

import pickle
import sys

import numpy as np

from anystream.models import MODELS
from attack.failing_allocations import each_failing_allocation

LEARNED = {"locust": 255, "locust-blocks": 255, "micro-clusters": 999, "neighbors": 150}  # records before


def records(seed, count):
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 3
    return rng.normal(size=(count, 2)) + y[:, np.newaxis], y


def bits(model):
    return pickle.dumps(model), model.predict_proba(records(9, 20)[0]).tobytes()


def learn_one(model):
    model.learn_one({0: 0.5, 1: -1.0}, 1)


def learn_one_of_a_new_class(model):
    model.learn_one({0: 0.5, 1: -1.0}, 7)


def learn_batch(model):
    X, y = records(3, 40)
    model.partial_fit(X, y + 1)


def while_choosing():
    """Return micro-clusters in the middle of choosing a horizon: the next record builds another one to compare."""
    times = {"snapshot_every": 10, "choose_every": 40, "choose_within": 40, "hold_back": 2}
    model = MODELS["micro-clusters"].load_class()(n_jobs=1, calibrate=False, **times)
    return model.partial_fit(*records(1, 164))


def while_building(learned):
    """Return blocks in the middle of building a full one: the next record lays out its lists, or publishes it."""
    model = MODELS["locust-blocks"].load_class()(n_jobs=1, calibrate=False, block_size=160, build_within=10)
    return model.partial_fit(*records(1, learned))


def makers(kind):
    """Return functions that make equal models: a pickle does not hold how far a choice has got."""
    parameters = {"search": "inverted"} if kind == "neighbors" else {}
    start = pickle.dumps(MODELS[kind].load_class()(n_jobs=1, **parameters).fit(*records(1, LEARNED[kind])))
    further = {
        "micro-clusters": [while_choosing],
        "locust-blocks": [lambda: while_building(163), lambda: while_building(168)],
    }
    return [lambda: pickle.loads(start), *further.get(kind, [])]


def check(make, action):
    twin = make()
    before = bits(twin)
    action(twin)
    after = bits(twin)
    for case in each_failing_allocation(max_cases=40):
        model = make()
        with case:
            action(model)
        expected = after if case.raised is None else before
        assert bits(model) == expected, f"{make.__name__}, {action.__name__}: {case!r}"


def main():
    for kind in sys.argv[1:]:
        for make in makers(kind):
            for action in (learn_one, learn_one_of_a_new_class, learn_batch):
                check(make, action)
        print(kind, "ok")


if __name__ == "__main__":
    main()
