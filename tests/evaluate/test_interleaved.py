"""Interleaved runs: which batches are learned and tested, limits, and positions of drifts."""

import numpy as np
import pytest

from anystream.drift import WCEA, GaussianNaiveBayes
from anystream.evaluate import place_interleaved_drifts, run_interleaved, run_prequential
from anystream.graph import KAOGINCClassifier
from anystream.streams import SEA, Sine
from evaluate.call_log import CallLog, numbered_records


def test_a_batch_is_either_learned_or_tested():
    model = CallLog()
    run = run_interleaved(model, numbered_records(12), train_size=3, test_size=2)
    assert model.calls == [("train", [0, 1, 2]), ("test", [3, 4]), ("train", [5, 6, 7]), ("test", [8, 9])]
    assert run.window == 2


def test_n_pairs_limits_how_much_is_read():
    assert len(run_interleaved(CallLog(), SEA(seed=1), n_pairs=4).truth) == 240


def test_an_endless_stream_needs_n_pairs():
    with pytest.raises(ValueError, match="SEA is an endless stream; give n_pairs"):
        run_interleaved(CallLog(), SEA(seed=1))


def test_a_stream_without_a_complete_pair_is_rejected():
    with pytest.raises(ValueError, match="ended before any record was tested"):
        run_interleaved(GaussianNaiveBayes(), numbered_records(100))


@pytest.mark.parametrize("drift", ["between", "before"])
def test_the_drift_is_between_or_before_the_batches_of_a_pair(drift):
    sizes = {"train_size": 8, "test_size": 6}
    drifts, n_records = place_interleaved_drifts(2, pairs_per_concept=5, **sizes, drift=drift)
    stream = Sine(concepts=("sine1", "sine1_reversed"), drifts=drifts, n_records=n_records, seed=3)
    X, y = stream.take(n_records)
    is_new = y != (X[:, 1] < np.sin(X[:, 0]))
    is_train = np.arange(n_records) % 14 < 8
    new_in_sixth_pair = is_new & (np.arange(n_records) // 14 == 5)
    assert new_in_sixth_pair[~is_train].sum() == 6  # the sixth test batch has the new concept in both cases
    assert new_in_sixth_pair[is_train].sum() == (0 if drift == "between" else 8)
    assert run_interleaved(CallLog(), stream, **sizes).drifts == (30,)


def test_other_positions_of_drifts_are_rejected():
    with pytest.raises(ValueError, match="'between' or 'before'"):
        place_interleaved_drifts(2, drift="after")


def test_the_model_is_told_what_was_tested_by_option():
    stream = Sine(seed=1, n_records=560)
    told, untold = KAOGINCClassifier.paper(), KAOGINCClassifier.paper()
    run_interleaved(told, stream, note_classified=True)
    run_interleaved(untold, stream)
    assert (told.principal_.n_classified, untold.principal_.n_classified) == (240, 0)
    single = KAOGINCClassifier.paper()
    run_prequential(single, stream, n_records=100, warm_up=10, note_classified=True)
    assert single.principal_.n_classified == 90
    with pytest.raises(TypeError, match="WCEA has no note_classified"):
        run_interleaved(WCEA(), stream, note_classified=True)
