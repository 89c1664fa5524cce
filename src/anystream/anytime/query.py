"""One classification in the hand: always an answer, a better one with every step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.budget import BudgetLike


class Query(ABC):
    """One record being classified. It has an answer from the beginning and can be stopped, stored and resumed.

    ``refine(a)`` and then ``refine(b)`` is ``refine(a + b)``, bit for bit. Reading `label`, `proba` or `state` changes
    nothing. A query keeps the model as it was when the query was opened, even if the model learns on. Pickling one
    pickles its model too; `state` is what there is to store when the model is at hand elsewhere, and
    ``model.query(state=…)`` goes on from it.
    """

    @abstractmethod
    def refine(self, budget: BudgetLike = None) -> Self:
        """Spend `budget` (None: all that is useful) on a better answer; return the query itself."""

    @property
    @abstractmethod
    def label(self) -> Any:
        """The likeliest class so far."""

    @property
    @abstractmethod
    def proba(self) -> NDArray[np.float64]:
        """Probabilities of the classes so far, in the order of the classifier's `classes_`."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    @abstractmethod
    def certified(self) -> bool:
        """Whether no further step could change the label."""

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """Whether nothing is left to do."""

    @property
    @abstractmethod
    def state(self) -> Any:
        """What is needed, beside the model, to go on later; small and picklable."""

    def __repr__(self) -> str:
        end = ", exhausted" if self.exhausted else ", certified" if self.certified else ""
        return f"{type(self).__name__}(label={self.label!r}, p={self.proba.max():.3f}, steps={self.steps}{end})"
