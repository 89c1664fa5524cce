"""Interleaved evaluation: labelled batches and test batches in turn, X_1 Y_1 X_2 Y_2 ..., as in KAOGINC's paper."""

from __future__ import annotations

from itertools import islice
from typing import Any

from anystream.anytime.budget import BudgetLike
from anystream.drift.detector import DriftDetector
from anystream.evaluate.recorder import Recorder
from anystream.evaluate.run import Run
from anystream.evaluate.stream import StreamLike, as_stream, check_limit
from anystream.streams.parameters import check_int


def run_interleaved(
    model: Any,
    stream: StreamLike,
    *,
    train_size: int = 80,
    test_size: int = 60,
    n_pairs: int | None = None,
    budget: BudgetLike = None,
    detector: DriftDetector | None = None,
    note_classified: bool = False,
    method: str | None = None,
) -> Run:
    """Run a classifier on a stream of labelled batches X_t, which it learns, and test batches Y_t, which it does not.

    Parameters
    ----------
    model, stream, budget, detector, note_classified, method
        As in `run_prequential`.
    train_size, test_size : int, default=80 and 60
        Number of records in X_t and in Y_t.
    n_pairs : int, optional
        Number of pairs (X_t, Y_t) to read. Default: all complete pairs; required for an endless stream.

    See Also
    --------
    place_interleaved_drifts : Positions of the drifts in such a stream.

    Examples
    --------
    >>> from anystream.drift import WCEA
    >>> from anystream.streams import Sine
    >>> drifts, n_records = place_interleaved_drifts(2, pairs_per_concept=10)
    >>> stream = Sine(concepts=("sine1", "sine1_reversed"), drifts=drifts, n_records=n_records, seed=1)
    >>> run = run_interleaved(WCEA(chunk_size=80), stream)
    >>> run.error_curve()[10] > 0.8  # the first test after the drift, before the new concept was learned
    np.True_
    """
    n_train = check_int("train_size", train_size, min_value=1)
    n_test = check_int("test_size", test_size, min_value=1)
    source = as_stream(stream)
    max_pairs = check_limit(source, "n_pairs", n_pairs)
    recorder = Recorder(model, source, budget=budget, detector=detector, note_classified=note_classified)
    for X, y in islice(source.batches(n_train + n_test), max_pairs):
        if len(y) < n_train + n_test:
            break
        recorder.learn(X[:n_train], y[:n_train])
        recorder.test(X[n_train:], y[n_train:])
    drifts = (_count_tested(at, n_train, n_test) for at in getattr(source, "drifts", ()))
    return recorder.finish(method=method, window=n_test, drifts=drifts)


def place_interleaved_drifts(
    n_concepts: int,
    *,
    pairs_per_concept: int = 20,
    train_size: int = 80,
    test_size: int = 60,
    drift: str = "between",
) -> tuple[tuple[int, ...], int]:
    """Return the positions of the drifts in a stream for `run_interleaved`, and the length of the stream.

    Parameters
    ----------
    n_concepts : int
        Number of concepts, one more than drifts.
    pairs_per_concept : int, default=20
        Number of test batches of each concept.
    train_size, test_size : int, default=80 and 60
        Number of records in X_t and in Y_t.
    drift : {"between", "before"}, default="between"
        Put drifts between X_t and Y_t, so that no classifier has learned the new concept at the first test after a
        drift; or before X_t, so that one labelled batch of the new concept comes first.

    Examples
    --------
    >>> place_interleaved_drifts(4)
    ((2880, 5680, 8480), 11200)
    >>> place_interleaved_drifts(4, drift="before")
    ((2800, 5600, 8400), 11200)
    """
    if drift not in ("between", "before"):
        raise ValueError(f"drift is {drift!r}; use 'between' or 'before'")
    concepts = check_int("n_concepts", n_concepts, min_value=1)
    n_train = check_int("train_size", train_size, min_value=1)
    pair_size = n_train + check_int("test_size", test_size, min_value=1)
    concept_size = check_int("pairs_per_concept", pairs_per_concept, min_value=1) * pair_size
    shift = n_train if drift == "between" else 0
    return tuple(concept_size * concept + shift for concept in range(1, concepts)), concept_size * concepts


def _count_tested(position: int, train_size: int, test_size: int) -> int:
    """Return the number of records that are tested before a position of the stream."""
    pair, inside = divmod(position, train_size + test_size)
    return pair * test_size + max(0, inside - train_size)
