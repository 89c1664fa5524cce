import numpy as np
from kaoginc_cases import assert_same_model, swapping_stream
from sklearn.metrics import log_loss

from anystream import load
from anystream.graph import KAOGINCClassifier
from anystream.graph.probability_test import FLOORS, LOG_SHARPNESS, ProbabilityTest


def draw_overlapping(n, seed=0, distance=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 3)) + distance * y[:, None], y


def test_calibrated_probabilities_have_a_lower_log_loss_and_the_same_labels():
    X, y = draw_overlapping(2000)
    Q, labels = draw_overlapping(1000, seed=1)
    for moments in (False, True):
        model = KAOGINCClassifier(moments=moments).fit(X, y)
        calibrated, answers = model.predict_proba(Q), model.predict(Q)
        model.set_params(calibrate=False)
        raw = model.predict_proba(Q)
        assert log_loss(labels, calibrated) < log_loss(labels, np.clip(raw, 1e-15, 1.0)) + 0.01
        assert log_loss(labels, calibrated) < 0.75
        np.testing.assert_array_equal(model.predict(Q), answers)
        np.testing.assert_array_equal(raw.argmax(axis=1), calibrated.argmax(axis=1))


def test_every_way_to_ask_gives_the_same_calibrated_probabilities():
    X, y = draw_overlapping(500)
    model = KAOGINCClassifier(batch_size=50).fit(X, y)
    batch = model.predict_proba(X[:5], budget=10)
    staged = list(model.staged_predict_proba(X[:5], stages=[0, 10]))[1]
    np.testing.assert_array_equal(batch, staged)
    model.budget = 10
    for row, expected in zip(X[:5], batch, strict=True):
        query = model.query(row).refine(10)
        np.testing.assert_array_equal(query.proba, expected)
        np.testing.assert_array_equal(model.resume_query(query.state).proba, expected)
        assert list(model.predict_proba_one(dict(enumerate(row.tolist()))).values()) == expected.tolist()


def test_a_saved_and_a_merged_model_keep_the_losses_of_the_candidates(tmp_path):
    X, y = draw_overlapping(480)
    model = KAOGINCClassifier().fit(X, y)
    model.save(tmp_path / "model.safetensors")
    restored = load(tmp_path / "model.safetensors")
    assert_same_model(model, restored)
    np.testing.assert_array_equal(model.predict_proba(X), restored.predict_proba(X))
    merged = KAOGINCClassifier.merge([model, restored])
    losses = merged.principal_.probabilities.losses
    np.testing.assert_allclose(losses, 2 * model.principal_.probabilities.losses)


def test_confidence_falls_when_the_concept_changes():
    stream = swapping_stream(1600, 800)
    model, confidence = KAOGINCClassifier(on_change="ignore", missed_changes=False), []
    for number, (X, y) in enumerate(stream.batches(80)):
        if number in (9, 12):
            confidence.append(model.predict_proba(X).max(axis=1).mean())
        model.partial_fit(X, y)
    assert confidence[1] < confidence[0] - 0.05


def test_the_candidate_with_the_lowest_loss_is_chosen():
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([1.0, 1.0, 1.0], size=4000)
    numbers = np.array([rng.choice(3, p=row) for row in truth], dtype=np.int32)
    sharpness = 4.0  # raw probabilities are too certain
    test = ProbabilityTest.start()
    assert test.calibration(moments=False) is None
    for start in range(0, 4000, 80):
        rows = slice(start, start + 80)
        test = test.observe(sharpness * np.log(truth[rows]), None, numbers[rows], n_classes=3, n_learned=10**9)
    found = test.calibration(moments=False)
    assert abs(found.log_sharpness[0] + np.log(sharpness)) <= LOG_SHARPNESS[1] - LOG_SHARPNESS[0]
    assert found.floor[0] <= FLOORS[8]
    assert test.calibration(moments=True) is None
