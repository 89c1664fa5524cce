"""Report of ``anystream simulate --workers``: a table or JSON on standard output, and a plot over workers."""

from __future__ import annotations

from dataclasses import asdict

from rich.box import SIMPLE_HEAD
from rich.table import Table

from anystream.cli.cluster_run import ClusterResult
from anystream.cli.durations import format_duration
from anystream.cli.output import console, print_json
from anystream.cli.simulate_options import SimulateOptions
from anystream.plotting import new_figure, percent, set_ticks, style_axes
from anystream.runtime.cluster_figures import ClusterFigures, Figures

_HEADER = ["workers", "busiest", "on time", "steps", "p99 wait", "accuracy"]
_LOSS_HEADER = ["lost: on time", "recovery", "accuracy"]


def print_clusters_as_json(result: ClusterResult) -> None:
    """Print costs, faults, the figures of every number of workers, and which are enough, as JSON."""
    simulation = result.simulation
    cost = simulation.cost
    print_json(
        {
            "records": round(simulation.traffic.n_records),
            "cost_s": cost.to_json(),
            "faults": asdict(simulation.faults),
            "min_on_time": result.min_on_time,
            "min_workers": result.min_workers,
            "enough": result.enough(),
            "enough_after_loss": result.enough_after_loss(),
            "clusters": [found.to_json() for found in result.figures],
        }
    )


def print_clusters(result: ClusterResult, options: SimulateOptions) -> None:
    """Print the costs, a table with one row per number of workers, and which is enough."""
    out, cost, faults = console(), result.simulation.cost, result.simulation.faults
    traffic = result.simulation.traffic
    out.print(
        f"{traffic.n_records:,.0f} records in {options.duration}; on a worker a record costs "
        f"{format_duration(cost.record_s)} and a step {format_duration(cost.step_s)}: {cost.records_per_s(0):,.0f} "
        f"records/s at budget 0, {cost.records_per_s(result.budget):,.0f} at {result.budget}"
    )
    if options.target_wait is not None:
        out.print(f"steps by the queue rule, for a waiting time of {options.target_wait}")
    out.print(
        f"{faults.n_partitions} partitions with skew {faults.skew:g}, {faults.n_stragglers} slow at "
        f"{faults.straggler_speed:g} x" + (f", {_describe_loss(result)}" if faults.n_lost else "")
    )
    table = Table(*_HEADER, *(_LOSS_HEADER if faults.n_lost else []), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for found in result.figures:
        table.add_row(*_row(found)[: len(table.columns)])
    out.print(table)
    out.print(f"budget 0 alone keeps {result.min_workers} busy at the mean rate")
    share = percent(result.min_on_time)
    out.print(f"for {share} within {options.within}: {_count(result.enough())}")
    if faults.n_lost:
        out.print(
            f"for {share} also with {faults.n_lost} lost, after the recovery: {_count(result.enough_after_loss())}"
        )


def plot_clusters(result: ClusterResult, path: str) -> None:
    """Draw shares in time and accuracy over the number of workers, and the time to recover, into a file."""
    n_lost = result.simulation.faults.n_lost
    figure = new_figure(8.0, 4.0)
    shares, *others = figure.subplots(1, 2 if n_lost else 1, squeeze=False)[0]
    workers = [found.n_workers for found in result.figures]
    shares.plot(workers, [found.undisturbed.on_time for found in result.figures], "o-", label="on time")
    if result.simulation.answers.has_labels:
        right = [found.undisturbed.on_time_accuracy for found in result.figures]
        shares.plot(workers, right, "s-", label="right and on time")
    if n_lost:
        with_loss = [found.with_loss.on_time if found.with_loss else float("nan") for found in result.figures]
        shares.plot(workers, with_loss, "o--", label=f"on time, {n_lost} lost")
    shares.axhline(result.min_on_time, color="grey", linewidth=0.8, linestyle=":")
    shares.set(xlabel="workers", ylabel="share of the records", ylim=(0.0, 1.05))
    shares.legend(frameon=False, loc="lower right")
    shares.yaxis.set_major_formatter(percent)
    for recovery in others:
        seconds = [float("nan") if found.recovery_s is None else found.recovery_s for found in result.figures]
        recovery.plot(workers, seconds, "o-")
        recovery.set(xlabel="workers", ylabel="seconds to recover", ylim=(0.0, None))
    for axes in (shares, *others):
        axes.set_xscale("log")
        set_ticks(axes.xaxis, workers, "{x:,.0f}")
        style_axes(axes)
    figure.savefig(path)


def _describe_loss(result: ClusterResult) -> str:
    faults = result.simulation.faults
    return (
        f"{faults.n_lost} lost after {format_duration(faults.lost_at_s)}, noticed in "
        f"{format_duration(faults.detect_s)}, {format_duration(faults.replay_s)} replayed"
    )


def _row(found: ClusterFigures) -> list[str]:
    figures = found.undisturbed
    recovery_s = float("nan") if found.recovery_s is None else found.recovery_s
    return [
        str(found.n_workers),
        f"{found.busiest_at_budget_0:.0%}",
        f"{figures.on_time:.2%}",
        f"{figures.steps:.1f}",
        format_duration(figures.wait_p99_s),
        _accuracy(figures),
        "-" if found.with_loss is None else f"{found.with_loss.on_time:.2%}",
        format_duration(recovery_s),
        _accuracy(found.after_recovery),
    ]


def _accuracy(figures: Figures | None) -> str:
    return "-" if figures is None or figures.accuracy is None else f"{figures.accuracy:.4f}"


def _count(n_workers: int | None) -> str:
    if n_workers is None:
        return "none of these is enough"
    return "1 worker is enough" if n_workers == 1 else f"{n_workers} workers are enough"
