"""A served model that learns: what it has acknowledged is on disk, and learning never delays answers.

Labelled records are appended to a journal, and then passed to a `BackgroundLearner`. From time to time a checkpoint
holds the model and the records that it has not learned yet. After any end of the process, the last checkpoint and the
journal behind it hold everything that was acknowledged::

    POST /v1/learn -> journal (on disk) -> acknowledged -> BackgroundLearner -> snapshot -> answers
                                                                |
                                                                +-> checkpoint, from time to time
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anystream.connectors.saved_model import SavedModel
from anystream.runtime.checkpoint import CheckpointFolder
from anystream.runtime.learner import BackgroundLearner
from anystream.runtime.record_checks import RecordChecks
from anystream.runtime.records import Records, RejectedRecord
from anystream.runtime.run_state import RunState
from anystream.server.errors import BAD_REQUEST, CONFLICT, RefusedError, RequestError
from anystream.server.figures import ModelFigures
from anystream.server.journal import Journal

log = logging.getLogger("anystream.server")
_KEEP = 3  # checkpoints
_CAPACITY = 100_000  # records that may wait to be learned


class LearningModel:
    """A model, its learner, its journal and its checkpoints. Any thread may call the methods, one call at a time.

    Parameters
    ----------
    saved : SavedModel
        The model as it was fitted.
    fingerprint : str
        Of its file: a checkpoint of another model is not continued.
    folder : Path
        For journal and checkpoints; one process at a time uses it.
    figures : ModelFigures
        Where rejected records are counted.
    checkpoint_s : float
        Seconds between two checkpoints, if something was learned.
    max_model_bytes : int
        Size of the model from which on it learns no more.
    """

    def __init__(
        self,
        saved: SavedModel,
        fingerprint: str,
        folder: Path,
        *,
        figures: ModelFigures,
        checkpoint_s: float = 10.0,
        max_model_bytes: int = 2**30,
    ) -> None:
        if not hasattr(saved.classifier, "partial_fit"):
            raise ValueError(f"a model of kind {saved.file.kind} cannot learn further; serve it without --learn")
        self._figures = figures
        self._checkpoint_s = checkpoint_s
        self._folder = CheckpointFolder(
            folder,
            every_s=checkpoint_s,
            keep=_KEEP,
            notes=saved.notes,
            belongs_to={"model": fingerprint},
            report=log.warning,
        )
        state = self._folder.load()
        try:
            model = saved.classifier.snapshot() if state is None else state.model
            self.checks = RecordChecks.from_model(model, learns=True)
            self._journal = Journal(folder)
            self.learner = BackgroundLearner(model, capacity=_CAPACITY, max_model_bytes=max_model_bytes)
            self.learner.report_to(self._report)
            position = 0
            if state is not None:
                self.learner.restore(state.learner, 0)
                position = state.intake["position"]
            for records in self._journal.read_from(position):
                self.learner.submit(records)
        except BaseException:
            self._folder.close()
            raise
        self._lock = threading.Lock()  # over journal and learner
        self._saving = threading.Lock()  # over the checkpoints
        self._closed = False
        self._saved_at, self._saved_position = time.monotonic(), position
        self._failed = False
        self._kept: deque[int] = deque(maxlen=_KEEP)  # positions of the checkpoints since the start

    @property
    def acknowledged(self) -> int:
        """Number of labelled records that were acknowledged, over all runs."""
        return self._journal.position

    def check(self, records: Records) -> None:
        """Raise if one of the records cannot be learned, or if none can now."""
        if len(records) == 0:
            return
        unlabelled = [row for row, label in enumerate(records.label.tolist()) if label is None]
        if unlabelled:
            raise RequestError(BAD_REQUEST, f"record {unlabelled[0]}: the label is missing; send it with the record")
        _, rejected = self.checks.split(records)
        if rejected:
            first = min(rejected, key=lambda found: found.offset)
            raise RequestError(BAD_REQUEST, f"record {first.offset}: {first.reason}")
        if self._failed:
            raise RefusedError("learning_failed", "learning has failed; the log of the server tells why")
        if self.learner.model_is_full:
            raise RequestError(
                CONFLICT, "the model has its maximum size and learns no more; serve a larger --max-model-mb"
            )
        if self.learner.is_full:
            raise RefusedError("learning_full", "too many records wait to be learned; try again later")

    def learn(self, records: Records) -> None:
        """Take labelled records that were checked; on return they are on disk."""
        with self._lock:
            if self._closed:
                raise RefusedError("closing", "the model is being replaced; try again")
            self._journal.append(records)
            self.learner.submit(records)

    def tick(self) -> None:
        """Report what could not be learned, and save a checkpoint if one is due; errors are logged."""
        with self._saving:
            if not self._closed:
                self._tick()

    def _tick(self) -> None:
        try:
            self.learner.update(0)
        except Exception:
            if not self._failed:
                log.exception("learning failed")
            self._failed = True
            return
        if self._journal.position > self._saved_position and time.monotonic() - self._saved_at >= self._checkpoint_s:
            try:
                self._save()
            except OSError as error:
                log.error("a checkpoint could not be saved: %s", error)

    def close(self) -> None:
        """Learn the rest, save a checkpoint, and release the folder."""
        with self._lock:
            self._closed = True
        with self._saving:
            try:
                self.learner.close()
                if self._journal.position > self._saved_position:
                    self._save()
            finally:
                self._journal.close()
                self._folder.close()

    def _save(self) -> None:
        with self._lock:
            model, learner = self.learner.state()
            position = self._journal.position
            self._journal.begin_segment()
        self._saved_at = time.monotonic()
        empty: dict[str, Any] = {}
        self._folder.save(RunState(model, {"position": position}, empty, learner, empty, empty, empty))
        self._saved_position = position
        self._kept.append(position)
        if len(self._kept) == _KEEP:  # those of earlier runs are gone
            self._journal.remove_before(self._kept[0])

    def _report(self, rejected: Sequence[RejectedRecord]) -> None:
        if rejected:
            self._figures.count("unlearned", len(rejected))
            log.warning("%d records could not be learned", len(rejected))
