"""Reading ahead: a thread reads and parses the next records of a source while the engine classifies."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, NamedTuple

from anystream.runtime.contracts import PollResult, Source
from anystream.runtime.records import Records
from anystream.runtime.source_wrapper import SourceWrapper

_MAX_PARTS = 2  # that are read and not polled yet
_PART_RECORDS = 10_000  # maximum number of records in one of them
_WAIT_S = 0.05  # time after which the thread looks whether it is still needed


class _Position(NamedTuple):
    """Where a source is after a part: what it says of itself then."""

    offset: int
    done: bool
    fingerprint: dict[str, Any]
    absent: dict[str, int] | None


class _Part(NamedTuple):
    """Records that were read together, and the source after them."""

    result: PollResult
    after: _Position


class ReadAhead(SourceWrapper):
    """A source whose next records are read by a thread, so that reading and classifying overlap.

    The thread starts with the first `poll` and is the only one to use the source from then on. Whatever is asked about
    the position is answered for the records that were polled, not for those that were read ahead; an error of reading
    is raised in place of the records that could not be read.

    Parameters
    ----------
    source : Source
        The source; not one of a broker, which is polled to stay a member of its group.

    Notes
    -----
    The thread ends with the source, when it is closed, and when the main thread ends. A process that is forked while it
    runs has no such thread, and finds no more records.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()  # guards what follows
        self._parts: deque[_Part | BaseException] = deque()  # an error in place of what could not be read
        self._stopping = False
        self._left: PollResult | None = None  # of a part that was not polled whole
        self._position: _Position | None = None  # after the part that was polled last; None before the thread starts

    @property
    def offset(self) -> int:
        """Where the next record begins."""
        if self._left is not None:
            return _first_offset(self._left)
        return self._source.offset if self._position is None else self._position.offset

    @property
    def done(self) -> bool:
        """Whether no further record will ever come."""
        return self._left is None and (self._source.done if self._position is None else self._position.done)

    def poll(self, max_records: int) -> PollResult:
        """Return the next records that were read already."""
        self._start()
        result = self._left or self._take_part()
        if result is None:
            return PollResult(Records.empty())
        result, self._left = _split(result, max_records)
        return result

    def wait(self, seconds: float) -> None:
        """Return when records were read, and after `seconds` at the latest."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._parts), seconds)

    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint of what was read up to the end of the last part that was polled."""
        return self._source.fingerprint() if self._position is None else self._position.fingerprint

    @property
    def absent(self) -> dict[str, int]:
        """Columns that no record had, and how many records were polled; only of a source that counts them."""
        found = self._source_absent() if self._position is None else self._position.absent
        if found is None:
            raise AttributeError("absent")
        n_left = 0 if self._left is None else len(self._left.records)
        return {name: n - n_left for name, n in found.items()}

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from `offset`; what was read ahead is forgotten."""
        self._end_thread()
        self._thread, self._stopping, self._left, self._position = None, False, None, None
        self._parts.clear()
        self._source.seek(offset, fingerprint)

    def close(self) -> None:
        """End the thread, and close the source; the position stays that of the records that were polled."""
        self._end_thread()
        self._source.close()

    # -- the caller --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread is None:
            self._position = self._locate()
            self._thread = threading.Thread(target=self._read, name="anystream-read-ahead")
            self._thread.start()

    def _end_thread(self) -> None:
        if self._thread is not None:
            with self._changed:
                self._stopping = True
                self._changed.notify_all()
            self._thread.join()

    def _take_part(self) -> PollResult | None:
        with self._changed:
            if not self._parts:
                return None
            part = self._parts[0]
            if isinstance(part, BaseException):
                raise part
            self._parts.popleft()
            self._changed.notify_all()
        self._position = part.after
        return part.result

    # -- the thread --------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while self._is_needed() and not self._source.done:
                self._read_part()
        except BaseException as error:
            self._add(error)

    def _read_part(self) -> None:
        result = self._source.poll(_PART_RECORDS)
        if len(result.records) or result.rejected or self._source.done:
            self._add(_Part(result, self._locate()))
        else:
            self._source.wait(_WAIT_S)

    def _add(self, part: _Part | BaseException) -> None:
        """Append a part as soon as there is a free slot, unless the thread is not needed any more."""
        with self._changed:
            while len(self._parts) >= _MAX_PARTS and self._is_needed():
                self._changed.wait(_WAIT_S)
            self._parts.append(part)
            self._changed.notify_all()

    def _is_needed(self) -> bool:
        return not self._stopping and threading.main_thread().is_alive()

    def _locate(self) -> _Position:
        source = self._source
        return _Position(source.offset, source.done, source.fingerprint(), self._source_absent())

    def _source_absent(self) -> dict[str, int] | None:
        return getattr(self._source, "absent", None)


def _first_offset(result: PollResult) -> int:
    """Return where the first record of a result begins, malformed ones included."""
    first = [int(result.records.offset[0])] if len(result.records) else []
    return min([*first, *(found.offset for found in result.rejected[:1])])


def _split(result: PollResult, max_records: int) -> tuple[PollResult, PollResult | None]:
    """Return the first records of a result, malformed ones included, and the others, if there are any."""
    records, rejected = result
    if len(records) + len(rejected) <= max_records:
        return result, None
    if not rejected:
        return PollResult(records.take(slice(max_records))), PollResult(records.take(slice(max_records, None)))
    offsets = sorted([*records.offset.tolist(), *(found.offset for found in rejected)])
    n_records = int(records.offset.searchsorted(offsets[max_records]))
    n_rejected = max_records - n_records
    return (
        PollResult(records.take(slice(n_records)), rejected[:n_rejected]),
        PollResult(records.take(slice(n_records, None)), rejected[n_rejected:]),
    )
