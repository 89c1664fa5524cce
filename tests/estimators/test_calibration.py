"""Calibrated probabilities keep the order of the classes and tell how often labels are right."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss

from anystream import AnytimeNeighborsClassifier, BayesTreeClassifier, LocustClassifier, MicroClusterClassifier, load
from anystream.estimators.calibration import Calibration, fit_calibration
from anystream.estimators.held_out import calibrate_on_quarter
from anystream.estimators.parameters import check_bool
from anystream.subspace import BlockLocustClassifier
from reference.calibration import calibrate


@given(seed=st.integers(0, 10**6), n_classes=st.integers(1, 6), n_stages=st.integers(1, 4), ties=st.booleans())
def test_native_calibration_equals_the_reference_and_keeps_every_label(seed, n_classes, n_stages, ties):
    random = np.random.default_rng(seed)
    proba = softmax(random.normal(scale=random.choice([0.1, 3, 300]), size=(20, n_classes)), axis=1)
    if ties:
        proba = np.round(proba, 1) + 1e-300
        proba[1:] = np.nextafter(proba[1:], 2)  # the smallest difference
        proba /= proba.sum(axis=1, keepdims=True)
    tables = np.cumsum(random.integers(1, 9, n_stages)), random.uniform(-4, 4, n_stages), random.uniform(0, 1, n_stages)
    calibration = Calibration(*(tuple(table.tolist()) for table in tables))
    taken, calibrated = random.integers(0, 40, 20), proba.copy()
    calibration.native.apply(calibrated, taken)
    expected = [calibrate(p, steps, *tables) for p, steps in zip(proba, taken, strict=True)]
    np.testing.assert_allclose(calibrated, expected, rtol=1e-6, atol=1e-12)
    assert np.array_equal(calibrated.argmax(axis=1), proba.argmax(axis=1))


@pytest.mark.parametrize("sharpness", [0.2, 3.0])
def test_fitting_finds_the_power_that_was_applied(sharpness):
    random = np.random.default_rng(0)
    true = log_softmax(random.normal(scale=2.0, size=(4000, 3)), axis=1)
    numbers = np.array([random.choice(3, p=p) for p in np.exp(true)], dtype=np.int32)
    found = fit_calibration([0, 5], [true / sharpness, true], numbers)
    assert found.log_sharpness[0] == pytest.approx(np.log(sharpness), abs=0.15)
    assert found.log_sharpness[1] == pytest.approx(0, abs=0.15)
    assert max(found.floor) < 0.02


def test_one_sided_answers_get_the_share_of_errors_as_their_floor():
    numbers = np.repeat([0, 1], [90, 10]).astype(np.int32)
    scores = np.tile([0.0, -1e30], (100, 1))  # always certain of the first class
    found = fit_calibration([0], [scores], numbers)
    proba = np.array([[1.0, 0.0]])
    found.native.apply(proba, np.zeros(1, dtype=np.int64))
    assert proba[0, 0] == pytest.approx(0.9, abs=0.01)


def test_a_calibration_without_errors_keeps_a_doubt():
    found = fit_calibration([0], [np.tile([0.0, -5.0], (50, 1))], np.zeros(50, dtype=np.int32))
    assert found.floor == (pytest.approx(1 / 51),)


@pytest.mark.parametrize(
    "tables", [((1, 1), (0, 0), (0, 0)), ((0,), (np.nan,), (0,)), ((0,), (0,), (2,)), ((), (), ())]
)
def test_damaged_tables_are_rejected(tables):
    with pytest.raises(ValueError, match="calibration"):
        Calibration.from_json(dict(zip(("steps", "log_sharpness", "floor"), tables, strict=True)))


def test_a_calibration_is_restored_from_json_pickle_and_copies():
    calibration = Calibration((0, 3), (-0.5, 0.25), (0.1, 0.0))
    for twin in (Calibration.from_json(calibration.to_json()), pickle.loads(pickle.dumps(calibration))):
        assert (twin.steps, twin.log_sharpness, twin.floor) == ((0, 3), (-0.5, 0.25), (0.1, 0.0))
    assert copy.deepcopy(calibration) is calibration


def test_a_flag_must_be_a_bool():
    assert check_bool("calibrate", np.True_) is True
    with pytest.raises(ValueError, match="calibrate is 'yes'"):
        check_bool("calibrate", "yes")


def overlapping(n, seed):
    """Return two classes in many features that depend on each other: raw densities are far too certain."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    hidden = y[:, None] * 0.8 + random.normal(size=(n, 2))
    return np.exp(hidden @ np.random.default_rng(9).normal(size=(2, 15)) * 0.3 + 0.2 * random.normal(size=(n, 15))), y


def test_the_probabilities_of_bayes_trees_can_be_used_and_labels_stay():
    X, y = overlapping(3000, 0)
    Q, labels = overlapping(1500, 1)
    model = BayesTreeClassifier().fit(X, y)
    assert model.calibration_ is not None
    for budget in (0, 3, 20, 200):
        model.set_params(calibrate=True)
        calibrated, decided = model.predict_proba(Q, budget=budget), model.predict(Q, budget=budget)
        model.set_params(calibrate=False)
        raw = model.predict_proba(Q, budget=budget)
        assert np.array_equal(decided, model.predict(Q, budget=budget))
        assert log_loss(labels, calibrated) <= log_loss(labels, np.clip(raw, 1e-15, 1)) + 0.01
        assert abs(calibrated.max(axis=1).mean() - (decided == labels).mean()) < 0.05
    assert log_loss(labels, calibrated) < 0.95 * log_loss(labels, np.clip(raw, 1e-15, 1))


def test_calibration_stays_with_files_merging_and_learning(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = BayesTreeClassifier().fit(X, y)
    model.save(tmp_path / "model.safetensors")
    twin = load(tmp_path / "model.safetensors")
    assert twin.calibration_.to_json() == model.calibration_.to_json()
    assert np.array_equal(twin.predict_proba(X, budget=5), model.predict_proba(X, budget=5))
    assert twin.merge([model]).calibration_.to_json() == model.calibration_.to_json()
    kept = model.calibration_
    assert model.partial_fit(X[:9], y[:9]).calibration_ is kept
    assert BayesTreeClassifier().partial_fit(X, y).calibration_ is None
    assert BayesTreeClassifier(calibrate=False).fit(X, y).calibration_ is None
    assert BayesTreeClassifier.bt_star().fit(X, y).calibration_ is None
    assert BayesTreeClassifier(metric=None, root_model=None).fit(X, y).calibration_ is None


CALIBRATED = {
    "neighbors": lambda: AnytimeNeighborsClassifier(),
    "neighbors, k=7": lambda: AnytimeNeighborsClassifier(k=7, search="inverted"),
    "neighbors, trimmed": lambda: AnytimeNeighborsClassifier(trim="auto"),
    "locust": LocustClassifier,
    "locust, blocks": lambda: BlockLocustClassifier(block_size=500),
    "micro-clusters": MicroClusterClassifier,
}


@pytest.mark.parametrize("name", CALIBRATED)
def test_the_probabilities_of_other_classifiers_can_be_used_and_labels_stay(name):
    X, y = overlapping(2000, 0)
    Q, labels = overlapping(1000, 1)
    model = CALIBRATED[name]().fit(X, y)
    assert model.calibration_ is not None
    for budget in (200, None) if name == "neighbors, k=7" else (0, 3, 20, None):  # the votes of few steps are worthless
        model.set_params(calibrate=True)
        calibrated, decided = model.predict_proba(Q, budget=budget), model.predict(Q, budget=budget)
        model.set_params(calibrate=False)
        raw = model.predict_proba(Q, budget=budget)
        assert np.array_equal(decided, model.predict(Q, budget=budget))
        assert log_loss(labels, calibrated) <= log_loss(labels, np.clip(raw, 1e-15, 1)) + 0.02
        assert abs(calibrated.max(axis=1).mean() - (decided == labels).mean()) < 0.06
        assert calibrated.min() > 0


@pytest.mark.parametrize("name", CALIBRATED)
def test_the_calibration_of_other_classifiers_stays_with_files_merging_and_learning(name, tmp_path):
    X, y = overlapping(300, 0)
    model = CALIBRATED[name]().fit(X, y)
    model.save(tmp_path / "model.safetensors")
    twin = load(tmp_path / "model.safetensors")
    assert twin.calibration_.to_json() == model.calibration_.to_json()
    single = [model.query(x).refine(5).proba for x in X[:9]]
    assert np.array_equal(single, model.predict_proba(X[:9], budget=5))
    assert np.array_equal(twin.predict_proba(X, budget=5), model.predict_proba(X, budget=5))
    stages = list(model.staged_proba(X, np.array([2, 5])))
    assert np.array_equal(stages[1], model.predict_proba(X, budget=5))
    assert twin.merge([model]).calibration_.to_json() == model.calibration_.to_json()
    kept = model.calibration_
    assert model.partial_fit(X[:9], y[:9]).calibration_ is kept
    assert CALIBRATED[name]().partial_fit(X, y).calibration_ is None
    assert CALIBRATED[name]().set_params(calibrate=False).fit(X, y).calibration_ is None
    assert CALIBRATED[name]().fit(X[:100], y[:100]).calibration_ is None
    assert CALIBRATED[name]().fit(X, np.zeros(300)).calibration_ is None
    with pytest.raises(ValueError, match="calibrate is 1; use True or False"):
        CALIBRATED[name]().set_params(calibrate=1).fit(X, y)


def test_a_sorted_table_is_calibrated_like_a_shuffled_one():
    X, y = overlapping(2000, 0)
    Q, labels = overlapping(1000, 1)
    order = np.argsort(y, kind="stable")
    model = LocustClassifier().fit(X[order], y[order])
    assert log_loss(labels, model.predict_proba(Q)) < 0.65


def test_calibrated_neighbours_of_texts_and_python_metrics():
    names = [f"{kind}{i}" for i in range(100) for kind in ("alpha", "beta")]
    model = AnytimeNeighborsClassifier(metric="edit").fit(names, [name[0] for name in names])
    assert 0.9 < model.predict_proba(["alpha"]).max() < 1
    own = AnytimeNeighborsClassifier(metric=lambda a, b: abs(a - b)).fit(
        list(range(200)), [i // 100 for i in range(200)]
    )
    assert 0.9 < own.predict_proba([3]).max() < 1
    assert own.query(3).refine(4).proba.max() == own.predict_proba([3], budget=4).max()


def test_many_classes_are_calibrated_on_few_records(monkeypatch):
    monkeypatch.setattr("anystream.estimators.held_out._MAX_SCORES", 200_000)
    held_out = []

    def staged_proba(positions, stages):
        held_out.append(len(positions))
        return [np.full((len(positions), 1000), 1e-3) for _ in stages]

    numbers = (np.arange(3000) // 3).astype(np.int32)
    calibrate_on_quarter(np.arange(3000.0)[:, np.newaxis], numbers, 0, np.arange(2), staged_proba)
    assert held_out == [100]
