"""Learning from labels while records are classified.

The model that learns and the model that classifies are two: records are classified by a *snapshot*, which never
changes. After a batch of labels was learned, a new snapshot replaces it in one assignment. So a batch of answers comes
from one state of the model, and classifying never waits for learning::

    labels ->  submitted  ->  partial_fit on the learner's model  ->  snapshot  ->  answers
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.learn_portion import MAX_CLASSES, learn_portion
from anystream.runtime.packed_records import pack_records, unpack_records
from anystream.runtime.records import Records, RejectedRecord

Report = Callable[[Sequence[RejectedRecord]], None]
"""Takes records that the model could not learn."""

LearnOverflow = Literal["block", "drop"]
LEARN_OVERFLOWS: tuple[str, ...] = get_args(LearnOverflow)


class Learner(Protocol):
    """What the engine needs of the owner of the model."""

    @property
    def model(self) -> Any:
        """The anytime classifier for the next batch; it does not change while it is in use."""

    @property
    def learns(self) -> bool:
        """Whether labels are of use: without it none are submitted."""

    @property
    def learned(self) -> int:
        """Number of labels learned so far."""

    @property
    def dropped(self) -> int:
        """Number of labelled records that were submitted and dropped, because too many waited."""

    @property
    def oversized(self) -> int:
        """Number of labelled records that were submitted and dropped, because the model has its maximum size."""

    @property
    def is_full(self) -> bool:
        """Whether so many labelled records wait that the engine shall take no further records and labels for now."""

    def wait(self, seconds: float) -> None:
        """Return when `is_full` may be false, and after `seconds` at the latest."""

    def records_until_update(self, answered: int) -> int | None:
        """Return how many records may be classified before the model learns again, or None if that is not fixed.

        `answered` is the number of records classified so far.
        """

    def report_to(self, report: Report) -> None:
        """Call `report` for records that the model cannot learn: from `update`, `state` or `close`, in their thread."""

    def submit(self, records: Records) -> None:
        """Take records to learn; all of them have a label."""

    def observe_classified(self, records: Records) -> None:
        """Take records that were classified, with a label or without one."""

    def update(self, answered: int) -> None:
        """Learn if it is time, report what could not be learned, and raise any error that is not about a record.

        Called after every batch.
        """

    def state(self) -> tuple[Any, dict[str, Any]]:
        """Return the model, and for a checkpoint what is not in it: labelled records and the number learned so far.

        The model that is returned never changes: it is saved while this one learns on. As long as nothing was learned,
        the same one is returned again, so that it is saved once.
        """

    def restore(self, state: dict[str, Any], answered: int) -> None:
        """Continue from the second part of a `state`; the learner was made with the first part, the model.

        `answered` is the number of records classified until then. The state may come from another kind of learner.
        """

    def close(self) -> None:
        """Learn everything submitted and release the learner's resources."""


class FrozenModel:
    """A model that does not learn.

    Parameters
    ----------
    model : anytime classifier
        The classifier.
    """

    learns = False
    learned = 0
    dropped = 0
    oversized = 0
    is_full = False

    def __init__(self, model: Any) -> None:
        self.model = model

    def records_until_update(self, answered: int) -> int | None:
        """Return None: the model never changes."""
        return None

    def wait(self, seconds: float) -> None:
        """Return at once: it is never full."""

    def report_to(self, report: Report) -> None:
        """Do nothing: there is nothing to report."""

    def submit(self, records: Records) -> None:
        """Ignore labels."""

    def observe_classified(self, records: Records) -> None:
        """Ignore them: the model does not change."""

    def update(self, answered: int) -> None:
        """Do nothing."""

    def state(self) -> tuple[Any, dict[str, Any]]:
        """Return the model, and that nothing was learned."""
        return self.model, _pack_state([], 0)

    def restore(self, state: dict[str, Any], answered: int) -> None:
        """Do nothing: the model is all there is."""

    def close(self) -> None:
        """Do nothing."""


class InlineLearner:
    """Learning between batches, after a fixed number of answers: equal records give equal answers.

    Classifying waits while the model learns. For runs that must be repeatable: tests, simulations, prequential
    evaluation.

    Parameters
    ----------
    model : anytime classifier with `partial_fit`
        The model; it is changed in place.
    every : int, default=256
        Number of records classified between two updates of the model.
    max_classes : int, default=1000
        Number of classes up to which the model learns new ones; records of any further class are reported.
    note_classified : bool, default=False
        Whether to tell the model by its `note_classified`, at each update and before it learns, which records were
        classified since the last, as the published KAOGINC needs. A checkpoint does not hold them.
    """

    learns = True
    dropped = 0
    oversized = 0
    is_full = False  # it learns before the next batch, however much that is

    def __init__(
        self, model: Any, *, every: int = 256, max_classes: int = MAX_CLASSES, note_classified: bool = False
    ) -> None:
        if every < 1:
            raise ValueError(f"every is {every}; use 1 or more records")
        _check_max_classes(max_classes)
        _check_note_classified(model, note_classified)
        self._note_classified = note_classified
        self._classified: list[NDArray[np.float64]] = []  # not counted by the model yet
        self._max_classes = max_classes
        self.model = model
        self.every = every
        self.learned = 0
        self._unlearned: list[Records] = []
        self._report: Report = _ignore
        self._snapshot: Any = None  # of the model as it is, once a checkpoint needed one
        self._next_update = every  # at this number of answers

    def records_until_update(self, answered: int) -> int | None:
        """Return the number of records to the next multiple of `every`."""
        return self._distance_to_update(answered)

    def wait(self, seconds: float) -> None:
        """Return at once: it is never full."""

    def report_to(self, report: Report) -> None:
        """Call `report` for records that the model cannot learn."""
        self._report = report

    def submit(self, records: Records) -> None:
        """Keep labelled records until the next update."""
        if len(records):
            self._unlearned.append(records)

    def observe_classified(self, records: Records) -> None:
        """Keep classified records until the next update, if the model shall count them."""
        if self._note_classified and len(records):
            self._classified.append(records.features)

    def update(self, answered: int) -> None:
        """Learn if `every` records were classified since the last update."""
        if answered >= self._next_update:
            self._next_update = answered + self._distance_to_update(answered)
            self._learn()

    def state(self) -> tuple[Any, dict[str, Any]]:
        """Return a snapshot of the model, and the labelled records that are not in it."""
        if self._snapshot is None:
            self._snapshot = self.model.snapshot()
        return self._snapshot, _pack_state(self._unlearned, self.learned)

    def restore(self, state: dict[str, Any], answered: int) -> None:
        """Continue from the second part of a `state`."""
        self.submit(unpack_records(state))
        self.learned = state["learned"]
        self._next_update = answered + self._distance_to_update(answered)

    def close(self) -> None:
        """Learn the rest."""
        self._learn()

    def _distance_to_update(self, answered: int) -> int:
        return self.every - answered % self.every

    def _learn(self) -> None:
        if self._classified:
            self._snapshot = None
            self.model.note_classified(np.concatenate(self._classified))
            self._classified = []
        records = _concatenate(self._unlearned)
        if len(records) == 0:
            return
        self._snapshot = None
        rejected = learn_portion(self.model, records, self._max_classes)
        self.learned += len(records) - len(rejected)
        self._unlearned = []
        self._report(rejected)


class BackgroundLearner:
    """Learning in a thread of its own, while records are classified by the last snapshot.

    Parameters
    ----------
    model : anytime classifier with `partial_fit` and `snapshot`
        The model. The thread changes it: do not use it before `close`.
    share : float, default=0.25
        Fraction of the time that learning may take; labels that arrive in the meantime are learned together. While the
        engine waits for the learner, it takes all of the time.
    capacity : int, default=10_000
        Maximum number of labelled records that wait to be learned.
    overflow : {"block", "drop"}, default="block"
        The policy for more than that. ``"block"``: the engine takes no further records and labels until there are free
        slots; it still answers the records that it has, whose labels are learned, too, so that up to a full queue more
        may wait. Nothing is lost, but a record may wait in its source. ``"drop"``: the newest are not learned; the
        engine counts them.
    max_classes : int, default=1000
        Number of classes up to which the model learns new ones; records of any further class are reported.
    max_model_bytes : int, optional
        Size of the model, by its `memory_bytes_`, from which on it learns no more; the engine counts what it would have
        learned. For a model that forgets instead, use the bounds of its own that it was fitted with, such as `window`.
    note_classified : bool, default=False
        Whether to tell the model by its `note_classified`, before it learns, which records were classified since the
        last time, as the published KAOGINC needs. A checkpoint does not hold them.

    Notes
    -----
    A snapshot shares the memory of the model; the next `partial_fit` first copies what it changes (for the Bayes tree,
    the whole tree). So it is cheaper to learn many labels at once, and `share` bounds the time spent on copies.
    """

    learns = True

    def __init__(
        self,
        model: Any,
        *,
        share: float = 0.25,
        capacity: int = 10_000,
        overflow: LearnOverflow = "block",
        max_classes: int = MAX_CLASSES,
        max_model_bytes: int | None = None,
        note_classified: bool = False,
    ) -> None:
        _check_note_classified(model, note_classified)
        if max_model_bytes is not None and max_model_bytes < 1:
            raise ValueError(f"max_model_bytes is {max_model_bytes}; use 1 or more bytes")
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share is {share}; use a fraction of the time above 0 and up to 1")
        if capacity < 1:
            raise ValueError(f"capacity is {capacity}; use 1 or more records")
        if overflow not in LEARN_OVERFLOWS:
            raise ValueError(f"overflow is {overflow!r}; use one of {', '.join(LEARN_OVERFLOWS)}")
        _check_max_classes(max_classes)
        self._capacity = capacity
        self._overflow = overflow
        self._max_classes = max_classes
        self._learning = model
        self._published = model.snapshot()
        self._share = share
        self._lock = threading.Condition()  # over the snapshot and the unlearned records; notified of free slots
        self._wake = threading.Event()
        self._note_classified = note_classified
        self._classified: list[NDArray[np.float64]] = []  # not counted by the model yet
        self._unlearned: list[Records] = []  # not in the published snapshot
        self._n_unlearned = 0
        self.dropped = 0
        self.oversized = 0
        self._max_model_bytes = max_model_bytes
        self._model_is_full = self._has_maximum_size(model)
        self._rejected: list[RejectedRecord] = []  # not reported yet
        self._report: Report = _ignore
        self._closing = False
        self._error: BaseException | None = None
        self.learned = 0
        self._thread = threading.Thread(target=self._run, name="anystream: learning", daemon=True)
        self._thread.start()

    @property
    def model(self) -> Any:
        """The last snapshot."""
        return self._published

    def records_until_update(self, answered: int) -> int | None:
        """Return None: a new snapshot may be used at any time."""
        return None

    def report_to(self, report: Report) -> None:
        """Call `report` for records that the model cannot learn."""
        self._report = report

    @property
    def is_full(self) -> bool:
        """Whether `capacity` records wait and the policy is to block."""
        return self._overflow == "block" and self._n_unlearned >= self._capacity and self._error is None

    @property
    def model_is_full(self) -> bool:
        """Whether the model has its maximum size, and learns no more."""
        return self._model_is_full

    def wait(self, seconds: float) -> None:
        """Return when `is_full` may be false, and after `seconds` at the latest."""
        with self._lock:
            self._lock.wait_for(lambda: not self.is_full, seconds)

    def submit(self, records: Records) -> None:
        """Pass labelled records to the thread, as many as the policy allows."""
        with self._lock:
            if self._model_is_full:
                self.oversized += len(records)
                return
            free = max(self._capacity - self._n_unlearned, 0)
            if self._overflow == "drop" and len(records) > free:
                self.dropped += len(records) - free
                records = records.take(slice(free))
            if len(records) == 0:
                return
            self._unlearned.append(records)
            self._n_unlearned += len(records)
        self._wake.set()

    def observe_classified(self, records: Records) -> None:
        """Pass classified records to the thread, if the model shall count them."""
        if self._note_classified and len(records):
            with self._lock:
                self._classified.append(records.features)
            self._wake.set()

    def update(self, answered: int) -> None:
        """Report what the thread could not learn, and raise the error that ended it, if there is one."""
        with self._lock:
            rejected, self._rejected = self._rejected, []
        self._report(rejected)
        if self._error is not None:
            raise self._error

    def state(self) -> tuple[Any, dict[str, Any]]:
        """Return the last snapshot, and the labelled records that are not in it."""
        with self._lock:
            published, unlearned, learned = self._published, list(self._unlearned), self.learned
            rejected, self._rejected = self._rejected, []
        self._report(rejected)
        return published, _pack_state(unlearned, learned)

    def restore(self, state: dict[str, Any], answered: int) -> None:
        """Continue from the second part of a `state`."""
        with self._lock:
            self.learned = state["learned"]
        self.submit(unpack_records(state))

    def close(self) -> None:
        """Learn the rest and end the thread."""
        self._closing = True
        self._wake.set()
        self._thread.join()
        self.update(0)

    def _run(self) -> None:
        try:
            while True:
                self._wake.wait()
                self._wake.clear()
                with self._lock:
                    parts, classified = list(self._unlearned), self._classified
                    self._classified = []
                if parts or classified:
                    self._learn(parts, classified)
                waiting = bool(self._unlearned or self._classified)
                if self._closing and not waiting:
                    return
                if self._closing or waiting:
                    self._wake.set()
        except BaseException as error:  # raised again by `update`, in the engine's thread
            with self._lock:
                self._error = error
                self._lock.notify_all()

    def _learn(self, parts: list[Records], classified: list[NDArray[np.float64]]) -> None:
        started = time.monotonic()
        if classified:
            self._learning.note_classified(np.concatenate(classified))
        records = _concatenate(parts)
        rejected = learn_portion(self._learning, records, self._max_classes)
        snapshot = self._learning.snapshot()
        model_is_full = self._has_maximum_size(self._learning)
        with self._lock:
            self._model_is_full = model_is_full
            self._published = snapshot
            del self._unlearned[: len(parts)]
            self._n_unlearned -= len(records)
            self._lock.notify_all()
            self._rejected += rejected
            self.learned += len(records) - len(rejected)
        if not self._closing:
            pause_s = (time.monotonic() - started) * (1.0 / self._share - 1.0)
            _sleep_unless(lambda: self._closing or self.is_full, pause_s)

    def _has_maximum_size(self, model: Any) -> bool:
        return self._max_model_bytes is not None and model.memory_bytes_ >= self._max_model_bytes


def _check_note_classified(model: Any, note_classified: bool) -> None:
    if note_classified and not hasattr(model, "note_classified"):
        raise TypeError(f"{type(model).__name__} has no note_classified; leave the option out")


def _check_max_classes(max_classes: int) -> None:
    if max_classes < 1:
        raise ValueError(f"max_classes is {max_classes}; use 1 or more classes")


def _ignore(rejected: Sequence[RejectedRecord]) -> None:
    pass


def _concatenate(parts: list[Records]) -> Records:
    return Records.concatenate(parts) if parts else Records.empty()


def _pack_state(unlearned: list[Records], learned: int) -> dict[str, Any]:
    return pack_records(_concatenate(unlearned)) | {"learned": learned}


def _sleep_unless(closing: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not closing() and (left_s := end - time.monotonic()) > 0.0:
        time.sleep(min(left_s, 0.02))
