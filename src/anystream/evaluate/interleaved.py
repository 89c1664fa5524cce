"""Labelled batches and unlabelled ones in turn: X_1 Y_1 X_2 Y_2 ..., as in KAOGINC's paper."""

from __future__ import annotations

from typing import Any

from anystream.anytime.budget import BudgetLike
from anystream.drift.detector import DriftDetector
from anystream.evaluate.learner import as_learner
from anystream.evaluate.recorder import Recorder, StreamLike, as_stream, stream_name
from anystream.evaluate.run import Run
from anystream.streams.parameters import whole_number


def interleaved(
    model: Any,
    stream: StreamLike,
    *,
    train: int = 80,
    test: int = 60,
    n_batches: int | None = None,
    budget: BudgetLike = None,
    detector: DriftDetector | None = None,
    method: str | None = None,
) -> Run:
    """Run a classifier through a stream that alternates labelled batches X_t and unlabelled ones Y_t.

    Parameters
    ----------
    model : classifier
        Of scikit-learn's surface (`partial_fit`, `predict`) or river's (`learn_one`, `predict_one`). It learns each
        X_t, never a Y_t.
    stream : stream or pair (X, y)
        A generator or data set of `anystream.streams`, or arrays.
    train, test : int, default=80 and 60
        Records of X_t and of Y_t.
    n_batches : int, optional
        How many pairs of batches. Default: as many whole ones as there are; a stream without end needs it.
    budget : int, timedelta or Budget, optional
        Passed on to an anytime classifier with each question: steps per record, or time per batch.
    detector : DriftDetector, optional
        Told of each answer whether it was wrong; what it reports is in the run's `detections`.
    method : str, optional
        The name in tables. Default: the class of the model.

    See Also
    --------
    interleaved_drifts : Where the drifts of such a stream must lie.

    Examples
    --------
    >>> from anystream.drift import WCEA
    >>> from anystream.streams import Sine
    >>> drifts, n_records = interleaved_drifts(2, batches=10)
    >>> stream = Sine(concepts=("sine1", "sine1_reversed"), drifts=drifts, n_records=n_records, seed=1)
    >>> run = interleaved(WCEA(chunk_size=80), stream)
    >>> run.errors()[10] > 0.8  # the first test after the change cannot be answered well
    np.True_
    """
    trained = whole_number("train", train, least=1)
    tested = whole_number("test", test, least=1)
    source = as_stream(stream)
    pairs = None if n_batches is None else whole_number("n_batches", n_batches, least=1)
    if pairs is None and hasattr(source, "n_records") and source.n_records is None:
        raise ValueError(f"{stream_name(source)} has no end; say with n_batches how many pairs of batches to read")
    recorder = Recorder(as_learner(model, budget=budget, classes=getattr(source, "classes", None)), detector)
    for number, (X, y) in enumerate(source.batches(trained + tested)):
        if number == pairs or len(y) < trained + tested:
            break
        recorder.learn(X[:trained], y[:trained])
        recorder.test(X[trained:], y[trained:])
    drifts = (_tested_before(at, trained, tested) for at in getattr(source, "drifts", ()))
    return recorder.run(
        method=method or type(model).__name__,
        stream=stream_name(source),
        seed=getattr(source, "seed", None),
        window=tested,
        drifts=tuple(at for at in drifts if 0 < at < recorder.n_answers),
    )


def interleaved_drifts(
    n_concepts: int, *, batches: int = 20, train: int = 80, test: int = 60, drift: str = "between"
) -> tuple[tuple[int, ...], int]:
    """Positions of the drifts, and the length, of a stream of interleaved batches.

    Parameters
    ----------
    n_concepts : int
        Concepts, one more than drifts.
    batches : int, default=20
        Test batches of each concept.
    train, test : int, default=80 and 60
        Records of X_t and of Y_t.
    drift : {"between", "before"}, default="between"
        A change falls between X_t and Y_t, so that the first test after it comes as a surprise to every learner; or
        before X_t, so that one labelled batch of the new concept comes first.

    Examples
    --------
    >>> interleaved_drifts(4)
    ((2880, 5680, 8480), 11200)
    >>> interleaved_drifts(4, drift="before")
    ((2800, 5600, 8400), 11200)
    """
    if drift not in ("between", "before"):
        raise ValueError(f"drift is {drift!r}; use 'between' or 'before'")
    concepts = whole_number("n_concepts", n_concepts, least=1)
    pair = whole_number("train", train, least=1) + whole_number("test", test, least=1)
    span = whole_number("batches", batches, least=1) * pair
    shift = train if drift == "between" else 0
    return tuple(span * concept + shift for concept in range(1, concepts)), span * concepts


def _tested_before(position: int, train: int, test: int) -> int:
    """How many records are tested before a position of the stream."""
    pair, inside = divmod(position, train + test)
    return pair * test + max(0, inside - train)
