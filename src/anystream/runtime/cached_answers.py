"""Answers to the records of a table, computed once for each number of steps: simulations repeat the same records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.answer import Answer
from anystream.anytime.budget import Budget
from anystream.anytime.errors import RecordError
from anystream.runtime.record_checks import RecordChecks
from anystream.runtime.records import Records

_MAX_CACHED_BYTES = 256 << 20  # of probabilities; beyond it the cache is emptied
_MIN_REUSED = 64  # records after which a number of steps is expected for further records, which are classified
_BLOCK = 256  # together, so many of the table in a call


class _Stage:
    """Answers after one number of steps, for the records that were classified so far."""

    def __init__(self, n_records: int, n_classes: int, labels_type: np.dtype[Any]) -> None:
        self.known = np.zeros(n_records, dtype=np.bool_)
        self.n_known = 0
        self.labels = np.empty(n_records, dtype=labels_type)
        self.proba = np.empty((n_records, n_classes))
        self.steps = np.zeros(n_records, dtype=np.int64)
        self.certified = np.zeros(n_records, dtype=np.bool_)
        self.confident = np.zeros(n_records, dtype=np.bool_)

    def add(self, rows: NDArray[np.int64], answer: Answer) -> None:
        """Store the answers to some records."""
        self.known[rows] = True
        self.n_known += len(rows)
        for name in ("labels", "proba", "steps", "certified", "confident"):
            getattr(self, name)[rows] = getattr(answer, name)

    def take(self, rows: NDArray[np.int64]) -> Answer:
        """Return the answers to some records, all of which are known."""
        found = (self.labels[rows], self.proba[rows], self.steps[rows], self.certified[rows])
        return Answer(*found, 0.0, confident=self.confident[rows])


class CachedAnswers:
    """A classifier whose records are the row numbers of a table.

    A call takes steps alone; equal steps give equal answers, so each record is classified once for each number of them.

    Parameters
    ----------
    model : anytime classifier
        The classifier, which must not learn meanwhile.
    X : array of shape (n_records, n_features)
        The table.
    """

    n_features_in_ = 1

    def __init__(self, model: Any, X: NDArray[np.float64]) -> None:
        self._model = model
        self._X = np.ascontiguousarray(X, dtype=np.float64)
        self._stages: dict[int | None, _Stage] = {}
        _, rejected = RecordChecks.from_model(model).split(Records.from_features(self._X))
        self._invalid = {found.offset: found.reason for found in rejected}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def classify(self, row_numbers: NDArray[np.float64], *, budget: Budget) -> Answer:
        """Return the answers to the records with these row numbers, a matrix of one column."""
        rows = row_numbers[:, 0].astype(np.int64)
        if self._invalid and (found := self._invalid.keys() & set(rows.tolist())):
            raise RecordError(self._invalid[min(found)])
        stage = self._stages.get(budget.steps)
        known = None if stage is None else stage.known[rows]
        if stage is None or known is None or not known.all():
            missing = np.unique(rows) if stage is None or known is None else self._missing_rows(stage, rows[~known])
            answer: Answer = self._model.classify(self._X[missing], budget=Budget(steps=budget.steps))
            stage = stage or self._new_stage(budget.steps, answer)
            stage.add(missing, answer)
        return stage.take(rows)

    def _missing_rows(self, stage: _Stage, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return unknown rows of the table: these, and with a number of steps that is used much their neighbours."""
        if stage.n_known < _MIN_REUSED:
            return np.unique(rows)
        blocks = np.unique(rows // _BLOCK)[:, np.newaxis] * _BLOCK + np.arange(_BLOCK)
        around = blocks[blocks < len(self._X)]
        valid = [row not in self._invalid for row in around.tolist()] if self._invalid else slice(None)
        around = around[valid]
        return np.asarray(around[~stage.known[around]])

    def _new_stage(self, steps: int | None, answer: Answer) -> _Stage:
        n_classes = answer.proba.shape[1]
        if (len(self._stages) + 1) * len(self._X) * n_classes * 8 > _MAX_CACHED_BYTES:
            self._stages.clear()
        return self._stages.setdefault(steps, _Stage(len(self._X), n_classes, answer.labels.dtype))
