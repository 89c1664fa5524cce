"""Budgets: what callers may write, and what they may not."""

import math
import time
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream import Budget, StopToken


@pytest.mark.parametrize(
    ("given_as", "budget"),
    [
        (None, Budget()),
        (0, Budget(steps=0)),
        (17, Budget(steps=17)),
        (timedelta(milliseconds=2), Budget(seconds=0.002)),
        (Budget(steps=3, seconds=1), Budget(steps=3, seconds=1.0)),
    ],
)
def test_what_callers_write_becomes_a_budget(given_as, budget):
    assert Budget.of(given_as) == budget


def test_seconds_may_be_a_timedelta():
    assert Budget(seconds=timedelta(seconds=2)).seconds == 2.0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"steps": -1}, ValueError, "steps is -1; use 0 or more"),
        ({"steps": 1.5}, TypeError, "steps is 1.5; use a whole number"),
        ({"steps": True}, TypeError, "steps is True; use a whole number"),
        ({"steps": "10"}, TypeError, "steps is '10'; use a whole number"),
        ({"seconds": -0.1}, ValueError, "seconds is -0.1; use 0 or more"),
        ({"seconds": math.nan}, ValueError, "seconds is NaN"),
        ({"seconds": "soon"}, TypeError, "seconds is 'soon'"),
        ({"until": math.nan}, ValueError, "until is NaN"),
        ({"until": "noon"}, TypeError, "until is 'noon'"),
        ({"stop": object()}, TypeError, "use an anystream.StopToken"),
    ],
)
def test_nonsense_is_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        Budget(**arguments)


@pytest.mark.parametrize("nonsense", [1.5, "10", [5], True, object()])
def test_what_is_no_budget_is_refused(nonsense):
    with pytest.raises(TypeError, match="use a whole number of steps, a timedelta, or Budget"):
        Budget.of(nonsense)


@given(
    steps=st.none() | st.integers(0, 2**70),
    seconds=st.none() | st.floats(0, 1e300) | st.just(math.inf),
    until=st.none() | st.floats(-1e300, 1e300),
)
def test_limits_always_fit_native_integers(steps, seconds, until):
    native_steps, nanoseconds, stop = Budget(steps=steps, seconds=seconds, until=until).limits()
    assert -1 <= native_steps < 2**63
    assert -1 <= nanoseconds < 2**63
    assert stop is None
    if until is not None and until < 0:
        assert nanoseconds == 0


def test_a_deadline_that_ends_early_gives_up_a_tenth_of_the_time_left_at_most():
    far, near, past = time.monotonic() + 3600, time.monotonic() + 100, time.monotonic() - 1
    assert Budget(steps=4, until=far).end_early(0.5) == Budget(steps=4, until=far - 0.5)
    assert near - 10.0 <= Budget(until=near).end_early(50.0).until <= near - 5.0  # even if the test is held up
    assert Budget(until=past).end_early(0.5).until == past
    steps = Budget(steps=4)
    assert steps.end_early(0.5) is steps


def test_the_clock_starts_when_the_call_does():
    started = Budget(seconds=3600).start()
    assert started.seconds is None
    assert started.until == pytest.approx(time.monotonic() + 3600, abs=60)
    assert Budget(seconds=3600, until=5.0).start().until == 5.0
    steps = Budget(steps=4)
    assert steps.start() is steps


def test_a_budget_shows_what_it_limits():
    token = StopToken()
    assert repr(Budget(steps=5)) == "Budget(steps=5)"
    assert repr(Budget()) == "Budget()"
    assert "stop=" in repr(Budget(stop=token))
    assert Budget(steps=5) == Budget(steps=5)
    assert hash(Budget(steps=5)) == hash(Budget(steps=5))
    assert not Budget(steps=5).timed
    assert Budget(stop=token).timed
