import numpy as np
import pytest

from anystream.connectors.generated import GeneratedSource
from anystream.streams import SEA


def test_a_generator_is_a_source_that_can_be_read_again():
    source = GeneratedSource(SEA(concepts=(8,), seed=1), 100)
    first = source.poll(60).records
    rest = source.poll(60).records
    assert (len(first), len(rest), source.done) == (60, 40, True)
    source.seek(60)
    again = source.poll(60).records
    np.testing.assert_array_equal(again.features, rest.features)
    assert again.label.tolist() == rest.label.tolist()


def test_more_records_than_the_stream_has_are_refused():
    with pytest.raises(ValueError, match="n_records is 11, the stream has 10; use 10 or fewer"):
        GeneratedSource(SEA(concepts=(8,), seed=1, n_records=10), 11)


def test_a_generator_with_another_seed_is_not_continued():
    source = GeneratedSource(SEA(concepts=(8,), seed=1), 1000)
    source.poll(500)
    fingerprint = source.fingerprint()
    again = GeneratedSource(SEA(concepts=(8,), seed=1), 2000)
    again.seek(500, fingerprint)
    assert again.offset == 500
    with pytest.raises(ValueError, match="not those that the run has read"):
        GeneratedSource(SEA(concepts=(8,), seed=2), 1000).seek(500, fingerprint)
