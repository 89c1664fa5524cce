import numpy as np
import pytest

from anystream.runtime import draw_arrivals, workload_a, workload_b


def test_workload_a_has_its_base_and_peak_rates():
    times = workload_a(60.0, base_rate=400.0, peak_rate=12_000.0, seed=3)
    counts = np.histogram(times, bins=np.arange(61))[0]
    spikes = np.arange(60) % 10 == 9
    assert np.all(np.abs(counts[spikes] - 12_000) < 600)
    assert np.all(np.abs(counts[~spikes] - 400) < 120)
    assert np.array_equal(workload_a(5.0, seed=1), workload_a(5.0, seed=1))


def test_workload_b_jumps_between_rates():
    times = workload_b(20.0, max_rate=1000.0, step_s=2.0, seed=4)
    assert np.all(np.diff(times) >= 0.0)
    assert times[0] >= 0.0
    assert times[-1] <= 20.0
    assert np.histogram(times, bins=np.arange(0, 21, 2))[0].std() > 200


def test_arrivals_without_a_seed_are_evenly_spaced_in_each_piece():
    arrivals = draw_arrivals(np.array([2.0, 0.0, 4.0]), 1.0, seed=None)
    assert arrivals.tolist() == [0.25, 0.75, 2.125, 2.375, 2.625, 2.875]


def test_invalid_rates_and_lengths_are_refused():
    with pytest.raises(ValueError, match="rates_per_s"):
        draw_arrivals(np.array([-1.0]), 1.0)
    with pytest.raises(ValueError, match="piece_s is 0"):
        draw_arrivals(np.array([1.0]), 0.0)
    with pytest.raises(ValueError, match="spike_s 0"):
        workload_a(5.0, spike_s=0.0)
