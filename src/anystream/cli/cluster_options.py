"""Options of ``anystream simulate --workers``."""

# No `from __future__ import annotations`: Typer evaluates annotations of a subclass in the subclass's module.
from dataclasses import dataclass
from typing import Annotated

import typer

_PANEL = "Cluster"


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Options of a simulated cluster as they were given; `anystream.cli.cluster_run.prepare_cluster` checks them."""

    workers: Annotated[
        str | None,
        typer.Option(
            help="Simulate clusters instead of single machines: numbers of workers, such as 4,6,8; one number stands "
            "for the powers of two up to it as well.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    worker_speed: Annotated[
        float, typer.Option(help="Speed of a worker, relative to this machine.", rich_help_panel=_PANEL)
    ] = 1.0
    partitions: Annotated[int, typer.Option(help="Partitions of the stream.", rich_help_panel=_PANEL)] = 512
    skew: Annotated[
        float,
        typer.Option(
            help="Partition k has traffic in proportion to k to the power of minus this; 0 is even.",
            rich_help_panel=_PANEL,
        ),
    ] = 0.3
    stragglers: Annotated[
        int, typer.Option(help="Slow workers in each cluster, at most half of it.", rich_help_panel=_PANEL)
    ] = 1
    straggler_speed: Annotated[
        float, typer.Option(help="Speed of a slow worker, relative to the others.", rich_help_panel=_PANEL)
    ] = 0.5
    lost: Annotated[
        int, typer.Option(help="Workers that are lost at once, the busiest ones; 0 for none.", rich_help_panel=_PANEL)
    ] = 1
    lost_at: Annotated[
        str | None,
        typer.Option(help="When they are lost; default: after three tenths of the time.", rich_help_panel=_PANEL),
    ] = None
    detect: Annotated[
        str,
        typer.Option(
            help="Time until the loss is noticed and others have opened the partitions.", rich_help_panel=_PANEL
        ),
    ] = "2s"
    replayed: Annotated[
        str,
        typer.Option(
            help="Age of the last checkpoint: records of this time are classified again.", rich_help_panel=_PANEL
        ),
    ] = "1s"
    min_on_time: Annotated[
        float, typer.Option(help="Share of answers in time that is enough.", rich_help_panel=_PANEL)
    ] = 0.99
