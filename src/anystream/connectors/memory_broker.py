"""A broker in memory, with partitions that come and go: for tests of what runs on a real one."""

from __future__ import annotations

from collections.abc import Sequence

from anystream.connectors.broker_source import Message, MessageSource, OutMessage
from anystream.connectors.schema import Schema
from anystream.runtime.partition_progress import PartitionProgress


class MemoryBroker:
    """Messages in partitions, the position of a group in each of them, and what was written.

    Parameters
    ----------
    partitions : mapping of str to sequence of bytes
        The messages.

    Attributes
    ----------
    committed : dict of str to (int, str)
        Lowest unfinished position of each partition, and the finished ones above it.
    written : list of OutMessage
        Answers and dead letters that were written together with acknowledgements.
    """

    def __init__(self, partitions: dict[str, list[bytes]]) -> None:
        self.partitions = partitions
        self.committed: dict[str, tuple[int, str]] = {}
        self.written: list[OutMessage] = []


class MemoryBrokerSource(MessageSource):
    """Records of a `MemoryBroker`; the positions are kept as in a log: the lowest unfinished one per partition.

    Parameters
    ----------
    broker : MemoryBroker
        The broker.
    schema : Schema
        The meaning of the columns.
    """

    shares_outputs = True

    def __init__(self, broker: MemoryBroker, schema: Schema) -> None:
        super().__init__("redis://memory/memory?idle=0s", schema, report=lambda text: None)
        self._broker = broker
        self._progress: dict[str, PartitionProgress] = {}
        self._next: dict[str, int] = {}
        self.assign(broker.partitions)

    def assign(self, partitions: Sequence[str] | dict[str, list[bytes]]) -> None:
        """Begin to read partitions, where their group has left off."""
        for partition in partitions:
            low, finished = self._broker.committed.get(partition, (0, ""))
            self._progress[partition] = PartitionProgress(low, finished)
            self._next[partition] = low

    def revoke(self, partitions: Sequence[str]) -> None:
        """Hand partitions to another consumer, after everything that is finished was acknowledged."""
        self._finish()
        self._revoke(partitions)
        for partition in partitions:
            del self._progress[partition], self._next[partition]

    @property
    def done(self) -> bool:
        """Whether every message of the assigned partitions was polled."""
        waiting = any(self._next[name] < len(self._broker.partitions[name]) for name in self._next)
        return not waiting and not self._fetched and len(self._ahead) == 0

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _fetch(self, max_messages: int, wait_s: float) -> list[Message]:
        found: list[Message] = []
        for partition, progress in self._progress.items():
            messages = self._broker.partitions[partition]
            while self._next[partition] < len(messages) and len(found) < max_messages:
                position = self._next[partition]
                self._next[partition] += 1
                if progress.is_finished(position):
                    progress.skip(position)
                    continue
                progress.take(position)
                found.append(Message(partition, position, messages[position]))
        return found

    def _acknowledge(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._progress[message.partition].finish(message.position)
            self._broker.written += message.outbox
        for partition in {message.partition for message in messages}:
            progress = self._progress[partition]
            self._broker.committed[partition] = progress.low, progress.encode_finished()
