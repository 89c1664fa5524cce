"""Report of ``anystream simulate``: a table or JSON on standard output, and a plot of the queues."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from anystream.cli.durations import format_duration
from anystream.cli.output import console, print_json, sparkline
from anystream.cli.simulate_options import SimulateOptions
from anystream.cli.simulate_run import MachineRun, SimulationResult
from anystream.plotting import new_figure, style_axes

_SPARKLINE_WIDTH = 24
_MIN_CURVE_WIDTH = 110  # characters of a line in which the curve of the queue has a place beside the figures


def print_report_as_json(result: SimulationResult) -> None:
    """Print the costs and the account of every machine as JSON."""
    cost = result.cost
    print_json(
        {
            "records": result.n_records,
            "cost_s": cost.to_json(),
            "machines": [{"machine": run.speed} | run.summary.to_json() for run in result.runs],
        }
    )


def print_report(result: SimulationResult, options: SimulateOptions) -> None:
    """Print the costs, a table with one row per machine, and which machine is enough."""
    out, cost = console(), result.cost
    out.print(
        f"{result.n_records} records in {options.duration}; here a record costs {format_duration(cost.record_s)} and a "
        f"step {format_duration(cost.step_s)}: {cost.records_per_s(0):,.0f} records/s at budget 0, "
        f"{cost.records_per_s(result.budget):,.0f} at {result.budget}"
    )
    if options.target_wait is not None:
        out.print(f"steps by the queue rule, for a waiting time of {options.target_wait}")
    names = ["machine", "on time", "late", "shed", "steps", "p50 wait", "p99 wait", "accuracy", "on-time acc.", "queue"]
    has_curve = out.width >= _MIN_CURVE_WIDTH  # a narrow terminal shows the figures alone
    table = Table(*names[: None if has_curve else -1], box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for run in result.runs:
        table.add_row(*_machine_row(run)[: len(table.columns)])
    out.print(table)
    enough = next((run.speed for run in result.runs if run.summary.late + run.summary.shed == 0), None)
    verdict = "none of these is fast enough" if enough is None else f"{enough:g} x this machine is enough"
    out.print(f"for every answer within {options.within}: {verdict}")


def plot_queues(result: SimulationResult, path: str) -> None:
    """Draw the length of every machine's queue over time into a file."""
    figure = new_figure(8.0, 4.0)
    axes = figure.subplots()
    for run in result.runs:
        axes.plot(run.times_s, run.queue_lengths, label=f"{run.speed:g} x", linewidth=1)
    axes.set(xlabel="seconds", ylabel="waiting records", yscale="symlog")
    axes.legend(title="machine")
    style_axes(axes)
    figure.savefig(path)


def _machine_row(run: MachineRun) -> list[str]:
    figures = run.summary.to_json()
    peaks = _peak_lengths(run)
    return [
        f"{run.speed:g} x",
        f"{figures['on_time'] / max(figures['taken'], 1):.2%}",
        str(figures["late"]),
        str(figures["shed"]),
        f"{figures['steps_per_record']:.1f}",
        format_duration(figures.get("wait_p50_s", float("nan"))),
        format_duration(figures.get("wait_p99_s", float("nan"))),
        f"{figures['accuracy']:.4f}" if "accuracy" in figures else "-",
        f"{figures['on_time_accuracy']:.4f}" if "on_time_accuracy" in figures else "-",
        sparkline(peaks, 0.0, max(*peaks, 1.0)),
    ]


def _peak_lengths(run: MachineRun) -> list[float]:
    """Return the maximum length of the queue in each of `_SPARKLINE_WIDTH` equal intervals."""
    peaks = [0.0] * _SPARKLINE_WIDTH
    for now_s, length in zip(run.times_s, run.queue_lengths, strict=True):
        interval = min(int(now_s / max(run.times_s[-1], 1e-12) * _SPARKLINE_WIDTH), _SPARKLINE_WIDTH - 1)
        peaks[interval] = max(peaks[interval], float(length))
    return peaks
