"""Answers to Kafka and the positions of their records in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anystream.connectors.broker_source import OutMessage
from anystream.connectors.kafka_client import TIMEOUT_S, ClientErrors, kafka

_FENCED = (
    kafka.KafkaError._FENCED,
    kafka.KafkaError.INVALID_PRODUCER_EPOCH,
    kafka.KafkaError.PRODUCER_FENCED,
)


class AnswerTransactions:
    """Transactions of one producer, which opens with the first of them.

    Parameters
    ----------
    settings : dict
        Of the client: servers and credentials.
    name : str
        Under which the cluster knows the producer: a new one of the same name makes it abort what is open.
    """

    def __init__(self, settings: dict[str, Any], name: str) -> None:
        self.settings = settings | {
            "transactional.id": name,
            "transaction.timeout.ms": 30_000,
            "linger.ms": 1,
            "retry.backoff.ms": 5,  # the cluster refuses a transaction while it ends the last one, a few milliseconds
        }
        self._producer: Any = None
        self._errors = ClientErrors()
        self._in_commit = False  # whether a transaction is to be committed whose result is not known

    def commit(self, answers: Sequence[OutMessage], positions: list[Any], consumer: Any) -> None:
        """Write answers and positions of a consumer, by a new producer if another one has taken its name.

        That does no harm: the group accepts the positions only while the partitions belong to this consumer.
        """
        try:
            self._commit_once(answers, positions, consumer)
        except kafka.KafkaException as error:
            if error.args[0].code() not in _FENCED:
                raise
            self._commit_once(answers, positions, consumer)

    def _commit_once(self, answers: Sequence[OutMessage], positions: list[Any], consumer: Any) -> None:
        """Write answers and positions in one transaction; after a failed call, the next one continues with it."""
        producer = self.open_producer()
        try:
            if not self._in_commit:
                producer.begin_transaction()
                for answer in answers:
                    self._produce(producer, answer)
                producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), TIMEOUT_S)
                self._in_commit = True
            producer.commit_transaction(TIMEOUT_S)
        except kafka.KafkaException as error:
            if self._in_commit and error.args[0].retriable():
                raise
            was_in_commit, self._in_commit = self._in_commit, False
            self._abort(producer)
            if not (was_in_commit and self._is_committed(positions, consumer)):
                raise
        self._in_commit = False

    def _is_committed(self, positions: Sequence[Any], consumer: Any) -> bool:
        """Whether the cluster has stored these positions, whatever the client was told."""
        self.open_producer()  # which waits for what is open
        wanted = {(found.partition, found.offset, found.metadata) for found in positions}
        places = [kafka.TopicPartition(found.topic, found.partition) for found in positions]
        stored = consumer.committed(places, timeout=TIMEOUT_S)
        return wanted == {(found.partition, found.offset, found.metadata) for found in stored}

    def _produce(self, producer: Any, answer: OutMessage) -> None:
        while True:
            try:
                producer.produce(answer.stream, answer.value, answer.key, headers=list(answer.headers))
                return
            except BufferError:  # the queue of the client is full: it sends in the meantime
                producer.poll(0.1)

    def _abort(self, producer: Any) -> None:
        try:
            producer.abort_transaction(TIMEOUT_S)
        except kafka.KafkaException:
            self._producer = None

    def open_producer(self) -> Any:
        """Return the producer; a new one after errors of its connections.

        librdkafka 2.16 may wait without end for the coordinator that a producer knew before (its bugs 5456 and 5511).
        """
        if self._producer is not None and not self._in_commit:
            self._producer.poll(0)  # calls back with errors
            if self._errors.last or self._errors.down:
                self._producer = None
        if self._producer is None:
            self._errors = ClientErrors()
            producer = kafka.Producer(self.settings | {"error_cb": self._errors.note})
            producer.init_transactions(TIMEOUT_S)
            self._producer = producer
        return self._producer
