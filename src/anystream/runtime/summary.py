"""The account of a run: every record that was taken ends in exactly one place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.items import Reject

_SHORTEST_S, _LONGEST_S, _BINS = 1e-6, 1e5, 1100  # waiting times by factors of 1.023
_FIRST_BAD = 3  # bad records that are described
_BINS_PER_E = (_BINS - 1) / math.log(_LONGEST_S / _SHORTEST_S)


@dataclass(slots=True)
class Summary:
    """What became of the records, and how long they waited.

    Attributes
    ----------
    taken : int
        Records that came from the source, bad ones included: ``answered + shed + dead + waiting``.
    answered, on_time, late : int
        Records that were answered; of them, by their deadline and after it.
    shed : int
        Records that the queue gave up.
    dead : int
        Records that could not be read or answered.
    steps : int
        Steps of all answers.
    certified : int
        Answers that no further step could have changed.
    labelled : int
        Records, of those taken, that carried their label.
    judged, right, right_on_time : int
        Answers to such records; of them, those that agreed with the label; of these, those in time.
    waited_s : float
        Seconds that all answers took from arrival, added up.
    first_bad : list of str
        Where the first few records are that could not be read or answered, and why.
    """

    taken: int = 0
    answered: int = 0
    on_time: int = 0
    late: int = 0
    shed: int = 0
    dead: int = 0
    steps: int = 0
    certified: int = 0
    labelled: int = 0
    judged: int = 0
    right: int = 0
    right_on_time: int = 0
    waited_s: float = 0.0
    first_bad: list[str] = field(default_factory=list)
    _waits: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_BINS, dtype=np.int64), repr=False)

    def add_bad(self, rejects: Sequence[Reject]) -> None:
        """Count records that could not be read or answered."""
        self.dead += len(rejects)
        self.first_bad += [reject.described() for reject in rejects[: _FIRST_BAD - len(self.first_bad)]]

    def add_waits(self, waited: NDArray[np.float64]) -> None:
        """Count waiting times, in seconds."""
        self.waited_s += float(waited.sum())
        times_shortest = np.minimum(np.maximum(waited, _SHORTEST_S), _LONGEST_S) * (1.0 / _SHORTEST_S)
        self._waits += np.bincount((np.log(times_shortest) * _BINS_PER_E).astype(np.int64), minlength=_BINS)

    def wait_quantile(self, q: float) -> float:
        """The waiting time in seconds that a part `q` of the answers did not exceed, to about 2 %; NaN without any."""
        if self.answered == 0:
            return float("nan")
        place = int(np.searchsorted(np.cumsum(self._waits), q * self._waits.sum()))
        return float(_SHORTEST_S * (_LONGEST_S / _SHORTEST_S) ** (min(place + 1, _BINS - 1) / (_BINS - 1)))

    @property
    def waiting(self) -> int:
        """Records that were taken and are not done with yet."""
        return self.taken - self.answered - self.shed - self.dead

    def to_json(self) -> dict[str, Any]:
        """The figures, for people and programs."""
        answered = max(self.answered, 1)
        figures: dict[str, Any] = {
            "taken": self.taken,
            "answered": self.answered,
            "on_time": self.on_time,
            "late": self.late,
            "shed": self.shed,
            "dead_letters": self.dead,
            "steps_per_record": round(self.steps / answered, 3),
            "certified": self.certified,
        }
        if self.first_bad:
            figures["first_bad"] = self.first_bad
        if self.answered:
            figures["wait_mean_s"] = round(self.waited_s / answered, 6)
            figures["wait_p50_s"] = round(self.wait_quantile(0.5), 6)
            figures["wait_p99_s"] = round(self.wait_quantile(0.99), 6)
        if self.judged:
            figures["accuracy"] = round(self.right / self.judged, 6)
            figures["on_time_accuracy"] = round(self.right_on_time / self.labelled, 6)
        return figures

    def state(self) -> dict[str, Any]:
        """Everything, for a checkpoint."""
        return {name: copy(getattr(self, name)) for name in _KEPT} | {"waits": self._waits.tolist()}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Summary:
        """The account that `state` was taken of."""
        return cls(**{name: state[name] for name in _KEPT}, _waits=np.array(state["waits"], dtype=np.int64))


_KEPT = (
    "taken",
    "answered",
    "on_time",
    "late",
    "shed",
    "dead",
    "steps",
    "certified",
    "labelled",
    "judged",
    "right",
    "right_on_time",
    "waited_s",
    "first_bad",
)
