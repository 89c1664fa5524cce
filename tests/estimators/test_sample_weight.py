"""Weights of records mean copies, and `random_state` is scikit-learn's, for every classifier."""

import numpy as np
import pytest
from sklearn.base import clone

from all_classifiers import INCREMENTAL, clusters
from anystream import AnytimeForestClassifier, AnytimeNeighborsClassifier, BayesTreeClassifier, KAOGClassifier, load
from anystream.estimators.held_out import split_in_quarters
from anystream.estimators.sample_weight import repeat_by_weight

ALL = INCREMENTAL | {
    "kaog": KAOGClassifier,
    "forest": lambda: AnytimeForestClassifier(n_estimators=5),
    "random forest": lambda: AnytimeForestClassifier(base="random_forest", n_estimators=5),
}


def weighted(n=130):
    X, y = clusters(n, 3)
    return X, y, np.random.default_rng(5).integers(0, 4, n)


@pytest.mark.parametrize("name", ALL)
def test_a_weight_of_two_equals_the_record_twice_and_zero_equals_leaving_it_out(name):
    X, y, weights = weighted()
    model = ALL[name]().fit(X, y, sample_weight=weights)
    copied = ALL[name]().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for budget in (0, 7, None):
        assert np.array_equal(model.predict_proba(X, budget=budget), copied.predict_proba(X, budget=budget))


@pytest.mark.parametrize("name", INCREMENTAL)
def test_weights_mean_copies_when_learning_incrementally(name):
    X, y, weights = weighted()
    model, copied = INCREMENTAL[name](), INCREMENTAL[name]()
    for part in (slice(0, 60), slice(60, None)):
        model.partial_fit(X[part], y[part], classes=np.unique(y), sample_weight=weights[part])
        copies = weights[part]
        copied.partial_fit(np.repeat(X[part], copies, axis=0), np.repeat(y[part], copies), classes=np.unique(y))
    assert np.array_equal(model.predict_proba(X), copied.predict_proba(X))


def test_texts_have_weights():
    names, labels = ["Meier", "Maier", "Rossi", "Russo"], ["de", "de", "it", "it"]
    model = AnytimeNeighborsClassifier(metric="edit", k=3).fit(names, labels, sample_weight=[1, 0, 1, 3])
    copied = AnytimeNeighborsClassifier(metric="edit", k=3).fit(["Meier", "Rossi", *["Russo"] * 3], ["de", *["it"] * 4])
    assert np.array_equal(model.predict_proba(names), copied.predict_proba(names))


def test_a_class_of_weight_zero_is_no_class():
    X, y, _ = weighted()
    assert BayesTreeClassifier().fit(X, y, sample_weight=y != "class 1").classes_.tolist() == ["class 0", "class 2"]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 0.5, 1.0], "sample_weight of record 1 is 0.5; use whole numbers"),
        ([1, -1, 1], "sample_weight of record 1 is -1"),
        ([1, np.nan, 1], "sample_weight of record 1 is nan"),
        ([1, 1], r"has the shape \(2,\)"),
        ([0, 0, 0], "zero for every record"),
        (["a", "b", "c"], "use one number per record"),
        ([1, 10**15, 1], "sums up to 1000000000000002 records"),
    ],
)
def test_invalid_weights_are_errors_that_leave_the_model_as_it_was(weights, message):
    model = BayesTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            learn([[5.0], [6.0], [7.0]], [0, 1, 1], sample_weight=weights)
    assert model.forest_.records == 2


def test_records_without_weights_are_not_copied():
    X, y, _ = weighted()
    assert repeat_by_weight(X, y, None)[0] is X
    assert repeat_by_weight(X, y, np.ones(len(X)))[0] is X


def test_copies_of_a_record_are_held_out_together():
    X, y, weights = weighted(400)
    X[7] = np.nan
    numbers = np.unique(y, return_inverse=True)[1].astype(np.int32)
    points, copied, own = X.repeat(weights, axis=0), numbers.repeat(weights), np.arange(400).repeat(weights)
    parts = split_in_quarters(points, copied, 0)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(points)))
    records = [set(own[part].tolist()) for part in parts]
    assert sum(map(len, records)) == len(set(own.tolist()))
    assert max(map(len, parts)) < 1.4 * min(map(len, parts))


# -- random_state ----------------------------------------------------------------------------------------------------

RANDOM = {name: make for name, make in ALL.items() if "random_state" in make().get_params()}


def test_classifiers_with_random_draws_have_the_parameter():
    assert {"bayes-tree", "neighbors", "locust", "locust-blocks", "forest", "wcea", "sea-ensemble"} <= set(RANDOM)
    assert not [name for name, make in ALL.items() if "seed" in make().get_params()]


@pytest.mark.parametrize("name", RANDOM)
def test_a_generator_or_none_is_drawn_from_once_and_saved(name, tmp_path):
    X, y, _ = weighted()
    generators = [np.random.RandomState(3), np.random.RandomState(3)]
    one, other = (RANDOM[name]().set_params(random_state=generator).fit(X, y) for generator in generators)
    assert one.seed_ == other.seed_ == np.random.RandomState(3).randint(2**31 - 1)
    assert np.array_equal(one.predict_proba(X, budget=5), other.predict_proba(X, budget=5))
    assert RANDOM[name]().set_params(random_state=np.random.default_rng(0)).fit(X, y).seed_ >= 0
    assert RANDOM[name]().set_params(random_state=4).fit(X, y).seed_ == 4
    drawn = RANDOM[name]().set_params(random_state=None).fit(X, y)
    assert clone(drawn).fit(X, y).seed_ != drawn.seed_
    for model in (one, drawn):
        if name == "neighbors, python metric":
            continue
        model.save(tmp_path / "model.safetensors")
        twin = load(tmp_path / "model.safetensors")
        assert twin.seed_ == model.seed_
        assert np.array_equal(twin.predict_proba(X, budget=5), model.predict_proba(X, budget=5))


def test_samples_of_locust_depend_on_the_random_state():
    X, y, _ = weighted()
    first, second = (INCREMENTAL["locust"]().set_params(random_state=seed).fit(X, y) for seed in (0, 1))
    assert not np.array_equal(first.predict_proba(X, budget=2), second.predict_proba(X, budget=2))
    with pytest.raises(ValueError, match="random_state is 'now'; use a whole number"):
        INCREMENTAL["locust"]().set_params(random_state="now").fit(X, y)
