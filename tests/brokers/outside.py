"""What stands outside of the classifier: producers of records, and readers of everything that was written."""

import asyncio
import json
import random
import time

HEADER = {"sent-by": "outside"}  # of every message; an answer has it, too
POISON = [b"not JSON", b"[1, 2]", b'{"id": "x"}', b'{"id": "y", "a": "word", "b": 1, "c": 2}', b"\xff\xfe\x00"]


def make_record(number, seed=0):
    """The message of a record: three Gaussians with labels; every 50th is malformed and carries its number as key."""
    dice = random.Random(seed * 1_000_003 + number)
    if number % 50 == 49:
        return POISON[number // 50 % len(POISON)]
    label = dice.randrange(3)
    x = [dice.gauss(mean, 1.0) for mean in (2 * label, label, -label)]
    record = {"id": f"r{number}", "a": x[0], "b": x[1], "c": x[2]}
    if number % 5:
        record["class"] = f"c{label}"
    return json.dumps(record).encode()


def make_training_table(path, n=200):
    lines = ["id,a,b,c,class"]
    for number in range(n):
        dice = random.Random(-number - 1)
        label = dice.randrange(3)
        x = [dice.gauss(mean, 1.0) for mean in (2 * label, label, -label)]
        lines.append(f"t{number},{x[0]:.4f},{x[1]:.4f},{x[2]:.4f},c{label}")
    path.write_text("\n".join(lines) + "\n")


def is_poison(number):
    return number % 50 == 49


class RedisOutside:
    """Producer and reader of Redis streams."""

    def __init__(self, server):
        import redis
        from redis.backoff import ConstantBackoff
        from redis.retry import Retry

        retry = Retry(ConstantBackoff(0.1), 200, (redis.ConnectionError, redis.TimeoutError))
        self.client = redis.Redis(port=server.port, retry=retry, **server.client)

    def create(self, *streams):
        """Nothing: a stream appears with its first entry."""

    def send(self, stream, messages):
        """Write (key, value) pairs; a number may come twice if the broker is killed, as with any producer."""
        for key, value in messages:
            self.client.xadd(stream, {"value": value, "key": key, **HEADER})

    def send_all(self, stream, numbered, per_s):
        """Write pairs at a rate, their numbers as ids: one that is sent again after a kill is stored once."""
        import redis

        began = time.monotonic()
        for place, (key, value) in enumerate(numbered):
            time.sleep(max(began + place / per_s - time.monotonic(), 0.0))
            try:
                self.client.xadd(stream, {"value": value, "key": key, **HEADER}, id=f"{int(key) + 1}-1")
            except redis.ResponseError as error:
                if "equal or smaller" not in str(error):
                    raise

    def read(self, stream):
        """Everything in a stream, as dictionaries of value, key and headers."""
        found = []
        for _, fields in self.client.xrange(stream):
            headers = {name.decode(): content for name, content in fields.items() if name not in (b"value", b"key")}
            found.append({"value": fields.get(b"value"), "key": fields.get(b"key"), "headers": headers})
        return found

    def unfinished(self, stream, group):
        """Messages that are neither finished nor read."""
        info = self.client.xinfo_groups(stream)[0]
        return info["pending"] + (info["lag"] or 0)


class KafkaOutside:
    """Producer and reader of Kafka topics; the reader sees committed messages only."""

    def __init__(self, server):
        self.settings = {"bootstrap.servers": f"127.0.0.1:{server.port}", "log_level": 0, **server.client}
        self.producer = None

    def create(self, *streams):
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient(self.settings)
        for future in admin.create_topics([NewTopic(name, 3, 1) for name in streams]).values():
            future.result(30)

    def send(self, stream, messages):
        from confluent_kafka import Producer

        if self.producer is None:
            self.producer = Producer(self.settings | {"enable.idempotence": True, "linger.ms": 5})
        for key, value in messages:
            self.producer.produce(stream, value, key, headers=list(HEADER.items()))
        self.producer.poll(0)

    def flush(self):
        assert self.producer is None or self.producer.flush(60) == 0

    def read(self, stream):
        from confluent_kafka import Consumer, TopicPartition

        self.flush()
        consumer = Consumer(
            self.settings
            | {"group.id": "reader", "isolation.level": "read_committed", "enable.auto.commit": False,
               "enable.partition.eof": True}
        )  # fmt: skip
        partitions = list(consumer.list_topics(stream, timeout=10).topics[stream].partitions)
        consumer.assign([TopicPartition(stream, number, 0) for number in partitions])
        found, ended = [], set()
        until = time.monotonic() + 60
        while len(ended) < len(partitions):
            assert time.monotonic() < until, f"{stream} has no end"
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error() is not None:
                ended.add(message.partition())
                continue
            headers = dict(message.headers() or ())
            found.append({"value": message.value(), "key": message.key(), "headers": headers})
        consumer.close()
        return found


class NatsOutside:
    """Producer and reader of JetStream."""

    def __init__(self, server):
        self.url = f"nats://127.0.0.1:{server.port}"
        self.settings = {"max_reconnect_attempts": -1, "reconnect_time_wait": 0.1, **server.client}

    def _run(self, call):
        import nats

        async def ignore(error):
            pass

        async def run():
            client = await nats.connect(self.url, error_cb=ignore, **self.settings)
            try:
                return await call(client.jetstream(timeout=5))
            finally:
                await client.close()

        return asyncio.run(run())

    def create(self, *streams):
        async def call(jetstream):
            for name in streams:
                await jetstream.add_stream(name=name.replace(".", "_"), subjects=[name])

        self._run(call)

    def send(self, stream, messages):
        async def call(jetstream):
            for key, value in messages:
                for _ in range(100):
                    try:
                        number = key.decode()
                        headers = {"key": number, "Nats-Msg-Id": f"sent-{number}", **HEADER}
                        await jetstream.publish(stream, value, headers=headers)
                        break
                    except Exception:
                        await asyncio.sleep(0.1)
                else:
                    raise RuntimeError("the server never came back")

        self._run(call)

    def send_all(self, stream, numbered, per_s):
        """Like `send`, over one connection and at a rate."""
        began = time.monotonic()

        def slowly():
            for number, (key, value) in enumerate(numbered):
                time.sleep(max(began + number / per_s - time.monotonic(), 0.0))
                yield key, value

        self.send(stream, slowly())

    def read(self, stream):
        async def call(jetstream):
            info = await jetstream.stream_info(stream.replace(".", "_"))
            found = []
            subscription = await jetstream.subscribe(stream, ordered_consumer=True)
            for _ in range(info.state.messages):
                message = await subscription.next_msg(timeout=10)
                headers = {name: text.encode() for name, text in (message.headers or {}).items()}
                key = headers.pop("key", None)
                found.append({"value": message.data, "key": key, "headers": headers})
            await subscription.unsubscribe()
            return found

        return self._run(call)


class MqttOutside:
    """Producer of MQTT; the reader's sessions are made by `create`, so that nothing is missed."""

    def __init__(self, server):
        self.port = server.port
        self.settings = server.client
        self.producer = None

    def _client(self, name, clean):
        import paho.mqtt.client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = 0 if clean else 3600
        client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=mqtt.MQTTv5)
        client.max_inflight_messages_set(20)
        if self.settings:
            client.tls_set(**self.settings["tls"])
            client.username_pw_set(*self.settings["user"])
        client.connect("127.0.0.1", self.port, clean_start=clean, properties=properties)
        return client

    def create(self, *streams):
        """Subscribe the reader of each stream, and the consumer's session, before anything is sent."""
        for stream, names in ((name, [f"reader-{name}"]) for name in streams):
            for name in names:
                client = self._client(name, clean=False)
                client.loop_start()
                wait_until(client.is_connected)
                done = []
                client.on_subscribe = lambda *ignored, done=done: done.append(1)
                client.subscribe(stream, qos=1)
                wait_until(lambda done=done: done)
                client.disconnect()
                client.loop_stop()

    def subscribe_session(self, name, stream):
        """Make the session of a consumer, so that messages wait for it."""
        client = self._client(name, clean=False)
        client.loop_start()
        wait_until(client.is_connected)
        done = []
        client.on_subscribe = lambda *ignored: done.append(1)
        client.subscribe(stream, qos=1)
        wait_until(lambda: done)
        client.disconnect()
        client.loop_stop()

    def send(self, stream, messages):
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        if self.producer is None:
            self.producer = self._client(f"producer-{time.monotonic_ns()}", clean=True)
            self.sent, self.confirmed = set(), set()
            self.producer.on_publish = lambda client, data, number, *ignored: self.confirmed.add(number)
            self.producer.loop_start()
        for key, value in messages:
            properties = Properties(PacketTypes.PUBLISH)
            properties.UserProperty = [("key", key.decode()), *HEADER.items()]
            self.sent.add(self.producer.publish(stream, value, qos=1, properties=properties).mid)

    def flush(self):
        if self.producer is not None:
            wait_until(lambda: self.sent <= self.confirmed, 60)

    def read(self, stream):
        """What waits in the session of the reader; a second call returns what came since."""
        self.flush()
        found, last = [], [time.monotonic()]

        def keep(client, data, message):
            pairs = dict(getattr(message.properties, "UserProperty", None) or ())
            key = pairs.pop("key", "")
            headers = {name: text.encode() for name, text in pairs.items()}
            found.append({"value": message.payload, "key": key.encode(), "headers": headers})
            last[0] = time.monotonic()

        client = self._client(f"reader-{stream}", clean=False)
        client.on_message = keep
        client.loop_start()
        wait_until(lambda: time.monotonic() - last[0] > 2.0, 120)
        client.disconnect()
        client.loop_stop()
        return found


OUTSIDE = {"redis": RedisOutside, "kafka": KafkaOutside, "nats": NatsOutside, "mqtt": MqttOutside}


def wait_until(condition, timeout_s=30.0, every_s=0.05):
    """Wait until a condition holds; AssertionError after a while."""
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until, "the condition never held"
        time.sleep(every_s)
