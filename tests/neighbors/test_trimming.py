"""Trimming: the share of the order to keep."""

import numpy as np
import pytest

from anystream.neighbors import AnytimeNeighborsClassifier
from anystream.neighbors.trimming import SHARES, choose_share


def test_trimming_improves_noisy_data_and_does_not_harm_clean_data():
    rng = np.random.default_rng(0)
    X = rng.random((800, 2))
    y = (X[:, 0] > 0.5).astype(int)
    noisy = np.where(rng.random(800) < 0.2, 1 - y, y)
    whole = AnytimeNeighborsClassifier(ordering="simple_rank").fit(X, noisy)
    trimmed = AnytimeNeighborsClassifier(ordering="simple_rank", trim="auto").fit(X, noisy)
    Q = rng.random((2000, 2))
    truth = (Q[:, 0] > 0.5).astype(int)
    assert (trimmed.predict(Q) == truth).mean() > (whole.predict(Q) == truth).mean() + 0.05
    clean = AnytimeNeighborsClassifier(ordering="simple_rank", trim="auto").fit(X, y)
    assert (clean.predict(Q) == truth).mean() > 0.97


def correct_by_share(accuracy):
    """An evaluation in which the same records are correct whenever a share has the same accuracy."""

    def evaluate(train, held_out, shares):
        rank = (np.arange(len(held_out)) + 0.5) / len(held_out)
        return rank[:, None] < np.array([accuracy(share) for share in shares])

    return evaluate


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    [
        (lambda share: 0.9 if share == 0.4 else 0.7, 0.4),
        (lambda share: 0.9 if share >= 0.2 else 0.7, 1.0),  # the whole order is as good as any
        (lambda share: 0.9 if 0.3 <= share <= 0.6 else 0.7, 0.3),  # the smallest of equals
        (lambda share: 0.90 if share == 0.2 else 0.89 if share == 0.1 else 0.7, 0.2),  # the best, not one close to it
    ],
)
def test_the_most_accurate_share_is_chosen(accuracy, expected):
    labels = np.zeros(1000, dtype=np.int32)
    assert choose_share(labels, correct_by_share(accuracy), seed=0) == expected


@pytest.mark.parametrize(("n_gained", "expected"), [(0, 1.0), (1, 0.5)])
def test_the_whole_order_is_kept_unless_the_gain_exceeds_half_a_standard_error(n_gained, expected):
    """One record of 1000 that is gained and none that is lost: a mean of 0.001 and a standard error of 0.001."""

    def evaluate(train, held_out, shares):
        gained = np.isin(held_out, np.arange(n_gained))
        return np.where(shares == 0.5, gained[:, None], False)

    assert choose_share(np.zeros(1000, dtype=np.int32), evaluate, seed=0) == expected


def test_a_gain_within_half_a_standard_error_does_not_trim():
    def evaluate(train, held_out, shares):
        gained, lost = held_out < 51, (held_out >= 51) & (held_out < 100)  # 51 gained, 49 lost of 1000: 0.2 errors
        return np.where(shares == 0.5, gained[:, None], np.where(shares == 1.0, lost[:, None], False))

    assert choose_share(np.zeros(1000, dtype=np.int32), evaluate, seed=0) == 1.0


def test_fewer_than_twenty_records_are_never_trimmed():
    labels = np.zeros(19, dtype=np.int32)
    assert choose_share(labels, correct_by_share(lambda share: float(share == SHARES[0])), seed=0) == 1.0
