"""Records and answers in memory: for programs that have them at hand, and for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anystream.connectors.items import Items, Reject
from anystream.connectors.protocols import Answers, Polled


class MemorySource:
    """The rows of a table; the offset of a record is its row number.

    Parameters
    ----------
    X : array-like of shape (n_records, n_features)
        The records.
    y : sequence, optional
        Their labels; None where a label is not known.
    key : sequence, optional
        Their keys; by default the row numbers.
    deadline : array-like, optional
        Instants on the engine's clock at which answers are due.
    """

    def __init__(
        self,
        X: ArrayLike,
        y: Sequence[Any] | None = None,
        *,
        key: Sequence[Any] | None = None,
        deadline: ArrayLike | None = None,
    ) -> None:
        self._items = Items.of(X, key=key, deadline=deadline, label=y)
        self.offset = 0
        self.acknowledged = 0

    @property
    def done(self) -> bool:
        """Every row was polled."""
        return self.offset >= len(self._items)

    def poll(self, most: int) -> Polled:
        """The next rows."""
        first = self.offset
        self.offset = min(first + most, len(self._items))
        return Polled(self._items.take(slice(first, self.offset)))

    def wait(self, seconds: float) -> None:
        """Return at once: what is in memory is ready."""

    def seek(self, offset: int) -> None:
        """Go on from row `offset`."""
        if not 0 <= offset <= len(self._items):
            raise ValueError(f"offset is {offset}; the source has {len(self._items)} rows")
        self.offset = offset

    def acknowledge(self, offset: int) -> None:
        """Remember it, for whoever asks."""
        self.acknowledged = offset

    def close(self) -> None:
        """Nothing to let go of."""


class MemorySink:
    """Answers as a list of batches, and by key.

    Attributes
    ----------
    batches : list of Answers
        Everything that was written, in order.
    """

    def __init__(self) -> None:
        self.batches: list[Answers] = []
        self._flushed = 0

    def __len__(self) -> int:
        return sum(len(batch.key) for batch in self.batches)

    def write(self, answers: Answers) -> None:
        """Keep the answers."""
        self.batches.append(answers)

    def flush(self) -> None:
        """Everything up to here counts as safe."""
        self._flushed = len(self.batches)

    def position(self) -> int:
        """How many batches are safe."""
        return self._flushed

    def rewind(self, position: int) -> None:
        """Drop the batches after `position`."""
        del self.batches[position:]
        self._flushed = position

    def close(self) -> None:
        """Flush."""
        self.flush()

    def labels(self) -> dict[Any, Any]:
        """The label that each key was given."""
        return {
            key: label
            for batch in self.batches
            for key, label in zip(batch.key.tolist(), batch.label.tolist(), strict=True)
        }

    def column(self, name: str) -> Any:
        """One column of all answers, such as ``"steps"`` or ``"waited"``."""
        return np.concatenate([getattr(batch, name) for batch in self.batches] or [np.empty(0)])


class MemoryDeadLetters:
    """Rejected records as a list."""

    def __init__(self) -> None:
        self.rejects: list[Reject] = []

    def write(self, rejects: Sequence[Reject]) -> None:
        """Keep the rejects."""
        self.rejects.extend(rejects)

    def flush(self) -> None:
        """Everything is as safe as memory is."""

    def position(self) -> int:
        """How many rejects there are."""
        return len(self.rejects)

    def rewind(self, position: int) -> None:
        """Drop the rejects after `position`."""
        del self.rejects[position:]

    def close(self) -> None:
        """Nothing to let go of."""


class MemoryLabels:
    """Pairs of key and label that can be added to at any time.

    Parameters
    ----------
    pairs : sequence of (key, label)
        Those that are there from the beginning.
    open : bool, default=False
        More may be added; without it the source is done when all are polled.
    """

    def __init__(self, pairs: Sequence[tuple[Any, Any]] = (), *, open: bool = False) -> None:  # noqa: A002  the word for it
        self._pairs = list(pairs)
        self._open = open
        self.offset = 0

    def add(self, key: Any, label: Any) -> None:
        """A label has become known."""
        self._pairs.append((key, label))

    @property
    def done(self) -> bool:
        """All were polled, and none can be added."""
        return not self._open and self.offset >= len(self._pairs)

    def poll(self, most: int) -> Sequence[tuple[Any, Any]]:
        """The next pairs."""
        pairs = self._pairs[self.offset : self.offset + most]
        self.offset += len(pairs)
        return pairs

    def seek(self, offset: int) -> None:
        """Go on from pair `offset`."""
        self.offset = offset

    def close(self) -> None:
        """No more will be added."""
        self._open = False
