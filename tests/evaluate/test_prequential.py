"""Prequential runs: the order of testing and learning, limits, and positions of drifts."""

import numpy as np
import pytest

from anystream.drift import GaussianNaiveBayes
from anystream.evaluate import run_prequential
from anystream.streams import SEA
from evaluate.call_log import CallLog, numbered_records


class StringStream:
    def batches(self, size):
        yield np.array(["a", "b"]), np.array([0, 1])


def test_a_record_is_tested_before_it_is_learned():
    model = CallLog()
    run = run_prequential(model, numbered_records(3))
    assert model.calls == [("train", [0]), ("test", [1]), ("train", [1]), ("test", [2]), ("train", [2])]
    assert run.predicted.tolist() == [-1, 0, 1]  # there is no prediction before anything was learned
    assert run.accuracy == 0


def test_a_batch_is_tested_as_a_whole_and_then_learned_as_a_whole():
    model = CallLog()
    run_prequential(model, numbered_records(5), batch_size=2)
    assert model.calls == [("train", [0, 1]), ("test", [2, 3]), ("train", [2, 3]), ("test", [4]), ("train", [4])]


def test_labels_can_be_delayed():
    model = CallLog()
    run = run_prequential(model, numbered_records(5), delay=2)
    assert model.calls == [("train", [0]), ("test", [3]), ("train", [1]), ("test", [4]), ("train", [2])]
    assert run.predicted.tolist() == [-1, -1, -1, 0, 1]


def test_a_warm_up_is_learned_and_not_tested():
    model = CallLog()
    run = run_prequential(model, numbered_records(7), warm_up=3, batch_size=2)
    assert model.calls == [
        ("train", [0, 1, 2]),
        ("test", [3, 4]),
        ("train", [3, 4]),
        ("test", [5, 6]),
        ("train", [5, 6]),
    ]
    assert len(run.truth) == 4


def test_n_records_limits_how_much_is_read():
    assert len(run_prequential(CallLog(), numbered_records(50), n_records=17, warm_up=3).truth) == 14
    assert len(run_prequential(CallLog(), SEA(seed=1), n_records=9000, batch_size=100).truth) == 9000


def test_an_endless_stream_needs_n_records():
    with pytest.raises(ValueError, match="SEA is an endless stream; give n_records"):
        run_prequential(CallLog(), SEA(seed=1))


def test_a_stream_that_ends_during_the_warm_up_is_rejected():
    with pytest.raises(ValueError, match="ended before any record was tested"):
        run_prequential(CallLog(), numbered_records(3), warm_up=10)


def test_drifts_are_numbers_of_tested_records():
    stream = SEA(concepts=(7, 9, 6), drifts=(100, 250), seed=1, n_records=400)
    assert run_prequential(CallLog(), stream, batch_size=10).drifts == (100, 250)
    assert run_prequential(CallLog(), stream, batch_size=10, warm_up=120).drifts == (130,)
    assert run_prequential(CallLog(), stream, batch_size=10, n_records=200).drifts == (100,)


def test_invalid_streams_are_rejected():
    with pytest.raises(TypeError, match="the stream is a list"):
        run_prequential(GaussianNaiveBayes(), [1, 2])
    with pytest.raises(ValueError, match="one label per record"):
        run_prequential(GaussianNaiveBayes(), (np.zeros((3, 1)), [1]))
    with pytest.raises(TypeError, match="the records of StringStream are not rows of numbers"):
        run_prequential(GaussianNaiveBayes(), StringStream())
