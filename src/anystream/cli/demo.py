"""``anystream demo``: a bursty stream, live."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import typer


def demo() -> None:
    """Watch a classifier answer a bursty stream by its deadlines, in under a minute.

    Example: [bold]anystream demo[/bold]
    """
    if find_spec("anystream.demo") is None:
        raise typer.BadParameter("this installation has no demonstration; install a release of anystream")
    raise typer.Exit(import_module("anystream.demo.__main__").main([]))
