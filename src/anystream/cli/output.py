"""Output on the terminal: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from anystream.connectors.schema import Schema

_FILE_WIDTH = 160  # characters per line where the output is not a terminal
_BLOCKS = "▁▂▃▄▅▆▇█"


def console(*, stderr: bool = False) -> Console:
    """Return a rich console on standard output or standard error; with colours only if that is a terminal."""
    tty = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, highlight=False, width=None if tty else _FILE_WIDTH)


def print_json(value: Any) -> None:
    """Print a value as one line of JSON on standard output."""
    typer.echo(json.dumps(value))


def schema_table(schema: Schema) -> Table:
    """Return a table of the columns and how each of them is used."""
    table = Table("column", "is", title="columns", title_justify="left")
    for column in schema.columns:
        if column.categories is None:
            table.add_row(column.name, "number")
        else:
            shown = ", ".join(column.categories[:6]) + (", ..." if len(column.categories) > 6 else "")
            table.add_row(column.name, f"{len(column.categories)} categories: {shown}")
    for role in ("label", "key", "time"):
        name = getattr(schema, role)
        if name is not None:
            table.add_row(name, f"{role} ({schema.label_type})" if role == "label" else role)
    return table


def sparkline(values: Sequence[float], low: float, high: float) -> str:
    """Return a curve as one line of block characters.

    Examples
    --------
    >>> sparkline([0.0, 0.5, 1.0], 0.0, 1.0)
    '▁▅█'
    """
    span = max(high - low, 1e-12)
    return "".join(_BLOCKS[min(max(round((value - low) / span * 7), 0), 7)] for value in values)
