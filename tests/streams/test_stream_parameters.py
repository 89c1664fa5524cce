"""The error for an invalid parameter of a stream names the parameter and its value."""

import pytest

from anystream.streams import SEA, JapaneseFlag, MovingGaussians, RandomRBF, Sine


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SEA(seed=-1), ValueError, "seed is -1; give a whole number of at least 0"),
        (lambda: SEA(seed=1.5), TypeError, "seed is 1.5"),
        (lambda: SEA(seed=None), TypeError, "seed is None"),
        (lambda: SEA(noise=1.2), ValueError, "noise is 1.2; give the share of wrong labels"),
        (lambda: SEA(noise=float("nan")), ValueError, "noise is nan"),
        (lambda: SEA(noise="0.1"), TypeError, "noise is '0.1'"),
        (lambda: SEA(n_records=0), ValueError, "n_records is 0"),
        (lambda: SEA(n_records=True), TypeError, "n_records is True"),
        (lambda: SEA(concepts=8.0), TypeError, r"concepts is 8.0; give a list or tuple, \(8.0,\)"),
        (lambda: SEA(concepts=(20,)), ValueError, "a SEA concept is 20.0, which leaves a single class"),
        (lambda: SEA(concepts=(25,)), ValueError, "a SEA concept is 25; give a threshold between 0 and 20"),
        (lambda: SEA(concepts=("7",)), TypeError, "a SEA concept is '7'"),
        (lambda: SEA(concepts=()), ValueError, "0 concepts and 0 drifts; give one concept more than drifts"),
        (lambda: SEA(concepts=(7, 9)), ValueError, "2 concepts and 0 drifts"),
        (lambda: SEA(drifts=(5,)), ValueError, "1 concepts and 1 drifts"),
        (lambda: SEA(concepts=(7, 9), drifts=(0,)), ValueError, "a position in drifts is 0"),
        (lambda: SEA(concepts=(7, 9, 7), drifts=(9, 9)), ValueError, "drifts has 9 after 9"),
        (lambda: SEA(concepts=(7, 9), drifts=(50,), n_records=50), ValueError, "the drift at 50 is beyond the end"),
        (lambda: Sine(concepts="sine1"), TypeError, "concepts is 'sine1'; give a list"),
        (lambda: Sine(concepts=("sine3",)), ValueError, "'sine3'; give one of sine1, sine1_reversed"),
        (lambda: MovingGaussians(concepts=("reversed",)), ValueError, "give one of plain, swapped"),
        (lambda: JapaneseFlag(concepts=(0.8,)), ValueError, "0.8; give a radius above 0 and below 0.7071"),
        (lambda: JapaneseFlag(concepts=(0,)), ValueError, "leaves a single class"),
        (lambda: RandomRBF(concepts=(-1,)), ValueError, "a RandomRBF concept is -1"),
        (lambda: RandomRBF(n_classes=1), ValueError, "n_classes is 1"),
        (lambda: RandomRBF(n_features=0), ValueError, "n_features is 0"),
        (lambda: RandomRBF(n_classes=5, n_centers=4), ValueError, "4 centers for 5 classes"),
        (lambda: RandomRBF(spread=-1), ValueError, "spread is -1"),
        (lambda: RandomRBF(speed=2), ValueError, "speed is 2"),
        (lambda: SEA().batches(0), ValueError, "size is 0"),
        (lambda: SEA().batches(10, start=-1), ValueError, "start is -1"),
        (lambda: SEA().records(start=0.5), TypeError, "start is 0.5"),
        (lambda: SEA().take(0), ValueError, "n is 0"),
        (
            lambda: SEA(n_records=5).take(4, start=2),
            ValueError,
            "records 2 to 5 requested, but the stream has 5",
        ),
        (lambda: SEA().concept_at(-1), ValueError, "position is -1"),
    ],
)
def test_the_error_for_an_invalid_parameter_names_it_with_its_value(make, error, message):
    with pytest.raises(error, match=message):
        make()
