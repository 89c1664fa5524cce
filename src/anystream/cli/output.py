"""Output on the terminal: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anystream.cli.visible_text import visible
from anystream.connectors.schema import Schema
from anystream.model_file import read_model
from anystream.models import explain_copy

_FILE_WIDTH = 160  # characters per line where the output is not a terminal
_MAX_NAME = 60  # characters of a name from data or a file
_BLOCKS = "▁▂▃▄▅▆▇█"


class PlainConsole(Console):
    """A console that prints texts as they are, brackets included, with control characters escaped.

    This holds for every line and every cell of a table, so that no name in a model or a table can run as markup or as
    an escape sequence of the terminal. Styles are arguments, such as ``print("done", style="bold")``.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Return the text to show; rich calls this for every string."""
        return super().render_str(visible(text), **options)


def console(*, stderr: bool = False) -> Console:
    """Return a console on standard output or standard error; with colours only if that is a terminal."""
    tty = (sys.stderr if stderr else sys.stdout).isatty()
    return PlainConsole(stderr=stderr, highlight=False, markup=False, emoji=False, width=None if tty else _FILE_WIDTH)


def print_json(value: Any) -> None:
    """Print a value as one line of JSON on standard output."""
    typer.echo(json.dumps(value))


def report_copied_model(path: str) -> None:
    """Say on standard error if --mmap saves no memory for this model file."""
    copied = explain_copy(read_model(path, mmap=True, verify=False))
    if copied is not None:
        print(f"anystream: warning: {visible(copied)}", file=sys.stderr)


def schema_table(schema: Schema, max_columns: int | None = None) -> Table:
    """Return a table of the columns, or of the first of them, and how each of them is used."""
    table = Table("column", "is", title="columns", title_justify="left")
    for column in schema.columns[:max_columns]:
        name = visible(column.name, _MAX_NAME)
        if column.categories is None:
            table.add_row(name, "number")
        else:
            other = " and one for all others" if column.other else ""
            table.add_row(name, f"{len(column.categories)} categories{other}: {list_names(column.categories, 6)}")
    if max_columns is not None and len(schema.columns) > max_columns:
        table.add_row("...", f"{len(schema.columns) - max_columns} more")
    for role in ("label", "key", "time"):
        name = getattr(schema, role)
        if name is not None:
            table.add_row(visible(name, _MAX_NAME), f"{role} ({schema.label_type})" if role == "label" else role)
    return table


def list_names(names: Sequence[Any], max_names: int) -> str:
    """Return the first names in one line, each at most 60 characters long."""
    shown = ", ".join(visible(str(name), _MAX_NAME) for name in names[:max_names])
    return shown + (", ..." if len(names) > max_names else "")


def sparkline(values: Sequence[float], low: float, high: float) -> str:
    """Return a curve as one line of block characters.

    Examples
    --------
    >>> sparkline([0.0, 0.5, 1.0], 0.0, 1.0)
    '▁▅█'
    """
    span = max(high - low, 1e-12)
    return "".join(_BLOCKS[min(max(round((value - low) / span * 7), 0), 7)] for value in values)
