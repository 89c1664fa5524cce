"""Recorder of an evaluation: it tests and trains a classifier and collects predictions, true labels and times."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import BudgetLike
from anystream.drift.detector import DriftDetector
from anystream.evaluate.learner import as_learner
from anystream.evaluate.run import Run
from anystream.evaluate.stream import Stream, stream_name


class Recorder:
    """Tests and trains a classifier on batches of a stream; `finish` returns the run.

    Parameters
    ----------
    model : classifier
        The classifier to evaluate, with the scikit-learn or the river API.
    stream : Stream
        The stream that the batches come from; its name, seed and classes are used.
    budget : int, timedelta or Budget, optional
        Passed to an anytime classifier with each prediction.
    detector : DriftDetector, optional
        Updated after each prediction with 1 if it was wrong, else 0.
    one_by_one : bool, default=False
        Whether batches have one record.
    note_classified : bool, default=False
        Whether to call the model's `note_classified` with the records of each test.
    """

    def __init__(
        self,
        model: Any,
        stream: Stream,
        *,
        budget: BudgetLike = None,
        detector: DriftDetector | None = None,
        one_by_one: bool = False,
        note_classified: bool = False,
    ) -> None:
        if note_classified and not hasattr(model, "note_classified"):
            raise TypeError(f"{type(model).__name__} has no note_classified; leave the option out")
        self._note_classified = model.note_classified if note_classified else None
        classes = getattr(stream, "classes", None)
        self._learner = as_learner(model, budget=budget, classes=classes, one_by_one=one_by_one)
        self._model_name = type(model).__name__
        self._stream = stream
        self._detector = detector
        self._class_numbers: dict[Any, int] = {}
        self._truth: list[int] = []
        self._predicted: list[int] = []
        self._detections: list[int] = []
        self._predict_s = 0.0
        self._learn_s = 0.0

    @property
    def n_tested(self) -> int:
        """Number of records tested so far."""
        return len(self._truth)

    def test(self, records: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Predict the labels of records and record them beside the true labels."""
        started = time.perf_counter()
        predictions = self._learner.predict(records)
        self._predict_s += time.perf_counter() - started
        for prediction, label in zip(predictions, labels.tolist(), strict=True):
            self._truth.append(self._class_number(label))
            self._predicted.append(-1 if prediction is None else self._class_number(prediction))
            if self._detector is not None:
                self._update_detector(self._detector)
        if self._note_classified is not None and any(prediction is not None for prediction in predictions):
            self._note_classified(records)

    def learn(self, records: NDArray[np.float64], labels: NDArray[Any]) -> None:
        """Train the classifier with records in order."""
        started = time.perf_counter()
        self._learner.learn(records, labels)
        self._learn_s += time.perf_counter() - started

    def finish(self, *, method: str | None, window: int, drifts: Iterable[int]) -> Run:
        """Return the run.

        Parameters
        ----------
        method : str or None
            The name in tables; None for the class of the model.
        window : int
            Number of tested records per point of the error curve.
        drifts : iterable of int
            Known drifts as numbers of tested records; those outside the run are dropped.
        """
        if self.n_tested == 0:
            raise ValueError("the stream ended before any record was tested; give a longer stream or smaller batches")
        return Run(
            method=method or self._model_name,
            stream=stream_name(self._stream),
            seed=getattr(self._stream, "seed", None),
            truth=np.array(self._truth, dtype=np.int64),
            predicted=np.array(self._predicted, dtype=np.int64),
            classes=tuple(self._class_numbers),
            window=window,
            drifts=tuple(at for at in drifts if 0 < at < self.n_tested),
            detections=tuple(self._detections),
            predict_s=self._predict_s,
            learn_s=self._learn_s,
        )

    def _class_number(self, label: Any) -> int:
        return self._class_numbers.setdefault(label, len(self._class_numbers))

    def _update_detector(self, detector: DriftDetector) -> None:
        detector.update(int(self._predicted[-1] != self._truth[-1]))
        if detector.drift_detected:
            self._detections.append(self.n_tested - 1)
