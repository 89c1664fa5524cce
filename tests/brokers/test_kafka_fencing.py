"""What the group of a real Kafka takes away from a consumer: its name, its transaction, its partitions."""

import itertools
import time
from contextlib import ExitStack, contextmanager

import confluent_kafka
import numpy as np
import pytest
from confluent_kafka.admin import AdminClient

from anystream.connectors.broker_source import OutMessage
from anystream.connectors.kafka import KafkaSource
from anystream.connectors.kafka_client import KafkaAwayError
from anystream.connectors.schema import Column, Schema
from anystream.runtime.partition_progress import PartitionProgress
from brokers.outside import wait_until
from brokers.program import finish, kill, start
from brokers.test_kafka import poll

SCHEMA = Schema((Column("a"), Column("b"), Column("c")), key="id")
N = 40


@pytest.fixture
def events(kafka, stream, outside):
    """The outside of a topic that holds N records, with a topic for answers."""
    out = outside(kafka)
    out.create(*map(stream, ("events", "answers")))
    send(out, stream, range(N))
    return out


def send(out, stream, numbers):
    values = [(str(number).encode(), b'{"id": "r%d", "a": 1, "b": 2, "c": 3}' % number) for number in numbers]
    out.send(stream("events"), values)
    out.flush()


@contextmanager
def opened(kafka, stream, *reports, **options):
    report = reports[0].append if reports else lambda text: None
    source = KafkaSource(kafka.address(stream("events"), group=stream("g"), **options), SCHEMA, report=report)
    yield source
    source.close()


def finish_records(source, stream, records):
    """Acknowledge records, with their keys as answers."""
    for key, offset in records.items():
        source.attach(offset, OutMessage(stream("answers"), key.encode()))
    source.acknowledge_records(np.array(list(records.values()), dtype=np.int64))


def take_and_finish(sources, stream, out, n, timeout_s=60.0, reports=()):
    """Let sources answer what they take until a reader of committed messages finds n answers."""
    until = time.monotonic() + timeout_s
    while len(found := keys(out, stream)) < n:
        state = [(source._is_member, list(source._progress), source._retry.away) for source in sources]
        assert time.monotonic() < until, f"{len(found)} of {n} records were answered; {state}, {reports}"
        for source in 10 * sources:
            source.wait(0.05)
            records = source.poll(100).records
            finish_records(source, stream, dict(zip(records.key.tolist(), records.offset.tolist(), strict=True)))
    return found


def keys(out, stream):
    return sorted(answer["value"].decode() for answer in out.read(stream("answers")))


def read_uncommitted(kafka, topic):
    """Everything in a topic, also what aborted transactions have written."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": f"127.0.0.1:{kafka.port}", "group.id": "all", "isolation.level": "read_uncommitted",
         "enable.auto.commit": False, "enable.partition.eof": True}
    )  # fmt: skip
    partitions = list(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in partitions])
    found, ended = [], set()
    while len(ended) < len(partitions):
        message = consumer.poll(10.0)
        assert message is not None
        if message.error() is None:
            found.append(message.value().decode())
        else:
            ended.add(message.partition())
    consumer.close()
    return found


def join_under_the_same_name(kafka, source):
    """Let another client join the group under the name of a source, and end; the group fences the source."""
    other = confluent_kafka.Consumer(
        {"bootstrap.servers": f"127.0.0.1:{kafka.port}", "group.id": source._group(),
         "group.instance.id": source._identity, "partition.assignment.strategy": "cooperative-sticky",
         "enable.auto.commit": False}
    )  # fmt: skip
    assigned = []
    other.subscribe([source.address.stream], on_assign=lambda consumer, partitions: assigned.append(partitions))
    wait_until(lambda: other.poll(0.1) is None and assigned)
    other.close()


def test_a_fenced_consumer_of_a_cluster_that_was_away_joins_again_and_answers_everything_once(kafka, events, stream):
    reports = []
    with opened(kafka, stream, reports, consumer="one", session_timeout="6s") as source:
        finish_records(source, stream, poll(source, N))
        kafka.crash()
        wait_until(lambda: source.wait(0.1) or any("cannot be reached" in text for text in reports))
        kafka.start()
        wait_until(lambda: source.wait(0.1) or any("is reached again" in text for text in reports))
        send(events, stream, range(N, 2 * N))
        take_and_finish([source], stream, events, 2 * N, reports=reports)  # a commit: the group has it as a member
        fenced = source._consumer
        join_under_the_same_name(kafka, source)
        send(events, stream, range(2 * N, 3 * N))
        found = take_and_finish([source], stream, events, 3 * N, reports=reports)
        assert source._consumer is not fenced
    assert found == sorted(f"r{number}" for number in range(3 * N))


def test_a_fenced_consumer_of_a_cluster_that_was_never_away_raises(kafka, events, stream):
    with opened(kafka, stream, consumer="one") as source:
        poll(source, N)
        join_under_the_same_name(kafka, source)
        with pytest.raises(ValueError, match="another process has the name 'one' in the group"):
            poll(source, 2 * N)


def test_a_fenced_producer_is_opened_again_and_its_records_are_answered_once(kafka, events, stream):
    reports = []
    with opened(kafka, stream, reports, consumer="one") as source:
        taken = poll(source, N)
        half = dict(itertools.islice(taken.items(), N // 2))
        finish_records(source, stream, half)
        fenced = source._transactions._producer
        other = confluent_kafka.Producer(source._transactions.settings)
        other.init_transactions(20)  # the same name: the cluster fences the producer of the source
        finish_records(source, stream, {key: offset for key, offset in taken.items() if key not in half})
        assert source._transactions._producer is not fenced
        assert keys(events, stream) == sorted(taken)
    assert reports == []


class Raw:
    """A message of the client, or an error in place of one."""

    def __init__(self, offset=0, error=None):
        self._offset, self._error = offset, error

    def error(self):
        return self._error

    def offset(self):
        return self._offset

    def partition(self):
        return 0

    def timestamp(self):
        return confluent_kafka.TIMESTAMP_NOT_AVAILABLE, 0

    def value(self):
        return b"{}"

    key = headers = lambda self: None


def test_errors_among_messages_lose_no_message_and_a_fatal_one_is_noted():
    codes = confluent_kafka.KafkaError
    errors = [codes(codes.UNKNOWN_TOPIC_OR_PART), codes(codes._FATAL, "fenced")]
    source = KafkaSource("kafka://127.0.0.1:1/events?group=g&consumer=one", SCHEMA, report=lambda text: None)
    source._progress["0"] = PartitionProgress(0)
    source._consume = lambda n, wait_s: [Raw(error=errors[0]), Raw(0), Raw(error=errors[1]), Raw(1)]
    assert [message.position for message in source._read(10, 0.0)] == [0, 1]
    assert source._errors.fatal is errors[1]
    source._errors.fatal = None
    source._consume = lambda n, wait_s: [Raw(error=errors[0]), Raw(error=errors[1])]
    with pytest.raises(KafkaAwayError, match="there is no topic events"):
        source._read(10, 0.0)
    assert source._errors.fatal is errors[1]
    source.close()


class RebalancedProducer:
    """A producer in whose transaction another consumer joins the group, before the positions are sent."""

    def __init__(self, producer, rebalance):
        self._producer, self._rebalance = producer, rebalance
        self.n_aborted = 0

    def __getattr__(self, name):
        return getattr(self._producer, name)

    def send_offsets_to_transaction(self, *arguments):
        self._producer.flush(20)  # the answers are in the topic, not committed
        rebalance, self._rebalance = self._rebalance, lambda: None
        rebalance()
        self._producer.send_offsets_to_transaction(*arguments)

    def abort_transaction(self, *arguments):
        self.n_aborted += 1
        self._producer.abort_transaction(*arguments)


def test_a_transaction_that_a_rebalance_catches_is_aborted_and_its_records_are_answered_once(kafka, events, stream):
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{kafka.port}"})

    def n_members():
        group = admin.describe_consumer_groups([stream("g")])[stream("g")].result(10)
        return len(group.members) if group.state == confluent_kafka.ConsumerGroupState.STABLE else 0

    with ExitStack() as sources:
        source = sources.enter_context(opened(kafka, stream))
        taken = poll(source, N)
        others = []

        def rebalance():
            others.append(sources.enter_context(opened(kafka, stream)))
            wait_until(lambda: others[0].wait(0.1) or n_members() == 2)

        source._transactions.open_producer()
        source._transactions._producer = producer = RebalancedProducer(source._transactions._producer, rebalance)
        finish_records(source, stream, taken)
        assert producer.n_aborted == 1
        assert keys(events, stream) == []
        assert sorted(read_uncommitted(kafka, stream("answers"))) == sorted(taken)
        assert take_and_finish([source, *others], stream, events, N) == sorted(taken)
        assert others[0]._progress, "the other consumer has no partition"
    assert len(read_uncommitted(kafka, stream("answers"))) >= 2 * N


def test_a_process_whose_name_another_one_takes_ends_with_code_2_and_says_so(kafka, model, events, stream, tmp_path):
    logs = [tmp_path / "first", tmp_path / "second"]
    command = [
        "classify", model, "--from", kafka.address(stream("events"), group=stream("g"), consumer="one"),
        "--to", kafka.address(stream("answers")), "--key", "id", "-q",
    ]  # fmt: skip
    first = start(command, logs[0])
    wait_until(lambda: len(events.read(stream("answers"))) == N)
    second = start(command, logs[1])
    assert finish(first) == 2
    text = logs[0].read_text()
    assert f"another process has the name 'one' in the group '{stream('g')}'" in text
    assert "give each its own with the option consumer" in text
    assert "Traceback" not in text
    send(events, stream, range(N, N + 10))
    wait_until(lambda: len(events.read(stream("answers"))) == N + 10)
    kill(second)
    assert logs[1].read_text() == ""


def test_a_source_is_not_done_while_records_are_to_be_read_again(kafka, events, stream):
    with opened(kafka, stream, consumer="one", idle="100ms") as source:
        taken = poll(source, N)
        wait_until(lambda: len(source.poll(1).records) == 0 and source.done)
        source._rewind_after_loss(list(source._progress))  # as after a transaction that the group refused
        assert not source.done
        finish_records(source, stream, poll(source, N))
        assert keys(events, stream) == sorted(taken)


def test_a_member_without_partitions_is_not_done_before_the_group_has_noticed_who_left_it(kafka, events, stream):
    with opened(kafka, stream, consumer="one", idle="100ms", session_timeout="6s") as source:
        poll(source, N)
        wait_until(lambda: len(source.poll(1).records) == 0 and source.done)
        source._forget(list(source._progress))
        time.sleep(0.2)
        assert not source.done
