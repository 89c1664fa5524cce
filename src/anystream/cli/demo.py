"""``anystream demo``: a classifier under rising load, live."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    seconds: Annotated[float, typer.Option(help="Length of each of the ten runs.")] = 2.5,
    seed: Annotated[int, typer.Option(help="Seed of the split, the model and the arrivals.")] = 0,
    plot: Annotated[bool, typer.Option(help="Write demo.png into the current folder.")] = True,
    serve: Annotated[bool, typer.Option("--serve", help="Serve a dashboard with live traffic instead.")] = False,
    port: Annotated[int, typer.Option(help="Port of the dashboard, on loopback; 0 for any free one.")] = 8000,
) -> None:
    """Watch a classifier answer a bursty stream by its deadlines, in under a minute.

    Example: [bold]anystream demo --seconds 1[/bold]

    Example: [bold]anystream demo --serve[/bold]
    """
    if serve:
        from anystream.demo.serve import serve_demo

        serve_demo(port=port, seed=seed)
        return
    from anystream.demo import run_demo

    run_demo(seconds=seconds, seed=seed, plot=plot)
