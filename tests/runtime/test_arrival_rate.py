import pytest

from anystream.runtime.arrival_rate import ArrivalRate


def test_the_rate_is_right_from_the_second_observation_on_and_follows_changes():
    rate = ArrivalRate()
    rate.observe(1000, 0.0)
    assert rate.per_s == 0.0  # nothing is known about the time before the first observation
    rate.observe(5, 0.1)
    assert rate.per_s == pytest.approx(50.0)
    for i in range(100):
        rate.observe(20, 0.2 + 0.1 * i)
    assert rate.per_s == pytest.approx(200.0, rel=0.01)
