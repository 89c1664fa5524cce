"""``anystream simulate``: says how much machine some traffic needs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

_RECORDS = 2_000_000  # most of one simulated run


def simulate(
    model: Annotated[str, typer.Argument(help="A model file.")],
    rate: Annotated[float, typer.Option(help="Records per second, between bursts.")] = 1000.0,
    burst: Annotated[
        str, typer.Option(help="Height of the bursts, as a multiple of the rate (10x) or per second.")
    ] = "10x",
    burst_time: Annotated[str, typer.Option(help="How long a burst lasts.")] = "1s",
    every: Annotated[str, typer.Option(help="From one burst to the next.")] = "10s",
    workload: Annotated[str, typer.Option(help="spikes (workload A of LOCUST) or steps (workload B).")] = "spikes",
    within: Annotated[str, typer.Option(help="Time in which an answer is due.")] = "50ms",
    duration: Annotated[str, typer.Option(help="How much time to simulate.")] = "10s",
    data: Annotated[str | None, typer.Option(help="Typical records, labelled for figures of accuracy.")] = None,
    label: Annotated[str | None, typer.Option(help="Column that holds the class; by default that of the fit.")] = None,
    machines: Annotated[str, typer.Option(help="Speeds to try, relative to this machine.")] = "0.25,0.5,1,2,4",
    queue: Annotated[int, typer.Option(help="Most records that wait.")] = 100_000,
    overflow: Annotated[str, typer.Option(help="block, answer_now, shed_oldest or shed_newest.")] = "block",
    seed: Annotated[int, typer.Option(help="Of the arrivals.")] = 0,
    plot: Annotated[str | None, typer.Option(help="Also draw queue and waiting over time into this file.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Say how the model would do under bursty traffic on slower and faster machines.

    What a step costs is measured on this machine; then time is simulated, so a minute takes seconds.

    Example: [bold]anystream simulate model.safetensors --rate 200 --burst 20x --data test.csv --machines 0.5,1[/bold]
    """
    from rich.table import Table

    from anystream.cli.durations import format_duration, parse_duration
    from anystream.cli.output import console, print_json, sparkline
    from anystream.runtime.queue import OVERFLOW_POLICIES
    from anystream.runtime.schedulers import DeadlineShare
    from anystream.runtime.simulation import MachineCost
    from anystream.runtime.simulation import simulate as run
    from anystream.saved_models import load

    if overflow not in OVERFLOW_POLICIES:
        raise ValueError(f"--overflow is {overflow!r}; use one of {', '.join(OVERFLOW_POLICIES)}")
    estimator = load(model)
    features, labels = _records(model, estimator, data, label, seed)
    times = _traffic(
        workload, rate, burst, parse_duration(burst_time), parse_duration(every), parse_duration(duration), seed
    )
    due = parse_duration(within)
    here = MachineCost.measure(estimator, features)
    rows, traces = [], []
    for speed in _speeds(machines):
        trace: list[tuple[float, int]] = []
        summary = run(
            estimator,
            times,
            features,
            labels,
            scheduler=DeadlineShare(most=estimator.budget),
            cost=here.scaled(speed),
            within=due,
            capacity=queue,
            overflow=overflow,  # type: ignore[arg-type]  # looked at above
            observer=lambda turn, trace=trace: trace.append((turn.now, turn.queue_length)),
        )
        rows.append({"machine": speed} | summary.to_json())
        traces.append((speed, trace))
    if plot is not None:
        _draw(plot, traces)
    if json_:
        print_json(
            {
                "records": len(times),
                "cost_s": {"call": here.call, "record": here.record, "step": here.step},
                "machines": rows,
            }
        )
        return
    out = console()
    out.print(
        f"{len(times)} records in {duration}; here a record costs {format_duration(here.record)} and a step "
        f"{format_duration(here.step)}: {here.capacity(0):,.0f} records/s at budget 0, "
        f"{here.capacity(estimator.budget):,.0f} at {estimator.budget}"
    )
    table = Table(
        "machine", "on time", "late", "shed", "steps", "p50 wait", "p99 wait", "accuracy", "on-time acc.", "queue"
    )
    for row, (_, trace) in zip(rows, traces, strict=True):
        table.add_row(
            f"{row['machine']:g} x",
            f"{row['on_time'] / max(row['taken'], 1):.2%}",
            str(row["late"]),
            str(row["shed"]),
            f"{row['steps_per_record']:.1f}",
            format_duration(row["wait_p50_s"]),
            format_duration(row["wait_p99_s"]),
            f"{row['accuracy']:.4f}" if "accuracy" in row else "-",
            f"{row['on_time_accuracy']:.4f}" if "on_time_accuracy" in row else "-",
            sparkline(*_thinned(trace)),
        )
    out.print(table)
    enough = next((row["machine"] for row in rows if row["late"] + row["shed"] == 0), None)
    verdict = "none of these answers everything in time" if enough is None else f"{enough:g} x this machine is enough"
    out.print(f"for every answer within {within}: {verdict}")


def _records(path: str, estimator: Any, data: str | None, label: str | None, seed: int) -> tuple[Any, Any]:
    import numpy as np

    from anystream.cli.tables import labelled_rows, read_columns, schema_of_model

    schema = schema_of_model(path, estimator)
    if data is None:
        return np.random.default_rng(seed).normal(size=(2000, estimator.n_features_in_)), None
    from dataclasses import replace

    columns = read_columns(data)
    schema = replace(schema, label=label or schema.label)
    if schema.label in columns:
        features, labels = labelled_rows(schema, columns, data)
        return features, labels
    n = len(next(iter(columns.values())))
    features, faults = schema.encode(columns, n)
    if faults:
        raise ValueError(f"{data}: record {min(faults) + 1}: {faults[min(faults)]}; correct the file")
    return features, None


def _traffic(kind: str, rate: float, burst: str, burst_s: float, every_s: float, seconds: float, seed: int) -> Any:
    from anystream.runtime.workloads import workload_a, workload_b

    try:
        peak = float(burst[:-1]) * rate if burst.endswith("x") else float(burst)
    except ValueError:
        raise ValueError(f"--burst is {burst!r}; write a multiple such as 10x, or records per second") from None
    if not rate > 0.0 or not peak > 0.0:
        raise ValueError("--rate and --burst must be above 0")
    if max(rate, peak) * seconds > _RECORDS * 20:
        raise ValueError("that are too many records to simulate; give a lower rate or a shorter --duration")
    if kind == "spikes":
        return workload_a(seconds, base=rate, peak=peak, spike_s=burst_s, every_s=every_s, seed=seed)
    if kind == "steps":
        return workload_b(seconds, low=0.0, high=peak, step_s=burst_s, seed=seed)
    raise ValueError(f"--workload is {kind!r}; use spikes or steps")


def _speeds(text: str) -> list[float]:
    try:
        speeds = [float(part) for part in text.split(",")]
    except ValueError:
        speeds = []
    if not speeds or min(speeds) <= 0.0:
        raise ValueError(f"--machines is {text!r}; write positive factors, such as 0.5,1,2")
    return sorted(speeds)


def _thinned(trace: list[tuple[float, int]], points: int = 24) -> tuple[list[float], float, float]:
    """The longest queue in each of some equal times, and its bounds."""
    if not trace:
        return [], 0.0, 1.0
    end = trace[-1][0]
    peaks = [0.0] * points
    for now, length in trace:
        place = min(int(now / max(end, 1e-12) * points), points - 1)
        peaks[place] = max(peaks[place], float(length))
    return peaks, 0.0, max(*peaks, 1.0)


def _draw(path: str, traces: list[tuple[float, list[tuple[float, int]]]]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("--plot needs matplotlib; install anystream[report]") from None
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for speed, trace in traces:
        axes.plot([now for now, _ in trace], [length for _, length in trace], label=f"{speed:g} x", linewidth=1)
    axes.set(xlabel="seconds", ylabel="records that wait", yscale="symlog")
    axes.legend(title="machine")
    axes.grid(alpha=0.3)
    figure.savefig(path)
