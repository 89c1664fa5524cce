"""Throughput on real brokers: CPU time of ``anystream classify`` beside the client library that reads alone.

Run as a program: ``PYTHONPATH=tests python -m benchmarks.brokers redis kafka nats mqtt``; `make test-brokers` sets up what it needs.
"""

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.table import machine
from brokers.outside import OUTSIDE, make_training_table
from brokers.program import finish, finish_timed, fork, start
from brokers.servers import SERVERS, UnavailableError

N_RECORDS = 20_000


def record(number):
    return f'{{"id": "r{number}", "a": {number % 7}, "b": {number % 5}, "c": {number % 3}}}'.encode()


def fill(server):
    outside = OUTSIDE[server.scheme](server)
    outside.create("events", "answers")
    if server.scheme == "mqtt":
        for name in ("alone", "one"):
            outside.subscribe_session(name, "events")
    outside.send("events", [(str(number).encode(), record(number)) for number in range(N_RECORDS)])
    if hasattr(outside, "flush"):
        outside.flush()


def read_redis(server):
    import redis

    client, found = redis.Redis(port=server.port), 0
    client.xgroup_create("events", "alone", "0")
    while found < N_RECORDS:
        for _, entries in client.xreadgroup("alone", "c", {"events": ">"}, count=1000):
            found += len(entries)
            client.xack("events", "alone", *(identifier for identifier, _ in entries))


def read_kafka(server):
    import confluent_kafka

    settings = {"bootstrap.servers": f"127.0.0.1:{server.port}", "group.id": "alone", "auto.offset.reset": "earliest"}
    client, found = confluent_kafka.Consumer(settings), 0
    client.subscribe(["events"])
    while found < N_RECORDS:
        found += len(client.consume(1000, timeout=0.1))
    client.commit(asynchronous=False)
    client.close()


def read_nats(server):
    import asyncio

    import nats

    async def read():
        client = await nats.connect(f"nats://127.0.0.1:{server.port}")
        subscription = await client.jetstream().pull_subscribe("events", "alone")
        found = 0
        while found < N_RECORDS:
            messages = await subscription.fetch(256, timeout=5)
            found += len(messages)
            for message in messages:
                await message.ack()
        await client.close()

    asyncio.run(read())


def read_mqtt(server):
    outside, found = OUTSIDE["mqtt"](server), []
    client = outside._client("alone", clean=False)
    client.on_message = lambda client, data, message: found.append(1)
    client.loop_start()
    while len(found) < N_RECORDS:
        time.sleep(0.01)
    client.disconnect()
    client.loop_stop()


READ = {"redis": read_redis, "kafka": read_kafka, "nats": read_nats, "mqtt": read_mqtt}
OPTIONS = {"redis": "group=g", "kafka": "group=g", "nats": "durable=g", "mqtt": "client=one"}


def cpu_of(child):
    """Seconds of CPU that a process has used when it ends."""
    code, cpu_s = finish_timed(child, 600)
    assert code == 0
    return cpu_s


def do_nothing(server):
    """What a process costs without any records: a fork, and the import of nothing."""


def measure(name, folder):
    """Seconds of CPU of the client that reads alone, and of classify with answers to the same broker."""
    log = folder / "log"
    server = SERVERS[name](folder / "server")
    try:
        make_training_table(folder / "train.csv")
        model = folder / "model.safetensors"
        fit = ["fit", folder / "train.csv", "--label", "class", "--key", "id", "-o", model]
        assert finish(start(fit, log)) == 0, log.read_text()
        assert finish(fork(log, fill, server), 300) == 0, log.read_text()
        alone_s = cpu_of(fork(log, READ[name], server)) - cpu_of(fork(log, do_nothing, server))
        address = server.address("events") + f"?{OPTIONS[name]}&idle=2s"
        arguments = [
            "classify",
            model,
            "--from",
            address,
            "--to",
            server.address("answers"),
            "--key",
            "id",
            "--budget",
            "10",
            "-q",
        ]
        return alone_s, cpu_of(start(arguments, log))
    finally:
        server.kill()


def main():
    print(
        f"us of CPU per record, and records/s of one core; {N_RECORDS} records of 3 features, 10 steps, start included; "
        f"{machine()}"
    )
    print(f"{'broker':8} {'client alone':>24} {'anystream':>24}")
    for name in sys.argv[1:] or list(SERVERS):
        with tempfile.TemporaryDirectory() as folder:
            try:
                alone_s, ours_s = measure(name, Path(folder))
            except UnavailableError as error:
                print(f"{name:8} skipped: {error}")
                continue
        cells = [f"{1e6 * cpu_s / N_RECORDS:10.1f} us {N_RECORDS / cpu_s:9.0f}/s" for cpu_s in (alone_s, ours_s)]
        print(f"{name:8} {cells[0]:>24} {cells[1]:>24}", flush=True)


if __name__ == "__main__":
    main()
