"""Schemas of Avro messages from a registry with the API of Confluent's; needs ``anystream[kafka,avro]``."""

from __future__ import annotations

import os
from collections.abc import Callable

from anystream.connectors.kafka_client import KafkaAwayError

try:
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.error import SchemaRegistryError
except ImportError as error:
    raise ImportError("a schema registry needs more packages; install anystream[kafka,avro]") from error


class SchemaRegistry:
    """The schemas of a registry, by their numbers.

    User and password come from the environment variables ANYSTREAM_REGISTRY_USER and ANYSTREAM_REGISTRY_PASSWORD.

    Parameters
    ----------
    url : str
        Address of its API, such as ``http://localhost:8081``.
    retry : callable
        Returns the result of a call, which it repeats while the call raises `KafkaAwayError`.
    """

    def __init__(self, url: str, retry: Callable[[Callable[[], str]], str]) -> None:
        if "@" in url:
            raise ValueError(
                "the option registry may not hold a password, which others can see; give it in the environment "
                "variables ANYSTREAM_REGISTRY_USER and ANYSTREAM_REGISTRY_PASSWORD"
            )
        user, password = (os.environ.get(f"ANYSTREAM_REGISTRY_{name}") for name in ("USER", "PASSWORD"))
        login = {} if user is None else {"basic.auth.user.info": f"{user}:{password or ''}"}
        self._url = url
        self._client = SchemaRegistryClient({"url": url} | login)
        self._retry = retry

    def read_schema(self, number: int) -> str:
        """Return the text of a schema; ValueError if there is none with this number."""
        return self._retry(lambda: self._read(number))

    def _read(self, number: int) -> str:
        try:
            return str(self._client.get_schema(number).schema_str)
        except SchemaRegistryError as error:
            if error.http_status_code == 404:
                raise ValueError(f"the schema registry has no schema with the number {number}") from None
            if error.http_status_code in (401, 403):
                raise PermissionError(
                    f"the schema registry {self._url} refuses the credentials; give them in the environment variables "
                    "ANYSTREAM_REGISTRY_USER and ANYSTREAM_REGISTRY_PASSWORD"
                ) from error
            raise KafkaAwayError(f"the schema registry {self._url}: {error}") from error
        except Exception as error:  # of the HTTP client, which depends on the version
            raise KafkaAwayError(f"the schema registry {self._url}: {error or type(error).__name__}") from error
