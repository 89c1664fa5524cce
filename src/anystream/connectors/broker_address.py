"""Addresses of streams in brokers: ``kafka://host:9092/topic?group=g``.

A password never stands in an address, which shells and process lists show: it comes from an environment variable or
from a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

SCHEMES = {"kafka": 9092, "redis": 6379, "nats": 4222, "mqtt": 1883}
"""Kinds of brokers, with the port of each."""
_TLS_PORTS = {"mqtt": 8883}
_ADDRESS = re.compile(
    r"(?P<scheme>[a-z]+)://(?:(?P<user>[^@/?]*)@)?(?P<hosts>[^/?]*)/(?P<stream>[^?]*)(?:\?(?P<options>.*))?"
)
_PASSWORD = re.compile(r"(?<=://)([^:@/?]*):.*@")
_COMMON = ("user", "password_file", "tls", "ca", "cert", "cert_key")
_UNITS_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def is_address(text: str | None) -> bool:
    """Whether a text is the address of a stream in a broker, and no path."""
    return text is not None and text.partition("://")[0] in SCHEMES and "://" in text


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """A stream in a broker.

    Parameters
    ----------
    scheme : str
        Kind of broker.
    hosts : tuple of (str, int)
        Servers, with their ports.
    stream : str
        Topic, stream or subject.
    options : dict of str to str
        Options after the question mark.
    user, password : str, optional
        Credentials.

    Examples
    --------
    >>> address = BrokerAddress.parse("kafka://a:9092,b/events?group=g")
    >>> address.hosts, address.stream, address.options
    ((('a', 9092), ('b', 9092)), 'events', {'group': 'g'})
    >>> BrokerAddress.parse("redis://me:secret@host/events")
    Traceback (most recent call last):
    ...
    ValueError: redis://host/events: an address may not hold a password, which others can see; give it in the ...
    """

    scheme: str
    hosts: tuple[tuple[str, int], ...]
    stream: str
    options: dict[str, str]
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, text: str) -> BrokerAddress:
        """Return the address that a text holds; ValueError with a remedy if it is malformed."""
        match = _ADDRESS.fullmatch(text)
        if match is None or match["scheme"] not in SCHEMES:
            raise ValueError(
                f"{_hide_password(text)!r} is no address; write SCHEME://HOST:PORT/STREAM?OPTION=VALUE, where the "
                f"scheme is one of {', '.join(SCHEMES)}"
            )
        scheme, stream = match["scheme"], unquote(match["stream"])
        variable = f"ANYSTREAM_{scheme.upper()}_PASSWORD"
        if ":" in (match["user"] or ""):
            raise ValueError(
                f"{scheme}://{match['hosts']}/{stream}: an address may not hold a password, which others can see; give "
                f"it in the environment variable {variable}, or in a file with ?password_file=PATH"
            )
        if not stream:
            raise ValueError(
                f"{_hide_password(text)!r} names no stream; write it after the host: {scheme}://HOST/STREAM"
            )
        options = dict(parse_qsl(match["options"] or "", keep_blank_values=True))
        user = match["user"] or options.get("user") or os.environ.get(f"ANYSTREAM_{scheme.upper()}_USER") or None
        password = os.environ.get(variable)
        if "password_file" in options:
            password = Path(options["password_file"]).read_text(encoding="utf-8").rstrip("\r\n")
        port = _TLS_PORTS.get(scheme, SCHEMES[scheme]) if _is_true(options.get("tls", "")) else SCHEMES[scheme]
        hosts = tuple(_split_host(host, port, text) for host in match["hosts"].split(","))
        return cls(scheme, hosts, stream, options, user, password)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.servers}/{self.stream}"

    @property
    def servers(self) -> str:
        """The servers, as ``host:port,host:port``."""
        return ",".join(f"{host}:{port}" for host, port in self.hosts)

    @property
    def tls(self) -> bool:
        """Whether the connection is encrypted."""
        return _is_true(self.options.get("tls", ""))

    def check_options(self, known: Collection[str]) -> None:
        """Raise ValueError for an option that the broker does not have."""
        for name in self.options:
            if name not in (*_COMMON, *known):
                raise ValueError(
                    f"{self}: there is no option {name!r}; the options are {', '.join(sorted((*_COMMON, *known)))}"
                )

    def number(self, name: str, default: int) -> int:
        """Return an option that is a whole number of at least 1."""
        text = self.options.get(name)
        if text is None:
            return default
        if not text.isdecimal() or int(text) < 1:
            raise ValueError(f"{self}: the option {name} is {text!r}; use a whole number of 1 or more")
        return int(text)

    def seconds(self, name: str, default: float | None) -> float | None:
        """Return an option that is a time, such as 5s or 200ms, in seconds."""
        text = self.options.get(name)
        if text is None:
            return default
        match = re.fullmatch(r"([0-9]*\.?[0-9]+)(ms|s|m|min|h)?", text)
        if match is None:
            raise ValueError(f"{self}: the option {name} is {text!r}; write a time such as 5s or 200ms")
        return float(match[1]) * _UNITS_S[match[2] or "s"]


def _split_host(text: str, port: int, address: str) -> tuple[str, int]:
    host, colon, number = text.rpartition(":")
    if not colon:
        host, number = text, str(port)
    if not host or not number.isdecimal() or not 0 < int(number) < 65536:
        hidden = _hide_password(address)
        shown = repr(text) if hidden == address else "what follows ://"  # it may be a part of the password
        raise ValueError(f"{hidden!r}: {shown} is no server; write HOST or HOST:PORT")
    return host, int(number)


def _hide_password(text: str) -> str:
    """Return an address without what may be a password in it."""
    return _PASSWORD.sub(r"\1:***@", text)


def _is_true(text: str) -> bool:
    return text.lower() in ("1", "true", "yes", "on")
