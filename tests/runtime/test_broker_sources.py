"""Records of brokers: acknowledged one by one, in partitions that come and go, with and without checkpoints."""

import json
from dataclasses import replace

import numpy as np
import pytest

from anystream import BayesTreeClassifier
from anystream.connectors.broker_sink import BrokerDeadLetters, BrokerSink, Publisher
from anystream.connectors.file_sink import DeadLetterFile, JsonLinesSink
from anystream.connectors.memory import MemoryDeadLetters, MemorySink, MemorySource
from anystream.connectors.memory_broker import MemoryBroker, MemoryBrokerSource
from anystream.connectors.schema import Column, Schema
from anystream.runtime import (
    CheckpointError,
    CheckpointFolder,
    Engine,
    FixedBudget,
    InlineLearner,
    RecordQueue,
    RepeatingSource,
)
from runtime.models import Threshold

SCHEMA = Schema((Column("a"),), key="id")


def messages(first, n):
    return [json.dumps({"id": f"r{i}", "a": 1.0 if i % 2 else -1.0}).encode() for i in range(first, first + n)]


def engine_of(source, sink, **options):
    return Engine(Threshold(), source, sink, scheduler=FixedBudget(1), **options)


def keys(sink):
    return [key for batch in sink.batches for key in batch.key.tolist()]


class Overtaking(FixedBudget):
    """Classifies the last records of the queue first, few at a time, as earlier deadlines would."""

    def plan(self, context):
        plan = super().plan(context)
        n = len(context.queue)
        return replace(plan, rows=slice(max(n - 3, 0), n))


def test_finished_records_are_acknowledged_and_nothing_else():
    broker = MemoryBroker({"0": messages(0, 30), "1": messages(30, 20)})
    sink = MemorySink()
    engine_of(MemoryBrokerSource(broker, SCHEMA), sink).run()
    assert sorted(keys(sink)) == sorted(f"r{i}" for i in range(50))
    assert broker.committed == {"0": (30, ""), "1": (20, "")}


def test_records_that_overtake_are_not_answered_again_by_the_next_consumer():
    broker = MemoryBroker({"0": messages(0, 40), "1": messages(40, 40)})
    sink = MemorySink()
    source = MemoryBrokerSource(broker, SCHEMA)
    engine = Engine(Threshold(), source, sink, scheduler=Overtaking(1), queue=RecordQueue(25))

    def die(turn):
        engine._delivery.flush(turn.now)
        if turn.summary.answered >= 33:
            raise KeyboardInterrupt

    engine.watch(die)
    with pytest.raises(KeyboardInterrupt):
        engine.run()
    assert any(finished for _, finished in broker.committed.values())  # some overtook the lowest unfinished one
    rest = MemorySink()
    engine_of(MemoryBrokerSource(broker, SCHEMA), rest).run()
    assert sorted(keys(sink) + keys(rest)) == sorted(f"r{i}" for i in range(80))


def test_a_revoked_partition_leaves_the_queue_and_another_consumer_answers_it():
    broker = MemoryBroker({"0": messages(0, 50), "1": messages(50, 50)})
    sink = MemorySink()
    source = MemoryBrokerSource(broker, SCHEMA)
    engine = Engine(Threshold(), source, sink, scheduler=Overtaking(1), queue=RecordQueue(70))

    def revoke(turn):
        if turn.summary.answered >= 9 and not source.done and "1" in source._progress:
            source.revoke(["1"])

    engine.watch(revoke)
    summary = engine.run()
    rest = MemorySink()
    source = MemoryBrokerSource(broker, SCHEMA)
    source.revoke(["0"])
    engine_of(source, rest).run()
    assert sorted(keys(sink) + keys(rest)) == sorted(f"r{i}" for i in range(100))
    assert (summary.taken, summary.answered) == (len(sink), len(sink))


def run_with_files(broker, folder, *, fail_after=None):
    checkpoint = CheckpointFolder(folder / "checkpoint", every_records=10, every_s=1e9)
    state = checkpoint.load()
    model = state.model if state else BayesTreeClassifier(n_jobs=1).fit([[-1.0], [1.0]], [0, 1])
    source = MemoryBrokerSource(broker, SCHEMA)
    engine = Engine(
        InlineLearner(model, every=7),
        source,
        JsonLinesSink(folder / "answers.jsonl", resume=state is not None),
        dead_letters=DeadLetterFile(folder / "dead.jsonl", resume=state is not None),
        scheduler=Overtaking(1),
        queue=RecordQueue(20),
        checkpoint=checkpoint,
    )
    if state is not None:
        engine.resume(state)
    if fail_after is not None:
        done = engine.summary.answered

        def die(turn):
            if turn.summary.answered >= done + fail_after:
                raise KeyboardInterrupt

        engine.watch(die)
    return engine.run()


def test_a_run_that_ends_anywhere_has_every_answer_of_a_broker_once_in_its_file(tmp_path):
    content = messages(0, 90)
    content[13] = b"malformed"
    broker = MemoryBroker({"0": content[:50], "1": content[50:]})
    ends = 0
    while True:
        try:
            run_with_files(broker, tmp_path, fail_after=17)
            break
        except KeyboardInterrupt:
            ends += 1
    assert ends >= 3
    answers = [json.loads(line)["key"] for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert sorted(answers) == sorted(f"r{i}" for i in range(90) if i != 13)
    (letter,) = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert letter["origin"] == {
        "broker": "redis", "stream": "memory", "partition": "0", "position": "13", "value_base64": "bWFsZm9ybWVk"
    }  # fmt: skip


def test_a_checkpoint_of_a_file_is_refused_for_a_broker_and_the_other_way_round(tmp_path):
    source = MemorySource([[1.0]] * 30)
    model = BayesTreeClassifier(n_jobs=1).fit([[-1.0], [1.0]], [0, 1])

    def engine(source):
        checkpoint = CheckpointFolder(tmp_path / "checkpoint", every_records=10)
        return Engine(model, source, MemorySink(), scheduler=FixedBudget(1), checkpoint=checkpoint), checkpoint

    engine(source)[0].run()
    broker = MemoryBroker({"0": messages(0, 30)})
    other, folder = engine(MemoryBrokerSource(broker, SCHEMA))
    with folder, pytest.raises(CheckpointError, match="the run read a file; give the input of that run"):
        other.resume(folder.load())
    with folder:
        folder.clear()
    other.run()
    back, folder = engine(MemorySource([[1.0]] * 30))
    with folder, pytest.raises(CheckpointError, match="the run read a broker"):
        back.resume(folder.load())


class ListPublisher(Publisher):
    """Publishes to a list."""

    def __init__(self, address):
        super().__init__(address)
        self.sent = []

    def _send(self, messages):
        self.sent += messages


def test_answers_to_the_same_broker_are_written_with_the_acknowledgement():
    content = messages(0, 12)
    content[4] = b"[]"
    broker = MemoryBroker({"0": content})
    source = MemoryBrokerSource(broker, SCHEMA)
    publisher = ListPublisher("redis://memory/answers")
    dead = ListPublisher("redis://memory/dead")
    sink = BrokerSink(publisher, source=source)
    engine_of(source, sink, dead_letters=BrokerDeadLetters(dead, source=source)).run()
    assert (publisher.sent, dead.sent) == ([], [])
    answers = [message for message in broker.written if message.stream == "answers"]
    assert sorted(json.loads(message.value)["key"] for message in answers) == sorted(
        f"r{i}" for i in range(12) if i != 4
    )
    (letter,) = [message for message in broker.written if message.stream == "dead"]
    assert letter.value == b"[]"
    assert dict(letter.headers)["anystream-origin"] == b"redis:memory:0:4"
    assert b"JSON list" in dict(letter.headers)["anystream-reason"]


def test_answers_to_another_broker_are_written_before_the_acknowledgement():
    broker = MemoryBroker({"0": messages(0, 12)})
    source = MemoryBrokerSource(broker, SCHEMA)
    publisher = ListPublisher("redis://elsewhere/answers")

    def refuse(messages):
        assert not broker.committed
        publisher.sent += messages

    publisher._send = refuse
    engine_of(source, BrokerSink(publisher, source=source)).run()
    assert len(publisher.sent) == 12
    assert broker.committed == {"0": (12, "")}


def test_an_invalid_record_keeps_its_bytes_and_its_origin():
    content = [b'{"id": "r0", "a": 1e999}', b'{"id": "r1", "a": "word"}', b'{"id": "r2", "a": 1}']
    dead_letters = MemoryDeadLetters()
    source = MemoryBrokerSource(MemoryBroker({"7": content}), SCHEMA)
    summary = engine_of(source, MemorySink(), dead_letters=dead_letters).run()
    assert (summary.answered, summary.dead_letters) == (1, 2)
    assert {(found.origin.partition, found.origin.position, found.origin.value) for found in dead_letters.rejected} == {
        ("7", "0", content[0]),
        ("7", "1", content[1]),
    }
    assert summary.first_bad[0].startswith("redis:memory:7:")


def test_a_full_queue_keeps_polling_for_the_sake_of_the_group():
    broker = MemoryBroker({"0": messages(0, 40)})
    source = MemoryBrokerSource(broker, SCHEMA)
    served = []
    source._serve = lambda: served.append(1)
    engine = Engine(Threshold(), source, MemorySink(), scheduler=Overtaking(1), queue=RecordQueue(5))
    assert [n_polled for n_polled, _ in engine._intake.take(0.0)] == [5]
    assert (list(engine._intake.take(0.0)), served) == ([], [1])
    assert engine.run().answered == 40


def polled_sizes(source):
    """Return a list that will hold the size of every poll."""
    sizes, poll = [], source.poll
    source.poll = lambda max_records: sizes.append(max_records) or poll(max_records)
    return sizes


@pytest.mark.parametrize("overflow", ["answer_now", "shed_newest"])
def test_a_large_backlog_is_taken_in_pieces_and_every_record_is_finished(overflow):
    source, sink, dead_letters = RepeatingSource(np.ones((7, 1)), None, 50_000), MemorySink(), MemoryDeadLetters()
    sizes = polled_sizes(source)
    engine = engine_of(source, sink, queue=RecordQueue(20_000, overflow), dead_letters=dead_letters)
    summary = engine.run()
    assert max(sizes) == 4096
    assert sizes[:5] == [4096, 4096, 4096, 4096, 20_000 - 4 * 4096]
    assert summary.taken == summary.answered + summary.shed == 50_000
    finished = keys(sink) + [rejected.key for rejected in dead_letters.rejected]
    assert sorted(finished) == list(range(50_000))


def test_evicted_records_are_finished_before_more_are_read():
    source, shed = RepeatingSource(np.ones((7, 1)), None, 24_000), []
    engine = engine_of(source, MemorySink(), queue=RecordQueue(12_000, "shed_newest"))
    poll = source.poll
    source.poll = lambda max_records: shed.append(engine.summary.shed) or poll(max_records)
    assert [engine._take_records(0.0)[0] for _ in range(2)] == [12_000, 12_000]
    assert shed == [0, 0, 0, 0, 4096, 8192]


def test_a_broker_is_polled_once_in_a_turn():
    source = MemoryBrokerSource(MemoryBroker({"0": messages(0, 12)}), SCHEMA)
    sizes = polled_sizes(source)
    engine = engine_of(source, MemorySink(), queue=RecordQueue(20_000, "answer_now"))
    assert [n_polled for n_polled, _ in engine._intake.take(0.0)] == [12]
    assert sizes == [20_000]
