"""What all clients of Kafka share: their settings, and the errors of their connections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anystream.connectors.broker_address import BrokerAddress

try:
    import confluent_kafka as kafka
except ImportError as error:  # pragma: no cover  the tests have it
    raise ImportError("Kafka needs the client confluent-kafka; install anystream[kafka]") from error

__all__ = ["TIMEOUT_S", "ClientErrors", "KafkaAwayError", "KafkaRefusedError", "kafka", "read_settings"]

TIMEOUT_S = 20.0
"""For a transaction, or an answer of the cluster."""

_TLS_SETTINGS = {"ca": "ssl.ca.location", "cert": "ssl.certificate.location", "cert_key": "ssl.key.location"}


class KafkaAwayError(OSError):
    """The cluster did not answer, or not in time."""


class KafkaRefusedError(KafkaAwayError):
    """The cluster refuses the credentials."""


class ClientErrors:
    """What a client says about its connections, which it does not raise.

    Attributes
    ----------
    last : str
        The last error that tells a cause.
    refused : bool
        Whether the cluster refuses the credentials.
    down : bool
        Whether no broker was connected since this was last set to False.
    fatal : KafkaError or None
        An error after which the client can do nothing more.
    """

    def __init__(self) -> None:
        self.last = ""
        self.refused = False
        self.down = False
        self.fatal: Any = None

    def note(self, error: Any) -> None:
        """Note an error; a callback of the client."""
        if self.is_fatal(error):
            self.fatal = error
        if error.code() == kafka.KafkaError._ALL_BROKERS_DOWN:
            self.down = True
            return
        self.last = error.str()
        self.refused = self.refused or error.code() == kafka.KafkaError._AUTHENTICATION

    @staticmethod
    def is_fatal(error: Any) -> bool:
        """Whether the client can do nothing more after this error."""
        return bool(error.fatal()) or error.code() == kafka.KafkaError._FATAL

    def raise_refusal(self) -> None:
        """Raise if the cluster refuses the credentials."""
        if self.refused:
            raise KafkaRefusedError(self.last)


def read_settings(address: BrokerAddress) -> dict[str, Any]:
    """Return the settings of a client: servers, credentials, TLS, and those of the file of the option ``settings``."""
    options = address.options
    found: dict[str, Any] = {"bootstrap.servers": address.servers, "log_level": 0}
    protocol = "SSL" if address.tls else "PLAINTEXT"
    if address.user is not None:
        protocol = "SASL_SSL" if address.tls else "SASL_PLAINTEXT"
        found |= {"sasl.username": address.user, "sasl.password": address.password or ""}
        found["sasl.mechanism"] = options.get("sasl", "SCRAM-SHA-512")
    found["security.protocol"] = protocol
    for option, name in _TLS_SETTINGS.items():
        if option in options:
            found[name] = options[option]
    if "settings" in options:
        for number, line in enumerate(Path(options["settings"]).read_text(encoding="utf-8").splitlines(), 1):
            name, equals, value = line.partition("=")
            if line.strip() and not line.lstrip().startswith("#"):
                if not equals:
                    raise ValueError(f"{options['settings']}, line {number}: write NAME=VALUE, one per line")
                found[name.strip()] = value.strip()
    return found
