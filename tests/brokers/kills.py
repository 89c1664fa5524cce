"""Kills of consumers and of the broker, at random points, and the history that remains.

Run as a program: ``python -m brokers.kills redis --kills 100`` (with ``tests`` on the path; see ``make kill-brokers``).
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from brokers.history import check_history
from brokers.outside import OUTSIDE, make_record, make_training_table
from brokers.program import finish, fork, kill, start
from brokers.servers import SERVERS

IDLE = "3s"
RECEIVE_MAX = 200  # of MQTT: messages that are in work, and so may be answered twice, when a connection ends
PROMISES = {"redis": 0, "kafka": 0, "nats": 0, "mqtt": RECEIVE_MAX}  # duplicates that are allowed per kill


def consumer_options(name, consumer):
    """Options of the address by which a restarted consumer is recognised."""
    if name == "redis":
        return {"group": "g", "consumer": consumer, "claim_after": "2s", "max_deliveries": 1000}
    if name == "kafka":
        return {"group": "g", "consumer": consumer, "session_timeout": "6s"}
    if name == "nats":
        return {"durable": "d", "ack_wait": "2s", "max_deliveries": 1000}
    return {"client": consumer, "receive_max": RECEIVE_MAX}


def classify_command(server, folder, consumer, *, idle=None):
    options = consumer_options(server.scheme, consumer) | ({"idle": idle} if idle else {})
    return [
        "classify", folder / "model.safetensors",
        "--from", server.address("events", **options),
        "--to", server.address("answers"),
        "--dead-letters", server.address("dead"),
        "--key", "id", "--label", "class",
        "--learn", "--checkpoint", folder / f"checkpoint-{consumer}", "--checkpoint-every", "200 records",
        "--within", "50ms", "-q",
    ]  # fmt: skip


def create_streams(server):
    outside = OUTSIDE[server.scheme](server)
    outside.create("events", "answers", "dead")
    if server.scheme == "mqtt":
        outside.subscribe_session("one", "events")


def send_slowly(server, n_records, per_s, stream="events", first=0):
    outside = OUTSIDE[server.scheme](server)
    if hasattr(outside, "send_all"):
        numbered = ((str(number).encode(), make_record(number)) for number in range(first, n_records))
        outside.send_all(stream, numbered, per_s)
        return
    began = time.monotonic()
    for number in range(first, n_records):
        time.sleep(max(began + (number - first) / per_s - time.monotonic(), 0.0))
        outside.send(stream, [(str(number).encode(), make_record(number))])
    outside.flush() if hasattr(outside, "flush") else None


def run(name, folder, *, kills, seed=0, per_s=400, broker_kills=0, second=False, say=lambda text: None):
    """Kill consumers at random points while records are sent; return the verdict."""
    folder = Path(folder)
    assert not (second and name == "mqtt"), "a second subscriber of MQTT has every message as well: there are no groups"
    server = SERVERS[name](folder / "server")
    dice = random.Random(seed)
    log = folder / "log"
    try:
        table = folder / "train.csv"
        make_training_table(table)
        fit = ["fit", table, "--label", "class", "--key", "id", "-o", folder / "model.safetensors"]
        assert finish(start(fit, log)) == 0, log.read_text()
        assert finish(fork(log, create_streams, server)) == 0, log.read_text()
        pauses = [dice.uniform(0.1, 1.0) for _ in range(kills)]
        n_records = int(per_s * (sum(pauses) + 1.0))
        feeder = fork(log, send_slowly, server, n_records, per_s)
        kill_broker_at = set(dice.sample(range(kills), min(broker_kills, kills)))
        n_killed, other = 0, None
        for at, pause in enumerate(pauses):
            child = start(classify_command(server, folder, "one"), log)
            if second and other is None:
                other = start(classify_command(server, folder, "two"), log)
            time.sleep(pause)
            n_killed += kill(child)
            if other is not None and dice.random() < 0.5:  # the other one leaves, half of the time without a word
                os.kill(other, dice.choice([signal.SIGTERM, signal.SIGKILL]))
                finish(other, 60)
                other = None
            if at in kill_broker_at:
                server.crash()
                server.start()
            if at % 10 == 9:
                say(f"{name}: {at + 1} kills")
        if other is not None:
            kill(other)
        assert finish(feeder, 600) == 0, log.read_text()[-3000:]
        for consumer in ("one", "two") if second else ("one",):
            code = finish(start(classify_command(server, folder, consumer, idle=IDLE), log), 300)
            assert code == 0, log.read_text()[-3000:]
        outside = OUTSIDE[name](server)
        sent = {number: make_record(number) for number in range(n_records)}
        verdict = check_history(sent, outside.read("answers"), outside.read("dead"))
        return verdict, n_killed
    finally:
        server.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("broker", choices=sorted(SERVERS))
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--broker-kills", type=int, default=0)
    parser.add_argument("--second", action="store_true", help="a second consumer joins and leaves")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        verdict, n_killed = run(
            options.broker,
            folder,
            kills=options.kills,
            seed=options.seed,
            broker_kills=options.broker_kills,
            second=options.second,
            say=lambda text: print(text, flush=True),
        )
        log = (Path(folder) / "log").read_text()
    print(f"{options.broker}: {n_killed} kills, {options.broker_kills} of the broker: {verdict}")
    if verdict.lost or verdict.wrong or verdict.changed or verdict.duplicates > n_killed * PROMISES[options.broker]:
        print(log[-3000:])
        sys.exit(1)


if __name__ == "__main__":
    main()
