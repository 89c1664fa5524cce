"""``anystream replay``: dead letters of a broker, sent again byte for byte."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

_PORTION = 500  # messages sent at a time


def replay(
    path: Annotated[str, typer.Argument(metavar="DEAD_LETTERS", help="File of dead letters, as classify writes it.")],
    to_address: Annotated[
        str, typer.Option("--to", help="Address that the messages are sent to, such as kafka://HOST/TOPIC.")
    ],
    give_up_after: Annotated[
        str | None, typer.Option(help="Time without the broker, such as 1m, after which the command ends.")
    ] = None,
) -> None:
    """Send the dead letters of a broker again: value, key and headers as they came, byte for byte.

    Example: [bold]anystream replay dead.jsonl --to redis://HOST/events[/bold]
    """
    from anystream.cli.durations import parse_duration
    from anystream.connectors.broker_address import BrokerAddress
    from anystream.connectors.broker_source import OutMessage
    from anystream.connectors.brokers import open_publisher

    stream = BrokerAddress.parse(to_address).stream
    letters = list(_read_letters(path))
    origins = [letter["origin"] for letter in letters if "origin" in letter]
    messages = [OutMessage(stream, *_read_message(origin)) for origin in origins]
    publisher = open_publisher(
        to_address, give_up_after_s=None if give_up_after is None else parse_duration(give_up_after)
    )
    for first in range(0, len(messages), _PORTION):
        publisher.publish(messages[first : first + _PORTION])
    publisher.close()
    typer.echo(f"{len(messages)} messages sent to {to_address}", err=True)
    if len(messages) < len(letters):
        typer.echo(
            f"{len(letters) - len(messages)} dead letters have no original bytes, because they came from a file; "
            "correct them there",
            err=True,
        )


def _read_letters(path: str) -> Iterator[dict[str, Any]]:
    """Yield the dead letters of a file; ValueError names the first line that is none."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                letter = json.loads(line)
            except ValueError:
                letter = None
            if not isinstance(letter, dict) or "reason" not in letter:
                raise ValueError(
                    f"{path}, line {number}: this is no dead letter; give a file that classify has written"
                )
            yield letter


def _read_message(origin: dict[str, Any]) -> tuple[bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]:
    """Return value, key and headers of a message."""
    value, key = (
        None if origin.get(name) is None else base64.b64decode(origin[name]) for name in ("value_base64", "key_base64")
    )
    headers = tuple((name, base64.b64decode(content)) for name, content in origin.get("headers_base64", ()))
    return value, key, headers
