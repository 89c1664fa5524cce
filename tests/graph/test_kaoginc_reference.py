"""KAOGINC gives the same labels as the plain reference, batch after batch, through changes."""

import numpy as np
import pytest

from anystream.graph import KAOGINCClassifier
from anystream.streams import SEA, MovingGaussians, Sine
from reference.kaoginc import PlainKAOGINC

SIZE, N_BATCHES = 20, 15
DRIFTS = (SIZE * 6, SIZE * 11)
STREAMS = {
    "sine": Sine(concepts=("sine1", "sine1_reversed", "sine2"), drifts=DRIFTS, seed=1),
    "sea": SEA(concepts=(7, 9.5, 5), drifts=DRIFTS, noise=0.1, seed=2),
    "gauss": MovingGaussians(concepts=("plain", "swapped", "plain"), drifts=DRIFTS, seed=3),
}
CASES = {
    "default": {},
    "no floors, small": {"k_floors": (0.0,), "max_vertices": 90},
    "scaled, no moments": {"metric": "scaled", "moments": False},
    "dropped, missed changes alone": {"isolated": "drop", "on_change": "ignore"},
    "pruned": {"pruning": "repeated", "moments": False},
}
PAPER_CASES = {
    "paper": {"tau": 60},
    "paper, learned records count": {"tau": 60, "tau_counts": "learned"},
    "paper, once": {"pruning": "once", "tau": None},
}


def make_reference(model):
    p = model.get_params()
    names = ("k_floors", "metric", "moments", "isolated", "on_change", "missed_changes", "pruning", "tau")
    return PlainKAOGINC(*(p[name] for name in names), 2, p["max_vertices"], p["tau_counts"])


MODELS = {name: KAOGINCClassifier(batch_size=SIZE, **changes) for name, changes in CASES.items()} | {
    name: KAOGINCClassifier.paper(batch_size=SIZE, **changes) for name, changes in PAPER_CASES.items()
}


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", MODELS)
def test_every_label_equals_that_of_the_reference(name, stream):
    model, reference = MODELS[name].clone(), make_reference(MODELS[name])
    batches = STREAMS[stream].batches(SIZE)
    for number in range(N_BATCHES):
        X, y = next(batches)
        if number:
            assert np.array_equal(model.predict(X), reference.predict(X)), f"batch {number}"
            queries = X[: 7 + number]
            model.note_classified(queries)
            if reference.tau_counts == "classified" and reference.tau is not None:
                reference.note_classified(queries)
            assert len(model.principal_.components) == len(reference.graph), f"queries {number}"
        model.partial_fit(X, y, classes=[0, 1])
        reference.learn(X, y)
        assert len(model.principal_.components) == len(reference.graph), f"batch {number}"
