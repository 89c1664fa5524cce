"""Progress within one partition of a log whose records are finished in any order."""

from __future__ import annotations

import base64

_MAX_SPAN = 24_000  # maximum number of positions from the lowest unfinished one to the last: 4,000 characters in Kafka
_MIN_PRUNED = 64


class PartitionProgress:
    """The lowest unfinished position of a partition, and the finished positions above it.

    A log like Kafka's stores one position per partition: everything before it is finished. Records overtake each other
    by their deadlines, so some above it are finished, too. They are stored beside it as bits, so that a consumer that
    continues from there answers none of them again.

    Parameters
    ----------
    low : int, default=0
        Position from which the partition is read.
    finished : str, default=""
        Finished positions above it, as `encode_finished` returns them.

    Examples
    --------
    >>> progress = PartitionProgress(10)
    >>> for position in (10, 11, 14):  # a log may have gaps
    ...     progress.take(position)
    >>> progress.finish(11)
    >>> progress.low, progress.is_finished(11), progress.is_finished(14)
    (10, True, False)
    >>> progress.finish(10)
    >>> progress.low
    14
    >>> progress.finish(14)
    >>> progress.low
    15
    """

    def __init__(self, low: int = 0, finished: str = "") -> None:
        bits = base64.b64decode(finished)
        self._finished = {low + 8 * at + bit for at, byte in enumerate(bits) for bit in range(8) if byte >> bit & 1}
        self._unfinished: dict[int, None] = {}  # in the order in which they were taken, which rises
        self._read_to = low
        self._prune_at = 2 * len(self._finished) + _MIN_PRUNED

    @property
    def low(self) -> int:
        """The lowest position that is not finished."""
        return next(iter(self._unfinished), self._read_to)

    @property
    def read_to(self) -> int:
        """The position after the last one that was taken or skipped."""
        return self._read_to

    @property
    def is_wide(self) -> bool:
        """Whether so many positions lie above the lowest unfinished one that no more should be taken."""
        return self._read_to - self.low >= _MAX_SPAN

    def is_finished(self, position: int) -> bool:
        """Whether a position was finished before it was taken here."""
        return position < self.low or position in self._finished

    def take(self, position: int) -> None:
        """Note that the record at a position is in work; those before it were taken or do not exist."""
        self._unfinished[position] = None
        self._read_to = position + 1

    def skip(self, position: int) -> None:
        """Note that the record at a position was finished by an earlier consumer."""
        self._read_to = position + 1
        self._finished.add(position)
        self._prune()

    def finish(self, position: int) -> None:
        """Note that the record at a position is finished."""
        if position in self._unfinished:
            del self._unfinished[position]
            self._finished.add(position)
            self._prune()

    def after(self, positions: set[int]) -> tuple[int, str]:
        """Return `low` and the finished positions as they will be when these, taken before, are finished, too."""
        low = next((position for position in self._unfinished if position not in positions), self._read_to)
        return low, _encode(low, self._finished | positions)

    def encode_finished(self) -> str:
        """Return the finished positions above `low` as a text: bits from `low` on, in base 64."""
        return _encode(self.low, self._finished)

    def _prune(self) -> None:
        """Forget what lies below `low`, whenever twice as much is remembered as after the last time."""
        if len(self._finished) >= self._prune_at:
            low = self.low
            self._finished = {position for position in self._finished if position > low}
            self._prune_at = 2 * len(self._finished) + _MIN_PRUNED


def _encode(low: int, finished: set[int]) -> str:
    above = [position - low for position in finished if low <= position < low + _MAX_SPAN]
    if not above:
        return ""
    bits = bytearray(max(above) // 8 + 1)
    for place in above:
        bits[place // 8] |= 1 << place % 8
    return base64.b64encode(bytes(bits)).decode()
