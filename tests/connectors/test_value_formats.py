"""Formats of the messages of a broker."""

import io

import msgspec
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

from anystream.connectors.memory import MemorySink
from anystream.connectors.memory_broker import MemoryBroker, MemoryBrokerSource
from anystream.connectors.schema import Column, Schema
from anystream.connectors.value_formats import make_decoder
from anystream.runtime import Engine, FixedBudget, RecordQueue
from runtime.models import Threshold


def arrow_message(rows):
    buffer = io.BytesIO()
    table = pa.Table.from_pylist(rows)
    with ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


ROWS = [{"id": "x", "a": 1.5}, {"id": "y", "a": -2.0}]


def test_json_and_messagepack_hold_one_record_and_arrow_many():
    assert make_decoder("json")(b'{"id": "x", "a": 1.5}') == ROWS[:1]
    assert make_decoder("msgpack")(msgspec.msgpack.encode(ROWS[0])) == ROWS[:1]
    assert make_decoder("arrow")(arrow_message(ROWS)) == ROWS


@pytest.mark.parametrize("name", ["json", "msgpack", "arrow"])
@pytest.mark.parametrize("value", [b"", b"\xc1", b"null", b"\xff" * 30, msgspec.msgpack.encode([1])])
def test_a_malformed_message_is_a_value_error(name, value):
    with pytest.raises(ValueError, match=r"the (line|message)"):
        make_decoder(name)(value)


def test_an_unknown_format_and_avro_without_a_schema_are_errors():
    with pytest.raises(ValueError, match="use one of json, msgpack, arrow, avro"):
        make_decoder("xml")
    pytest.importorskip("fastavro")
    with pytest.raises(ValueError, match="Avro messages need their schema"):
        make_decoder("avro")


def test_avro_is_read_by_a_schema_from_a_file_or_a_registry(tmp_path):
    fastavro = pytest.importorskip("fastavro")
    schema = (
        '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}, {"name": "a", "type": "double"}]}'
    )
    path = tmp_path / "r.avsc"
    path.write_text(schema)
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.schema.load_schema(str(path)), ROWS[0])
    body = buffer.getvalue()
    decode = make_decoder("avro", avro_schema=str(path))
    assert decode(body) == ROWS[:1]
    for damaged in (b"", body[:-1], body + b"x"):
        with pytest.raises(ValueError, match="the message is"):
            decode(damaged)

    schemas = {7: schema, 8: "{}"}
    decode = make_decoder("avro", read_schema=schemas.__getitem__)
    assert decode(b"\x00\x00\x00\x00\x07" + body) == ROWS[:1]
    with pytest.raises(ValueError, match="the schema with the number 8 cannot be read as Avro"):
        decode(b"\x00\x00\x00\x00\x08" + body)
    with pytest.raises(ValueError, match="does not begin with the number of an Avro schema"):
        decode(body)


def test_a_message_of_many_records_is_acknowledged_with_its_last_one():
    class ArrowSource(MemoryBrokerSource):
        def _make_decoder(self, value_format):
            return make_decoder("arrow")

    rows = [[{"id": f"r{10 * m + i}", "a": float(i)} for i in range(10)] for m in range(4)]
    broker = MemoryBroker({"0": [arrow_message(part) for part in rows]})
    source = ArrowSource(broker, Schema((Column("a"),), key="id"))
    sink = MemorySink()
    commits = []
    engine = Engine(Threshold(), source, sink, scheduler=FixedBudget(1), queue=RecordQueue(3))

    def watch(turn):
        engine._delivery.flush(turn.now)
        commits.append((turn.summary.answered, broker.committed.get("0", (0, ""))[0]))

    engine.watch(watch)
    summary = engine.run()
    assert (summary.answered, summary.shed, len(sink)) == (40, 0, 40)
    assert all(low <= answered // 10 for answered, low in commits)
    assert broker.committed["0"] == (4, "")
