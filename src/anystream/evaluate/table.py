"""Tables for terminals, logs and files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table


def build_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table with text in the first column and numbers in the others."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE, show_header=any(header), pad_edge=False)
    for column, name in enumerate(header):
        table.add_column(name, justify="left" if column == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def render_text(renderable: Any) -> str:
    """Return what `rich` would print as plain text, without truncation to the width of a terminal."""
    out = io.StringIO()
    Console(file=out, width=500, color_system=None, legacy_windows=False).print(renderable)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).strip("\n")
