"""Invalid parameters and query states of LOCUST."""

import numpy as np
import pytest
from locust_cases import FORMS, blobs

from anystream.subspace import BlockLocustClassifier, LocustClassifier


@pytest.mark.parametrize(
    ("form", "parameters", "message"),
    [
        (LocustClassifier, {"n_levels": 0}, "n_levels is 0"),
        (LocustClassifier, {"level_size": 70_000}, "level_size is 70000; use 2 to 65535"),
        (LocustClassifier, {"n_ranges": 1}, "n_ranges is 1"),
        (LocustClassifier, {"affinity": -1.0}, "affinity is -1"),
        (LocustClassifier, {"confidence": 1.0}, "confidence is 1.0"),
        (LocustClassifier, {"label_delay": -1}, "label_delay is -1"),
        (LocustClassifier, {"smoothing": "much"}, "smoothing is 'much'; use a number"),
        (LocustClassifier, {"categorical": "city"}, "categorical is 'city'"),
        (LocustClassifier, {"max_samples": 0}, "max_samples is 0"),
        (BlockLocustClassifier, {"bias": "gini"}, "bias is 'gini'; use one of adaptive"),
        (BlockLocustClassifier, {"dominant": "most"}, "dominant is 'most'; use one of count, lift"),
        (BlockLocustClassifier, {"failed": "maybe"}, "failed is 'maybe'"),
        (BlockLocustClassifier, {"block_size": 1}, "block_size is 1"),
        (BlockLocustClassifier, {"decay": -1.0}, "decay is -1"),
    ],
)
def test_invalid_parameters_are_rejected_before_anything_changes(form, parameters, message):
    model = form(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(*blobs(30))
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("form", FORMS)
def test_invalid_states_are_rejected(form):
    model = form().fit(*blobs(100))
    with pytest.raises(ValueError, match="not the state of a query of this model"):
        model.query(state=b"nonsense")
    state = form().fit(*blobs(100, d=20)).query(np.zeros(20)).refine(3).state
    with pytest.raises(ValueError, match="the number of features differs"):
        model.query(state=state)


@pytest.mark.parametrize("votes", [np.nan, np.inf, -1.0])
def test_a_state_with_votes_that_are_not_numbers_is_rejected(votes):
    model = BlockLocustClassifier().fit(*blobs(100))
    state = model.query(np.zeros(model.n_features_in_)).refine(3).state
    model.query(state=state)
    with pytest.raises(ValueError, match="its votes are damaged"):
        model.query(state=state[:-8] + np.float64(votes).tobytes())
