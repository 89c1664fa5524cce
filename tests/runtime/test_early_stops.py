import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.anytime.answer import Answer
from anystream.runtime.schedulers.early_stops import EarlyStops


@given(
    st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=40),
    st.floats(0.0, 60.0),
)
def test_a_maximum_costs_on_average_the_steps_it_was_made_for(answers, mean_steps):
    stops = EarlyStops()
    steps, certified = np.array([n for n, _ in answers]), np.array([sure for _, sure in answers])
    stops.observe(Answer(steps, np.ones((len(answers), 1)), steps, certified, 0.0))
    max_steps = stops.max_steps_for(mean_steps)
    last = np.where(certified, steps, np.inf)
    if max_steps == np.inf:
        assert last.mean() <= mean_steps
    else:
        assert np.minimum(last, max_steps).mean() == pytest.approx(mean_steps)
        assert stops.mean_steps(max_steps) == pytest.approx(mean_steps)


def test_only_the_latest_answers_count():
    stops = EarlyStops()
    ones = np.ones(400, dtype=int)
    for certified in (True, True, False, False):
        stops.observe(Answer(ones, np.ones((400, 1)), ones, np.full(400, certified), 0.0))
    assert stops.max_steps_for(10.0) == 10.0
