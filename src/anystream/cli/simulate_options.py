"""Options of ``anystream simulate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from anystream.cli.cluster_options import ClusterOptions
from anystream.cli.options import AsJson, LabelColumn, ModelPath, Overflow, QueueCapacity, UnknownCategories


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(ClusterOptions):
    """Options of the command as they were given; `anystream.cli.simulate_run.prepare_simulation` checks them."""

    model: ModelPath
    rate: Annotated[float, typer.Option(help="Records per second between bursts.")] = 1000.0
    burst: Annotated[
        str, typer.Option(help="Rate during bursts, as a multiple of --rate (10x) or in records per second.")
    ] = "10x"
    burst_time: Annotated[str, typer.Option(help="Length of a burst.")] = "1s"
    every: Annotated[str, typer.Option(help="Time from one burst to the next.")] = "10s"
    workload: Annotated[str, typer.Option(help="spikes (workload A of LOCUST) or steps (workload B).")] = "spikes"
    within: Annotated[str, typer.Option(help="Time from the arrival of a record to its deadline.")] = "50ms"
    target_wait: Annotated[
        str | None,
        typer.Option(
            help="Choose steps by LOCUST's queue rule with this target waiting time, instead of by the deadlines."
        ),
    ] = None
    duration: Annotated[str, typer.Option(help="Length of the simulated time.")] = "10s"
    data: Annotated[str | None, typer.Option(help="Table of typical records; with labels, accuracy is reported.")] = (
        None
    )
    label_column: LabelColumn = None
    unknown: UnknownCategories = "missing"
    machines: Annotated[str, typer.Option(help="Speeds of machines, relative to this one.")] = "0.25,0.5,1,2,4"
    queue_capacity: QueueCapacity = 100_000
    overflow: Overflow = "block"
    seed: Annotated[int, typer.Option(help="Seed of the arrivals.")] = 0
    plot: Annotated[
        str | None,
        typer.Option(
            help="Output file (.png, .svg or .pdf) for a plot: queues over time, or with --workers the shares in time."
        ),
    ] = None
    as_json: AsJson = False
