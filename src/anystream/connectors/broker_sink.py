"""Answers and dead letters as messages of a broker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from anystream.connectors.answer_lines import JsonAnswerLines
from anystream.connectors.broker_address import BrokerAddress
from anystream.connectors.broker_retry import Retry, print_report
from anystream.connectors.broker_source import MessageSource, OutMessage
from anystream.runtime.contracts import AnsweredRecords
from anystream.runtime.records import RejectedRecord, printable_key

_CONTENT_HEADERS = ("anystream-origin", "anystream-reason", "anystream-time")


class Publisher(ABC):
    """Writes messages to one stream of a broker.

    Parameters
    ----------
    address : str or BrokerAddress
        The stream.
    give_up_after_s, report
        See `Retry`.
    """

    errors: ClassVar[tuple[type[BaseException], ...]] = (OSError,)
    refusals: ClassVar[tuple[type[BaseException], ...]] = ()
    options: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        address: str | BrokerAddress,
        *,
        give_up_after_s: float | None = None,
        report: Callable[[str], None] = print_report,
    ) -> None:
        self.address = BrokerAddress.parse(address) if isinstance(address, str) else address
        self.address.check_options(self.options)
        self._retry = Retry(
            str(self.address), self.errors, refusals=self.refusals, give_up_after_s=give_up_after_s, report=report
        )

    def publish(self, messages: Sequence[OutMessage]) -> None:
        """Write messages; on return the broker has stored them."""
        if messages:
            self._retry.call(lambda: self._send(messages))

    @abstractmethod
    def _send(self, messages: Sequence[OutMessage]) -> None:
        """Write messages, and return when the broker has stored them."""

    def close(self) -> None:  # noqa: B027  some clients need nothing
        """Release the connection."""


class _BrokerOutput:
    """Messages that are written at the next flush, or together with the acknowledgement of their records."""

    append_only = True
    """Nothing can be removed from a broker."""

    def __init__(self, publisher: Publisher, source: MessageSource | None) -> None:
        self._publisher = publisher
        self._source = source
        self._shared = source is not None and can_share(source, publisher.address)
        self._buffer: list[OutMessage] = []

    def flush(self) -> None:
        """Write everything; what belongs to the transaction of a source is written with its acknowledgement."""
        if self._buffer:
            self._publisher.publish(self._buffer)
            self._buffer = []

    def mark(self, *, complete: bool) -> dict[str, Any]:
        """Flush: a broker has no position to come back to."""
        self.flush()
        return {}

    def sync(self) -> None:
        """Do nothing: what was flushed is stored by the broker."""

    def rewind(self, mark: dict[str, Any] | None) -> None:
        """Do nothing: messages cannot be removed; those after the last checkpoint may be written again."""

    def close(self) -> None:
        """Flush, and release the connection."""
        self.flush()
        self._publisher.close()

    def _add(self, offset: int | None, message: OutMessage) -> None:
        if self._shared and offset is not None and self._source is not None and self._source.is_in_work(offset):
            self._source.attach(offset, message)
        else:
            self._buffer.append(message)


class BrokerSink(_BrokerOutput, JsonAnswerLines):
    """Answers as JSON messages; key and headers of a message are carried over to its answer.

    Parameters
    ----------
    publisher : Publisher
        Where they are written.
    source : MessageSource, optional
        The source of the records, if that is a broker, too. If it is the same one, answers and acknowledgements are
        written together.
    proba, unknown, keep
        See `anystream.connectors.file_sink.JsonLinesSink`.
    """

    def __init__(
        self,
        publisher: Publisher,
        *,
        source: MessageSource | None = None,
        proba: bool = False,
        unknown: bool = False,
        keep: Sequence[str] = (),
    ) -> None:
        _BrokerOutput.__init__(self, publisher, source)
        JsonAnswerLines.__init__(self, proba=proba, unknown=unknown, keep=keep)

    def write(self, answers: AnsweredRecords) -> None:
        """Add the answers to what the next flush, or their acknowledgement, writes."""
        lines = self.format_answers(answers)
        offsets = [None] * len(lines) if answers.offset is None else answers.offset.tolist()
        stream = self._publisher.address.stream
        for line, offset in zip(lines, offsets, strict=True):
            value = line.rstrip("\n").encode("utf-8", "backslashreplace")
            origin = None if self._source is None else self._source.find_origin(offset)
            if origin is None:
                if self._source is None:
                    self._add(offset, OutMessage(stream, value))
                continue  # else the record was revoked: another consumer answers it
            headers = tuple(header for header in origin.headers if header[0] not in _CONTENT_HEADERS)
            identity = None if self._source is None else self._source.identify(offset)
            headers += (("anystream-origin", origin.identity.encode()),)
            self._add(offset, OutMessage(stream, value, origin.key, headers, identity))


class BrokerDeadLetters(_BrokerOutput):
    """Rejected records as messages: the original bytes, key and headers, and the reason in a header.

    Parameters
    ----------
    publisher : Publisher
        Where they are written.
    source : MessageSource, optional
        See `BrokerSink`.
    """

    def __init__(self, publisher: Publisher, *, source: MessageSource | None = None) -> None:
        super().__init__(publisher, source)

    def write(self, rejected: Sequence[RejectedRecord]) -> None:
        """Add rejected records to what the next flush, or their acknowledgement, writes."""
        for found in rejected:
            reason = ("anystream-reason", found.reason.encode("utf-8", "backslashreplace"))
            if found.origin is None:
                key = None if found.key is None else str(printable_key(found.key)).encode("utf-8", "backslashreplace")
                value = found.record.encode("utf-8", "backslashreplace")
                place = str(found.offset if found.line is None else f"line {found.line}").encode()
                message = OutMessage(self._publisher.address.stream, value, key, (reason, ("anystream-origin", place)))
                self._add(None, message)
                continue
            origin = found.origin
            headers = (*origin.headers, reason, ("anystream-origin", origin.identity.encode()))
            if origin.time_s is not None:
                headers += (("anystream-time", repr(origin.time_s).encode()),)
            identity = f"{origin.identity}#dead"
            stream = self._publisher.address.stream
            self._add(found.offset, OutMessage(stream, origin.value, origin.key, headers, identity))


def can_share(source: MessageSource, address: BrokerAddress) -> bool:
    """Whether messages to an address can be written together with the acknowledgements of a source."""
    ours = source.address
    return source.shares_outputs and (ours.scheme, ours.hosts) == (address.scheme, address.hosts)
