"""``anystream demo``: a bursty stream, live."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer


def demo(
    seconds: Annotated[float, typer.Option(min=0.1, max=3600, help="Length of each of the ten runs.")] = 2.5,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the split, the model and the arrivals.")] = 0,
    plot: Annotated[bool, typer.Option(help="Write demo.png into the current folder.")] = True,
) -> None:
    """Watch a classifier answer a bursty stream by its deadlines, in under a minute.

    Example: [bold]anystream demo --seconds 1[/bold]
    """
    main = import_module("anystream.demo.__main__").main  # a room beside this one, with a door of its own
    arguments = ["--seconds", str(seconds), "--seed", str(seed)]
    raise typer.Exit(main(arguments if plot else [*arguments, "--no-plot"]))
