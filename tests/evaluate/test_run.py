"""A run: its error curve, its recoveries, the drift detector and its table."""

import matplotlib as mpl
import numpy as np

from anystream.drift import DynamicWeightedMajority, GaussianNaiveBayes, river_detector
from anystream.evaluate import run_prequential
from anystream.streams import SEA, MovingGaussians

mpl.use("Agg")


def test_detections_of_a_river_detector_are_recorded():
    stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(2000,), seed=2, n_records=3000)
    run = run_prequential(GaussianNaiveBayes(), stream, batch_size=10, detector=river_detector("ADWIN"))
    assert len(run.detections) > 0
    assert all(2000 <= at < 2300 for at in run.detections[:1])
    assert "detected at" in str(run)


def test_a_run_has_an_error_curve_recoveries_and_a_table():
    stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(1000,), seed=2, n_records=2000)
    run = run_prequential(DynamicWeightedMajority(), stream, window=100)
    assert len(run.error_curve()) == 20
    assert np.allclose(run.error_curve(500), 1 - run.windowed_accuracy(500)[499::500])
    recoveries = run.recoveries()
    assert list(recoveries) == [1000]
    assert recoveries[1000].drift_point == 10
    assert recoveries[1000].depth > 0.2
    text = str(run)
    for word in ("kappa-M", "kappa-T", f"{run.accuracy:.4f}", "drift at 1000"):
        assert word in text


def test_drifts_that_the_curve_cannot_show_have_no_recovery():
    stream = SEA(concepts=(7, 9, 6, 8, 5), drifts=(30, 210, 290, 980), seed=2, n_records=1010)
    run = run_prequential(GaussianNaiveBayes(), stream, window=100, batch_size=10)
    recoveries = run.recoveries()
    assert list(recoveries) == [290, 980]  # 30 is at the first point, 210 and 290 are at the same point
    assert [recovery.drift_point for recovery in recoveries.values()] == [2, 9]
    assert "drift at 290" in str(run)
    assert "drift at 210" not in str(run)


def test_the_plot_shows_the_error_curve():
    stream = SEA(concepts=(7, 9), drifts=(600,), seed=0, n_records=1200)
    run = run_prequential(GaussianNaiveBayes(), stream, batch_size=20, window=60)
    curve = run.plot().get_lines()[0]
    assert np.allclose(curve.get_ydata(), 100 * run.error_curve())
    mpl.pyplot.close("all")
