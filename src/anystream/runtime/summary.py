"""Account of a run: every record that was taken, and every label, ends in exactly one place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.runtime.records import RejectedRecord

_MIN_WAIT_S, _MAX_WAIT_S, _BINS = 1e-6, 1e5, 1100  # waiting times are counted in bins that grow by factors of 1.023
_FEW = 16  # waiting times
_BINS_PER_E = (_BINS - 1) / math.log(_MAX_WAIT_S / _MIN_WAIT_S)
_MAX_DESCRIBED = 3  # bad records that are described in words


@dataclass(slots=True)
class Summary:
    """What became of the records and labels, and how long the records waited.

    Attributes
    ----------
    taken : int
        Records that came from the source, malformed ones included:
        ``answered + shed + dead_letters + withdrawn + waiting``.
    answered, on_time, late : int
        Records that were classified; of them, by their deadline and after it.
    shed : int
        Records that the queue evicted unanswered.
    dead_letters : int
        Records that could not be read or classified.
    withdrawn : int
        Records that `Engine.withdraw` removed from the queue.
    steps : int
        Steps of all answers.
    certified : int
        Answers that no further step could have changed.
    confident : int
        Answers that a test of the classifier ended, at a stated rate of error.
    unreached : int
        Answers from the shares of the classes alone: the time was over before the classifier began with the record.
    labelled : int
        Records, of those taken, that carried their label.
    judged, right, right_on_time : int
        Answers to such records; of them, those that agreed with the label; of these, those by their deadline.
    waited_s : float
        Sum of the seconds from arrival to answer.
    deadlines_from : str
        What the deadlines were counted from: "arrival", if records had arrival times, "taken", the instant at which
        they could be taken, otherwise; empty without deadlines.
    first_bad : list of str
        Where the first few records are that could not be read or classified, and why.
    unknown : int
        Answers to records in which something was unknown and counted as missing, such as a new category.
    first_unknown : list of str
        Where the first few of them are, and what was unknown.
    labels_received : int
        Labels that came from the label source: ``labels_matched + labels_evicted + labels_pending``.
    labels_matched, labels_evicted, labels_pending : int
        Of them, those that were matched with their record; those that were dropped before their record came; those that
        still wait for it.
    labels_duplicated : int
        Of the dropped and waiting ones, those whose key had another label before.
    labels_unread : bool
        Whether the label source had not ended when it was read last.
    labels_rejected : int
        Label records that could not be read. They go to the dead letters, but are not records of the stream.
    first_bad_labels : list of str
        Where the first few of them are, and why.
    unlabelled_evicted, unlabelled_pending : int
        Classified records whose label did not come before they were dropped; those that still wait for it.
    learning_dropped : int
        Classified records with a label that were not learned, because too many waited for it.
    learning_oversized : int
        Classified records with a label that were not learned, because the model has its maximum size.
    learning_blocked_s : float
        Seconds in which no record was taken, because too many waited to be learned.
    learning_rejected : int
        Classified records with a label that the model could not learn. A copy of them goes to the dead letters.
    first_bad_learning : list of str
        Where the first few of them are, and why.
    checkpoints_failed : int
        Checkpoints that could not be saved.
    checkpoint_error : str
        Why the last checkpoint could not be saved; empty if it was.
    """

    taken: int = 0
    answered: int = 0
    on_time: int = 0
    late: int = 0
    shed: int = 0
    dead_letters: int = 0
    withdrawn: int = 0
    steps: int = 0
    certified: int = 0
    confident: int = 0
    unreached: int = 0
    labelled: int = 0
    judged: int = 0
    right: int = 0
    right_on_time: int = 0
    waited_s: float = 0.0
    deadlines_from: str = ""
    first_bad: list[str] = field(default_factory=list)
    unknown: int = 0
    first_unknown: list[str] = field(default_factory=list)
    labels_received: int = 0
    labels_matched: int = 0
    labels_evicted: int = 0
    labels_pending: int = 0
    labels_duplicated: int = 0
    labels_unread: bool = False
    labels_rejected: int = 0
    first_bad_labels: list[str] = field(default_factory=list)
    unlabelled_evicted: int = 0
    unlabelled_pending: int = 0
    learning_dropped: int = 0
    learning_oversized: int = 0
    learning_blocked_s: float = 0.0
    learning_rejected: int = 0
    first_bad_learning: list[str] = field(default_factory=list)
    checkpoints_failed: int = 0
    checkpoint_error: str = ""
    _waits: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_BINS, dtype=np.int64), repr=False)

    @property
    def waiting(self) -> int:
        """Records that were taken and are neither answered nor dropped yet."""
        return self.taken - self.answered - self.shed - self.dead_letters - self.withdrawn

    def add_rejected(self, rejected: Sequence[RejectedRecord]) -> None:
        """Count records that could not be read or classified."""
        self.dead_letters += len(rejected)
        _describe_first(rejected, self.first_bad)

    def add_unknown(self, lines: NDArray[np.int64], offsets: NDArray[np.int64], reasons: NDArray[Any]) -> None:
        """Count answers to records in which something was unknown: their lines, offsets, and what it was."""
        self.unknown += len(reasons)
        n = max(_MAX_DESCRIBED - len(self.first_unknown), 0)
        rows = zip(reasons[:n], offsets[:n].tolist(), lines[:n].tolist(), strict=True)
        described = [RejectedRecord(reason, offset, line or None) for reason, offset, line in rows]
        _describe_first(described, self.first_unknown)

    def add_rejected_labels(self, rejected: Sequence[RejectedRecord]) -> None:
        """Count label records that could not be read."""
        self.labels_rejected += len(rejected)
        _describe_first(rejected, self.first_bad_labels)

    def add_unlearned(self, rejected: Sequence[RejectedRecord]) -> None:
        """Count records that the model could not learn."""
        self.learning_rejected += len(rejected)
        _describe_first(rejected, self.first_bad_learning)

    def add_waits(self, waited_s: NDArray[np.float64]) -> None:
        """Count waiting times."""
        self.waited_s += float(waited_s.sum())
        if len(waited_s) <= _FEW:  # quicker than arrays
            for wait_s in waited_s.tolist():
                relative_wait = min(max(wait_s, _MIN_WAIT_S), _MAX_WAIT_S) * (1.0 / _MIN_WAIT_S)
                self._waits[int(math.log(relative_wait) * _BINS_PER_E)] += 1
            return
        relative = np.minimum(np.maximum(waited_s, _MIN_WAIT_S), _MAX_WAIT_S) * (1.0 / _MIN_WAIT_S)
        self._waits += np.bincount((np.log(relative) * _BINS_PER_E).astype(np.int64), minlength=_BINS)

    def wait_quantile(self, q: float) -> float:
        """Return the waiting time in seconds that a fraction `q` of the answers did not exceed, to about 2 %.

        NaN without any answer.
        """
        if self.answered == 0:
            return float("nan")
        place = int(np.searchsorted(np.cumsum(self._waits), q * self._waits.sum()))
        return float(_MIN_WAIT_S * (_MAX_WAIT_S / _MIN_WAIT_S) ** (min(place + 1, _BINS - 1) / (_BINS - 1)))

    def to_json(self) -> dict[str, Any]:
        """Return the figures for people and programs; those about labels only if there was a label source."""
        answered = max(self.answered, 1)
        figures: dict[str, Any] = {
            "taken": self.taken,
            "answered": self.answered,
            "on_time": self.on_time,
            "late": self.late,
            "shed": self.shed,
            "dead_letters": self.dead_letters,
            "steps_per_record": round(self.steps / answered, 3),
            "certified": self.certified,
        }
        if self.confident:
            figures["confident"] = self.confident
        if self.unreached:
            figures["unreached"] = self.unreached
        if self.withdrawn:
            figures["withdrawn"] = self.withdrawn
        if self.deadlines_from:
            figures["deadlines_from"] = self.deadlines_from
        if self.first_bad:
            figures["first_bad"] = self.first_bad
        if self.unknown:
            figures |= {"unknown": self.unknown, "first_unknown": self.first_unknown}
        if self.answered:
            figures["wait_mean_s"] = round(self.waited_s / answered, 6)
            figures["wait_p50_s"] = round(self.wait_quantile(0.5), 6)
            figures["wait_p99_s"] = round(self.wait_quantile(0.99), 6)
        if self.judged:
            figures["accuracy"] = round(self.right / self.judged, 6)
            figures["on_time_accuracy"] = round(self.right_on_time / self.labelled, 6)
        if any(getattr(self, name) for name in _LABEL_COUNTS):
            figures |= {name: getattr(self, name) for name in _LABEL_COUNTS}
        if self.first_bad_labels:
            figures["first_bad_labels"] = self.first_bad_labels
        if self.learning_dropped:
            figures["learning_dropped"] = self.learning_dropped
        if self.learning_oversized:
            figures["learning_oversized"] = self.learning_oversized
        if self.learning_blocked_s:
            figures["learning_blocked_s"] = round(self.learning_blocked_s, 6)
        if self.learning_rejected:
            figures["learning_rejected"] = self.learning_rejected
            figures["first_bad_learning"] = self.first_bad_learning
        if self.checkpoints_failed:
            figures |= {"checkpoints_failed": self.checkpoints_failed, "checkpoint_error": self.checkpoint_error}
        return figures

    def add(self, other: Summary) -> None:
        """Add the account of another part of the same stream."""
        for name in _COUNTS:
            ours, theirs = getattr(self, name), getattr(other, name)
            if isinstance(ours, list):
                setattr(self, name, (ours + theirs)[:_MAX_DESCRIBED])
            elif isinstance(ours, str | bool):
                setattr(self, name, ours or theirs)
            else:
                setattr(self, name, ours + theirs)
        self._waits = self._waits + other._waits

    def copy(self) -> Summary:
        """Return a copy that does not change with this summary."""
        return deepcopy(self)

    def state(self) -> dict[str, Any]:
        """Return all counts, for a checkpoint."""
        return {name: copy(getattr(self, name)) for name in _COUNTS} | {"waits": self._waits.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""
        for name in _COUNTS:
            setattr(self, name, copy(state[name]))
        self._waits = np.array(state["waits"], dtype=np.int64)


_COUNTS = tuple(found.name for found in fields(Summary) if found.name != "_waits")
_LABEL_COUNTS = (
    "labels_received",
    "labels_matched",
    "labels_evicted",
    "labels_pending",
    "labels_duplicated",
    "labels_unread",
    "labels_rejected",
    "unlabelled_evicted",
    "unlabelled_pending",
)


def _describe_first(rejected: Sequence[RejectedRecord], described: list[str]) -> None:
    described += [found.describe() for found in rejected[: _MAX_DESCRIBED - len(described)]]
