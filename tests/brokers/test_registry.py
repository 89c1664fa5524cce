"""Avro records of Kafka whose schemas are in a real registry (Apicurio), written by the serializer of Confluent."""

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import confluent_kafka
import pytest

from brokers.outside import is_poison, make_record
from brokers.program import finish, start
from brokers.servers import HERE, Server, UnavailableError, require

FOLDER = HERE.parents[1] / "build" / "registry"  # `make test-registry` fetches it
N = 60
FIELDS = [{"name": "id", "type": "string"}, *({"name": name, "type": "double"} for name in "abc")]


class Registry(Server):
    """Apicurio, whose data are in memory."""

    scheme = "http"

    def prepare(self):
        require("java", "confluent_kafka.schema_registry.avro")
        found = sorted(FOLDER.glob("*-runner.jar"))
        if not found:
            raise UnavailableError("Apicurio is missing (make test-registry fetches it with mvn)")
        self.jar = found[-1]
        self.url = f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def client_settings(self, credentials):
        return {}

    def command(self):
        http = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self.port}"]
        return ["java", "-Xmx400m", *http, "-jar", str(self.jar)]

    def is_ready(self):
        try:
            return self.accepts() and urllib.request.urlopen(f"{self.url}/subjects", timeout=2).status == 200
        except OSError:
            return False


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    try:
        server = Registry(tmp_path_factory.mktemp("registry"))
    except UnavailableError as error:
        pytest.skip(f"the registry: {error}")
    yield server
    server.kill()


def send(kafka, registry, topic, fields, numbers):
    """Write records as Avro, by the serializer of Confluent, which registers the schema of these fields."""
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    schema = json.dumps({"type": "record", "name": "Event", "fields": fields})
    serialize = AvroSerializer(SchemaRegistryClient({"url": registry.url}), schema)
    producer = confluent_kafka.Producer({"bootstrap.servers": f"127.0.0.1:{kafka.port}"})
    names = [field["name"] for field in fields]
    for number in numbers:
        record = json.loads(make_record(number)) | {"note": "new"}
        value = serialize({name: record[name] for name in names}, SerializationContext(topic, MessageField.VALUE))
        producer.produce(topic, value)
    producer.produce(topic, b"\x00\x00\x00\xff\xffno schema has this number")
    assert producer.flush(20) == 0


def test_records_of_two_versions_of_a_schema_are_answered(kafka, registry, model, stream, outside, tmp_path):
    out, log = outside(kafka), tmp_path / "log"
    out.create(*map(stream, ("events", "answers", "dead")))
    numbers = [number for number in range(N) if not is_poison(number)]
    send(kafka, registry, stream("events"), FIELDS, numbers[::2])
    later = [*FIELDS, {"name": "note", "type": "string", "default": ""}]
    send(kafka, registry, stream("events"), later, numbers[1::2])
    source = kafka.address(stream("events"), group="g", consumer=stream("one"), idle="5s", registry=registry.url)
    command = [
        "classify", model, "--from", source, "--to", kafka.address(stream("answers")),
        "--dead-letters", kafka.address(stream("dead")), "--value-format", "avro", "--key", "id", "-q",
    ]  # fmt: skip
    assert finish(start(command, log)) == 0, log.read_text()
    answers = [json.loads(answer["value"]) for answer in out.read(stream("answers"))]
    assert sorted(answer["key"] for answer in answers) == sorted(f"r{number}" for number in numbers)
    reasons = [dict(letter["headers"])["anystream-reason"] for letter in out.read(stream("dead"))]
    assert reasons == 2 * [b"the schema registry has no schema with the number 65535"]


@pytest.fixture
def answers_of_a_registry():
    """The address of a registry, and the list of (status, body) that it answers with, the last one repeated."""
    answers = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", answers
    server.shutdown()


def test_a_registry_that_does_not_answer_is_asked_again_and_one_that_refuses_ends_the_run(answers_of_a_registry):
    from anystream.connectors.kafka_client import KafkaAwayError
    from anystream.connectors.schema_registry import SchemaRegistry

    url, answers = answers_of_a_registry
    failures = []

    def retry(call):
        while True:
            try:
                return call()
            except KafkaAwayError as error:
                failures.append(str(error))

    schema = SchemaRegistry(url, retry)
    answers += [(400, {"error_code": 40001, "message": "not now"}), (200, {"schema": "{}"})]
    assert schema.read_schema(1) == "{}"
    assert len(failures) == 1
    assert "not now" in failures[0]
    answers[:] = [(404, {"error_code": 40403, "message": "no"})]
    with pytest.raises(ValueError, match="has no schema with the number 2"):
        schema.read_schema(2)
    answers[:] = [(401, {"error_code": 40101, "message": "who"})]
    with pytest.raises(PermissionError, match="ANYSTREAM_REGISTRY_USER"):
        schema.read_schema(3)
