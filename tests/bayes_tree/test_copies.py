"""Copies of Bayes trees that learned on: the same probabilities, bit for bit, also where entries tie."""

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream import BayesTreeClassifier, load
from bayes_tree.plain import plain


def saved_and_loaded(model, *, mmap):
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.safetensors")
        return load(Path(folder) / "m.safetensors", mmap=mmap)


COPIES = {
    "load": lambda model: saved_and_loaded(model, mmap=False),
    "mmap": lambda model: saved_and_loaded(model, mmap=True),
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "snapshot": BayesTreeClassifier.snapshot,
}


def integers(random, n, d):
    """Return records of few different values, many of them twice, and their classes."""
    y = random.integers(3, size=n)
    X = random.integers(4, size=(n, d)) + y[:, None] % 2
    again = random.integers(n, size=n // 4)
    return np.vstack([X, X[again]]).astype(float), np.concatenate([y, y[again]])


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 150),
    d=st.integers(1, 3),
    more=st.integers(1, 150),
    published=st.booleans(),
    decision=st.sampled_from(["mixture", "ensemble"]),
    descent=st.sampled_from(["global_best", "breadth_first", "depth_first"]),
    how=st.sampled_from(list(COPIES)),
)
def test_copies_of_models_that_learned_on_give_the_same_probabilities(
    seed, n, d, more, published, decision, descent, how
):
    random = np.random.default_rng(seed)
    make = BayesTreeClassifier.bt_star if published else plain
    model = make(decision=decision, descent=descent).fit(*integers(random, n, d))
    model.partial_fit(*integers(random, more, d))
    twin = COPIES[how](model)
    queries = np.vstack([integers(random, 20, d)[0], random.normal(size=(5, d))])
    for budget in (0, 1, 3, 8, 30, 10**6):
        assert np.array_equal(twin.predict_proba(queries, budget=budget), model.predict_proba(queries, budget=budget))
    X, y = integers(random, more, d)
    twin.partial_fit(X, y)
    model.partial_fit(X, y)
    assert np.array_equal(twin.predict_proba(queries, budget=7), model.predict_proba(queries, budget=7))


@pytest.mark.parametrize("how", COPIES)
def test_many_ties_are_broken_alike(how):
    random = np.random.default_rng(1)
    model = BayesTreeClassifier.bt_star().fit(*integers(random, 400, 2))
    model.partial_fit(*integers(random, 900, 2))
    twin = COPIES[how](model)
    queries = integers(random, 2000, 2)[0]
    for budget in (2, 5, 11, 25, 60):
        assert np.array_equal(twin.predict_proba(queries, budget=budget), model.predict_proba(queries, budget=budget))


def test_a_loaded_model_that_learns_on_has_the_arrays_of_the_saved_one():
    random = np.random.default_rng(2)

    def batch(n):
        return random.normal(size=(n, 4)), random.integers(3, size=n)

    model = BayesTreeClassifier(metric=None, root_model=None).fit(*batch(200))
    twin = model.snapshot()
    for _ in range(40):
        X, y = batch(25)
        model.partial_fit(X, y)
        twin = saved_and_loaded(twin, mmap=False).partial_fit(X, y)
    arrays = twin.forest_.arrays()
    for name, values in model.forest_.arrays().items():
        assert np.array_equal(arrays[name], values, equal_nan=True), name
