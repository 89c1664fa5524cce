"""KAOGINC follows changes, forgets what the paper forgets, and keeps its memory bounded."""

import pickle

import numpy as np
import pytest
from kaoginc_cases import learn_stream, swapping_stream
from sklearn.datasets import load_digits

from anystream import load
from anystream.graph import KAOGINCClassifier
from anystream.streams import SEA, Sine


def test_old_components_get_new_labels_when_labels_swap():
    model = learn_stream(KAOGINCClassifier(), swapping_stream(1200, 1199))
    before = model.principal_.components
    model.partial_fit(*swapping_stream(1360, 1200).take(80, start=1200))
    assert model.principal_.components.transferred.sum() > 0.8 * len(before)
    assert model.principal_.recent_errors == ()
    assert model.score(*swapping_stream().take(400, start=1400)) > 0.8


@pytest.mark.parametrize("seed", range(3))
def test_one_unlucky_batch_does_not_undo_a_stationary_model(seed):
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order], y[order]
    model = KAOGINCClassifier().partial_fit(X[:1200], y[:1200])
    accuracy = model.score(X[1300:], y[1300:])
    noisy = y[1200:1280].copy()
    noisy[::3] = (noisy[::3] + 1 + np.arange(27) % 9) % 10  # far more errors than usual, but no new concept
    model.partial_fit(X[1200:1280], noisy)
    assert model.principal_.components.n_vertices == 1280
    assert model.principal_.recent_errors[-1] > 0.3
    assert model.score(X[1300:], y[1300:]) > accuracy - 0.04  # it lost 27 to 39 points


def test_a_restart_drops_all_old_components_and_ignoring_keeps_them():
    restarted = learn_stream(KAOGINCClassifier(on_change="restart"), swapping_stream(1280, 1200))
    assert restarted.principal_.components.n_vertices == 80
    ignored = learn_stream(KAOGINCClassifier(on_change="ignore", missed_changes=False), swapping_stream(1280, 1200))
    assert ignored.principal_.components.n_vertices == 1280
    assert ignored.score(*swapping_stream().take(400, start=1400)) < 0.4


def test_the_missed_change_rule_drops_components_that_no_single_batch_has_shown_wrong():
    stream = SEA(concepts=(7, 9), drifts=(2400,), noise=0.1, seed=5, n_records=4000)
    with_rule = learn_stream(KAOGINCClassifier(on_change="ignore"), stream)
    without = learn_stream(KAOGINCClassifier(on_change="ignore", missed_changes=False), stream)
    assert without.principal_.components.n_vertices == 3000
    assert with_rule.principal_.components.n_vertices < 2000


def test_the_algorithm_of_the_paper_prunes_until_no_component_is_mostly_wrong():
    stream = swapping_stream(1280, 1200)
    repeated = learn_stream(KAOGINCClassifier.paper(), stream)
    once = learn_stream(KAOGINCClassifier.paper(pruning="once"), stream)
    never = learn_stream(KAOGINCClassifier.paper(pruning=None), stream)
    sizes = [model.principal_.components.n_vertices for model in (repeated, once, never)]
    assert sizes[0] < sizes[1] < sizes[2]
    X, y = swapping_stream(2000, 1200).take(80, start=1280)
    principal = pickle.loads(pickle.dumps(repeated)).partial_fit(X, y).principal_
    old = principal.components.select(principal.components.batch_number < principal.n_batches - 1)
    nearest = np.empty((len(X), int(old.k.max())), np.int64)
    old.scaled_points(np.ones(2)).find_nearest(X, nearest.shape[1], 1, nearest)
    contacts = old.count_contacts(nearest, y.astype(np.int32), 1, 2)
    right = contacts[np.arange(len(old)), old.label]
    assert (right >= contacts.sum(axis=1) - right).all()


def test_unused_components_are_forgotten_after_tau():
    far = np.random.default_rng(1).normal(size=(40, 1)) + 100.0
    near = np.random.default_rng(2).normal(size=(400, 1))
    for tau, stays in ((100, False), (None, True)):
        model = KAOGINCClassifier.paper(tau=tau, tau_counts="learned", batch_size=40, pruning=None)
        model.partial_fit(far, np.ones(40)).partial_fit(near, np.zeros(400))
        assert (model.principal_.components.points > 50).any() == stays


def test_classified_records_that_do_not_use_a_component_count_against_it(tmp_path):
    rng = np.random.default_rng(1)
    far, near = rng.normal(size=(40, 1)) + 100.0, rng.normal(size=(40, 1))
    model = KAOGINCClassifier.paper(tau=100, batch_size=40, pruning=None)
    model.partial_fit(far, np.ones(40)).partial_fit(near, np.zeros(40))
    model.partial_fit(rng.normal(size=(400, 1)), np.zeros(400))  # learned records do not count
    model.predict(rng.normal(size=(400, 1)))  # and predict does not change the model
    assert (model.principal_.components.points > 50).any()
    model.note_classified(rng.normal(size=(60, 1)))
    before = model.principal_.components.last_used
    model.save(tmp_path / "model")
    model = load(tmp_path / "model")
    assert model.principal_.n_classified == 60
    assert np.array_equal(model.principal_.components.last_used, before)
    model.note_classified(np.vstack([far[:1], near]))  # one record uses it, 40 do not
    assert (model.principal_.components.points > 50).any()
    assert model.predict([[99.0]]) == [1]
    model.note_classified(rng.normal(size=(60, 1)))
    assert (model.principal_.components.points > 50).any()  # 100 since then
    model.note_classified(near[:1])
    assert not (model.principal_.components.points > 50).any()
    assert model.predict([[99.0]]) == [0]
    with pytest.raises(ValueError, match="2 features"):
        model.note_classified([[1.0, 2.0]])


def test_memory_is_bounded():
    model = KAOGINCClassifier(max_vertices=200, moments=False)
    sizes = []
    for X, y in Sine(seed=0, n_records=4000).batches(80):
        model.partial_fit(X, y)
        assert model.principal_.components.n_vertices <= 200
        sizes.append(model.memory_bytes_)
    assert max(sizes[10:]) < 1.5 * sizes[3]
    assert model.principal_.components.batch_number.min() >= 50 - 4
