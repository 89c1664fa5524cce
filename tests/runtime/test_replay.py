import numpy as np
import pytest

from anystream.connectors.memory import MemorySource
from anystream.runtime import RepeatingSource, Replay, SimulatedClock, as_recorded, at_rate, at_times


def test_a_replay_gives_records_when_they_are_due():
    clock = SimulatedClock(100.0)
    replay = Replay(MemorySource(np.arange(10.0)[:, None]), at_rate(2.0), clock)
    assert replay.poll(99).records.key.tolist() == [0]
    clock.sleep(1.2)
    records = replay.poll(99).records
    assert (records.key.tolist(), records.arrival.tolist()) == ([1, 2], [100.5, 101.0])
    replay.wait(10.0)
    assert clock.now() == pytest.approx(101.5)
    assert replay.offset == 3
    assert not replay.done
    clock.sleep(99.0)
    assert len(replay.poll(4).records) == 4
    assert len(replay.poll(99).records) == 3
    assert replay.done


def test_a_replay_reads_little_more_than_what_is_due():
    """Reading takes time: a large queue must not delay the records that are due now."""
    clock = SimulatedClock()
    source = RepeatingSource(np.zeros((5, 2)), None, 200_000)
    replay = Replay(source, at_rate(10_000.0), clock)
    given = []
    for pause in (0.0, 0.001, 0.5, 2.0):
        clock.sleep(pause)
        given.extend(replay.poll(100_000).records.offset.tolist())
        assert len(given) == round(clock.now() * 10_000) + 1
        assert source.offset <= len(given) + 512
    assert given == list(range(len(given)))
    assert len(replay.poll(100_000).records) == 0
    clock.sleep(99.0)
    assert len(replay.poll(100).records) == 100
    assert source.offset <= len(given) + 1200


def test_recorded_times_keep_their_intervals_at_any_speed():
    clock = SimulatedClock()
    source = MemorySource(np.zeros((4, 1)), arrival=[1000.0, 1004.0, 1003.0, 1010.0])  # one goes back
    replay = Replay(source, as_recorded(2.0), clock)
    replay.poll(9)
    clock.sleep(99.0)
    assert replay.poll(9).records.arrival.tolist() == [2.0, 2.0, 5.0]


def test_a_record_without_a_recorded_time_is_rejected_and_the_others_keep_theirs():
    clock = SimulatedClock()
    source = MemorySource(np.zeros((4, 1)), arrival=[np.nan, 1000.0, np.nan, 1002.0])
    replay = Replay(source, as_recorded(), clock)
    clock.sleep(99.0)
    first = replay.poll(9)
    clock.sleep(99.0)
    rest = replay.poll(9)
    assert first.records.key.tolist() + rest.records.key.tolist() == [1, 3]
    assert [found.offset for found in [*first.rejected, *rest.rejected]] == [0, 2]
    assert "the record has no time" in first.rejected[0].reason


def test_a_replay_is_done_when_its_times_end():
    replay = Replay(MemorySource(np.zeros((4, 1))), at_times([0.0, 0.0]), SimulatedClock())
    assert len(replay.poll(9).records) == 2
    assert replay.done


def test_invalid_schedules_are_refused():
    with pytest.raises(ValueError, match="the rate is 0"):
        at_rate(0.0)
    with pytest.raises(ValueError, match="do not ascend"):
        at_times([1.0, 0.5])
    with pytest.raises(ValueError, match="speed is -1"):
        as_recorded(-1.0)


def test_records_that_never_arrive_do_not_stop_a_replay_that_begins_anew():
    clock = SimulatedClock()
    replay = Replay(RepeatingSource(np.zeros((5, 2)), None, 1000), at_times([0.0, 1.0]), clock)
    clock.sleep(5.0)
    assert len(replay.poll(10).records) == 1
    clock.sleep(5.0)
    assert len(replay.poll(10).records) == 1
    assert replay.done
    replay.seek(0)
    assert len(replay.poll(10).records) == 0
