"""Every record ends in exactly one place, under every scheduler and overflow policy."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anystream.runtime import DeadlineShare, FixedBudget, GainTable, MarginalGain, WaitingTime
from runtime.harness import simulated_engine
from runtime.models import REFUSED

TABLE = GainTable((0, 4, 16), np.full((2, 9), 0.5), np.full((2, 3, 10), 0.2), np.array([0.5, 0.6, 0.7]))
SCHEDULERS = {
    "fixed": lambda: FixedBudget(5),
    "waiting": lambda: WaitingTime(0.5),
    "share": lambda: DeadlineShare(max_steps=50),
    "headroom": lambda: DeadlineShare(max_steps=50, headroom=0.8),
    "gain": lambda: MarginalGain(TABLE),
}


@settings(max_examples=60)
@example([0.0, 0.03, *[0.0] * 10], "waiting", "answer_now", {2})
@given(
    st.lists(st.floats(0.0, 0.05), min_size=1, max_size=120),
    st.sampled_from(sorted(SCHEDULERS)),
    st.sampled_from(["block", "answer_now", "shed_oldest", "shed_newest"]),
    st.sets(st.integers(0, 119), max_size=5),
)
def test_every_record_ends_in_exactly_one_place(gaps, name, overflow, bad):
    times = np.cumsum(gaps)
    X = np.ones((len(times), 1))
    bad = [row for row in bad if row < len(times)]
    infinite, refused = bad[1::2], bad[::2]
    X[infinite], X[refused] = np.inf, REFUSED
    engine, sink, dead_letters, _ = simulated_engine(
        times, scheduler=SCHEDULERS[name](), within_s=0.1, overflow=overflow, X=X
    )
    summary = engine.run()
    answered = sink.column("key").tolist()
    dropped = [rejected.key for rejected in dead_letters.rejected]
    assert sorted(answered + dropped) == list(range(len(times)))
    assert summary.taken == len(times) == summary.answered + summary.shed + summary.dead_letters
    assert summary.answered == len(answered) == summary.on_time + summary.late
    unreached = {key for key, reached in zip(answered, sink.column("reached"), strict=True) if not reached}
    assert set(infinite) <= set(dropped)
    assert set(refused) <= set(dropped) | unreached  # a model refuses only what it is shown
    assert summary.waiting == 0
    if overflow == "block":
        assert summary.shed == 0


def test_records_that_the_queue_sheds_go_to_the_dead_letters_with_the_reason():
    engine, _, dead_letters, _ = simulated_engine(
        np.zeros(30), scheduler=FixedBudget(5), overflow="shed_newest", capacity=20
    )
    summary = engine.run()
    assert (summary.shed, summary.dead_letters) == (10, 0)
    assert {rejected.reason for rejected in dead_letters.rejected} == {"shed: the queue of 20 was full (shed_newest)"}


def test_settings_out_of_range_are_refused():
    with pytest.raises(ValueError, match="within_s is 0"):
        simulated_engine([0.0], scheduler=FixedBudget(1), within_s=0.0)
    with pytest.raises(ValueError, match="max_records 0"):
        simulated_engine([0.0], scheduler=FixedBudget(1), max_records=0)
