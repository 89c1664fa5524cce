import numpy as np
import pytest

from anystream import AnytimeNeighborsClassifier
from anystream.neighbors import fitting
from anystream.neighbors.fitting import CALIBRATION_SHARE, MAX_CALIBRATION_WORK, MIN_HELD_OUT, bound_comparisons


@pytest.mark.parametrize("n_exemplars", [1, 30, 450, 100_000])
@pytest.mark.parametrize("max_comparisons", [1, 500, 18_000, 1e9])
def test_held_out_records_never_take_more_comparisons_than_allowed(n_exemplars, max_comparisons):
    held_out, last_stage = bound_comparisons(n_exemplars, max_comparisons)
    assert held_out >= MIN_HELD_OUT
    assert 1 <= last_stage <= n_exemplars
    assert held_out * last_stage <= max(max_comparisons, held_out)


class CountingMetric:
    """The distance of two numbers; it counts how often it is called."""

    def __init__(self):
        self.calls = 0

    def __call__(self, a, b):
        self.calls += 1
        return float(np.abs(a - b).sum())


def test_calibration_with_a_python_metric_takes_a_stated_share_of_the_comparisons_of_fit():
    rng = np.random.default_rng(0)
    n = 240
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 1)) + y[:, None]
    calls = {}
    for calibrate in (False, True):
        metric = CountingMetric()
        model = AnytimeNeighborsClassifier(metric=metric, calibrate=calibrate).fit(X, y)
        calls[calibrate] = metric.calls
    assert model.calibration_ is not None
    extra = calls[True] - calls[False]
    assert 0 < extra <= max(CALIBRATION_SHARE * n * (n - 1) / 2, MAX_CALIBRATION_WORK / 20_000)


def test_slow_metrics_hold_out_fewer_records_and_still_calibrate(monkeypatch):
    monkeypatch.setattr(fitting, "MAX_CALIBRATION_WORK", 1.0)
    metric = CountingMetric()
    rng = np.random.default_rng(0)
    n = 240
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 1)) + y[:, None]
    baseline = CountingMetric()
    AnytimeNeighborsClassifier(metric=baseline, calibrate=False).fit(X, y)
    model = AnytimeNeighborsClassifier(metric=metric).fit(X, y)
    assert metric.calls - baseline.calls <= CALIBRATION_SHARE * n * (n - 1) / 2 + 2 * MIN_HELD_OUT
    assert max(model.calibration_.steps) < n
    proba = model.predict_proba(X)
    assert np.all((proba > 0.0) & (proba < 1.0))


@pytest.mark.parametrize(
    ("metric", "parameters", "work"),
    [
        ("euclidean", {}, 30.0),
        ("dtw", {"band": 1.0}, 900.0),
        ("dtw", {"band": 2}, 150.0),
        ("rotation", {}, 900.0),
    ],
)
def test_the_work_of_a_comparison_counts_the_pairs_of_values(metric, parameters, work):
    X = np.random.default_rng(0).normal(size=(6, 30))
    model = AnytimeNeighborsClassifier(metric=metric, metric_params=parameters or None).fit(X, [0, 1] * 3)
    assert model.exemplars_.distance.comparison_work(X) == work
