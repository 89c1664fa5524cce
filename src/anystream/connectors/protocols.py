"""What the engine asks of the outside world: where records come from and where answers go.

Nothing here is implemented; `anystream.connectors` has one file per system that does. An offset is a whole number whose
meaning belongs to its source: the row of a table, the byte of a file, the offset of a log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.items import Items, Reject


class Polled(NamedTuple):
    """What a source had ready: sound records, and those that it could not make sense of."""

    items: Items
    rejects: Sequence[Reject] = ()


class Source(Protocol):
    """Where records come from.

    Guaranteed by a source: `poll` does not wait; records come in the order of their offsets, which rise; after
    `seek(o)` the record at offset o is the next one again, as long as it has not been acknowledged. Not guaranteed:
    that `close` is called, or that anything between two acknowledgements is read only once.
    """

    @property
    def offset(self) -> int:
        """Where the next record begins."""

    @property
    def done(self) -> bool:
        """No record will ever come again."""

    def poll(self, most: int) -> Polled:
        """At most `most` records that are ready now, bad ones included; it does not wait for more."""

    def wait(self, seconds: float) -> None:
        """Return when records may be ready, and after `seconds` at the latest."""

    def seek(self, offset: int) -> None:
        """Go on from `offset`."""

    def acknowledge(self, offset: int) -> None:
        """Every record before `offset` is answered and safe: the source may forget it."""

    def close(self) -> None:
        """Let go of files and connections."""


class Answers(NamedTuple):
    """Answered records in columns, as a sink gets them.

    Parameters
    ----------
    key : array of shape (n,)
        The keys of the records.
    label : array of shape (n,)
        The likeliest class of each.
    proba : array of shape (n, n_classes)
        Probabilities in the order of `classes`.
    classes : array of shape (n_classes,)
        What the columns of `proba` mean.
    steps : array of shape (n,)
        Steps that each answer took.
    certified : array of shape (n,)
        True where no further step could change the label.
    waited : array of shape (n,)
        Seconds from arrival to answer.
    late : array of shape (n,)
        True where the answer came after its deadline.
    """

    key: NDArray[Any]
    label: NDArray[Any]
    proba: NDArray[np.float64]
    classes: NDArray[Any]
    steps: NDArray[np.int64]
    certified: NDArray[np.bool_]
    waited: NDArray[np.float64]
    late: NDArray[np.bool_]


class Durable(Protocol):
    """What a checkpoint asks of everything that is written to."""

    def flush(self) -> None:
        """Make all that was written safe: after this it survives the end of the process."""

    def position(self) -> int:
        """How much has been flushed, for a checkpoint to remember."""

    def rewind(self, position: int) -> None:
        """Take back what was written after `position`, which a checkpoint remembered.

        With this, no answer is written twice after a restart. A sink that cannot take anything back (standard output)
        raises; a sink that knows keys (a database) may do nothing, because writing the same key again changes nothing.
        """

    def close(self) -> None:
        """Flush, and let go of files and connections."""


class Sink(Durable, Protocol):
    """Where answers go: written once each in an undisturbed run, in the order in which they are given."""

    def write(self, answers: Answers) -> None:
        """Take answers; they are safe after the next `flush`."""


class DeadLetters(Durable, Protocol):
    """Where records go that were not answered, with the reason."""

    def write(self, rejects: Sequence[Reject]) -> None:
        """Take rejects; they are safe after the next `flush`."""


class LabelSource(Protocol):
    """Where labels come from that arrive after their records. The promises are those of `Source`."""

    @property
    def offset(self) -> int:
        """Where the next label begins."""

    @property
    def done(self) -> bool:
        """No label will ever come again."""

    def poll(self, most: int) -> Sequence[tuple[Any, Any]]:
        """At most `most` pairs (key, label) that are ready now."""

    def seek(self, offset: int) -> None:
        """Go on from `offset`."""

    def close(self) -> None:
        """Let go of files and connections."""
