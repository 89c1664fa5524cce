"""Positions of a partition whose records are finished in any order."""

from hypothesis import given
from hypothesis import strategies as st

from anystream.runtime import PartitionProgress


@given(
    gaps=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    start=st.integers(0, 10**12),
    data=st.data(),
)
def test_low_and_finished_equal_those_of_plain_sets(gaps, start, data):
    positions = [start]
    for gap in gaps:
        positions.append(positions[-1] + gap)
    progress, taken, finished = PartitionProgress(start), [], set()
    for position in positions:
        progress.take(position)
        taken.append(position)
        for each in data.draw(st.lists(st.sampled_from(taken), max_size=3)):
            progress.finish(each)
            finished.add(each)
        low = next((each for each in taken if each not in finished), taken[-1] + 1)
        assert progress.low == low
        # a consumer that continues from what is stored takes exactly the unfinished ones
        resumed = PartitionProgress(progress.low, progress.encode_finished())
        assert [each for each in taken if not resumed.is_finished(each)] == [e for e in taken if e not in finished]


@given(n=st.integers(1, 80), data=st.data())
def test_what_will_be_finished_is_what_is_finished_then(n, data):
    progress = PartitionProgress(7)
    for position in range(7, 7 + n):
        progress.take(position)
    some = set(data.draw(st.lists(st.integers(7, 6 + n))))
    expected = progress.after(some)
    for position in some:
        progress.finish(position)
    assert expected == (progress.low, progress.encode_finished())


def test_the_finished_positions_fit_into_the_metadata_of_a_commit():
    progress = PartitionProgress(0)
    position = 0
    while not progress.is_wide:
        progress.take(position)
        progress.finish(position) if position else None
        position += 1
    assert len(progress.encode_finished()) < 4096 - 32
    assert position > 20_000


def test_what_is_remembered_stays_bounded():
    progress = PartitionProgress(0)
    for position in range(50_000):
        progress.take(position)
        progress.finish(position)
    assert len(progress._finished) < 200
