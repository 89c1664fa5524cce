"""Right and in time, over HTTP: anystream, Triton and a plain endpoint with the same forest and the same client.

One client sends requests at their due times, whether or not others were answered, and names the deadline in each. An
answer counts if its records are right and the response is complete at the client by the deadline, counted from the due
time; every request counts, sent or not. Arrivals have Gamma gaps of a coefficient of variation of 1 to 8, or the shape
of a real trace. Load 1 is the capacity of the plain endpoint, measured first with the same requests.

    python -m benchmarks.server.on_time                      # short: some minutes
    python -m benchmarks.server.on_time --full               # all loads and shapes, longer streams: half an hour
    make bench-server                                        # the same with Triton and ONNX Runtime set up

All servers run the same forest: anystream imports it; the others run it in ONNX Runtime where it is installed, Triton in
its Python backend with dynamic batches, one instance per core, and the queue policy that is best in the cell. Server and
client share the machine. The history of every stream is checked: each request has exactly one outcome. Table on standard
output; all requests as CSV and the plot go to the folder --output.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from anystream.cli.durations import parse_duration
from anystream.streams import DatasetNotFoundError, load_dataset
from benchmarks.server.arrivals import REAL, draw_arrivals
from benchmarks.server.client import Client, Request
from benchmarks.server.history import check_history
from benchmarks.server.servers import (
    ANYSTREAM,
    MODEL,
    PLAIN,
    TRITON,
    Forest,
    prepare_forest,
    queue_policies,
    running_anystream,
    running_forest_in_triton,
    running_plain,
)
from benchmarks.server.triton import NoTriton, find_triton
from benchmarks.table import machine, print_table
from benchmarks.timing import StolenTime

SEED = 0
SHORT, FULL = ((0.5, 1.0, 3.0, 10.0), ("1", "8", REAL)), ((0.5, 1.0, 2.0, 5.0, 10.0), ("1", "2", "4", "8", REAL))
_WAY = 0.2  # share of the time to the deadline that is left for the way: requests name the rest as their timeout
_ORDERED_ON = 500  # held-out records that the order of our forest is measured on
_IN_FLIGHT = 8  # requests while capacity is measured


@dataclass
class Cell:
    """Requests of the streams of one server, shape of arrivals and load."""

    server: str
    policy: str
    shape: str
    load: float
    requests: list[Request]
    within_s: float
    n_records: int

    def is_in_time(self, request: Request) -> bool:
        return request.outcome == "answered" and request.done - request.due <= self.within_s

    @property
    def right(self) -> float:
        """Share of all records that were answered right and in time."""
        n_right = sum(request.n_right for request in self.requests if self.is_in_time(request))
        return n_right / (self.n_records * len(self.requests))

    def format_cell(self) -> str:
        in_time = np.mean([self.is_in_time(request) for request in self.requests])
        refused = np.mean([request.outcome == "refused" for request in self.requests])
        times = [request.done - request.due for request in self.requests if request.outcome == "answered"]
        p99 = f"{1e3 * np.quantile(times, 0.99):,.0f} ms" if times else "-"
        return f"{100 * self.right:.1f} ({in_time:.0%}, {refused:.0%}, {p99})"


def load_records(name: str) -> tuple[str, Any, Any]:
    """Return a data set, labels as whole numbers; scikit-learn's digits if it is not there."""
    try:
        found = load_dataset(name)
        X, y = np.asarray(found.X, dtype=np.float64), np.asarray(found.y)
    except DatasetNotFoundError as error:
        print(f"{name} is replaced by digits: {error}", file=sys.stderr)
        name, (X, y) = "digits", load_digits(return_X_y=True)
    return name, X, np.unique(y, return_inverse=True)[1]


def list_servers(forest: Forest, options: Any) -> Iterator[tuple[str, str, AbstractContextManager[int]]]:
    """Yield the name, the policy and the process of each server; the plain endpoint is the first."""
    timeout_s = (1.0 - _WAY) * options.within_s
    yield PLAIN, "", running_plain(forest)
    yield ANYSTREAM, "", running_anystream(forest, timeout_s)
    if TRITON in options.servers:
        try:
            find_triton()
        except NoTriton as error:
            print(f"Triton is left out: {error}", file=sys.stderr)
            return
        for policy, text in queue_policies(timeout_s).items():
            yield TRITON, policy, running_forest_in_triton(forest, text)


async def settle(client: Client) -> None:
    """Wait until the server has finished what streams have left behind."""
    for _ in range(100):
        (request,) = await client.run(np.zeros(1), 0.5)  # waits for two seconds
        if request.outcome == "answered":
            return
    raise RuntimeError("the server does not answer a single request any more")


async def run_streams(client: Client, load_1: float, name: str, policy: str, options: Any) -> list[Cell]:
    """Run all streams of one server."""
    cells = []
    for shape in options.shapes:
        for load in options.loads:
            requests: list[Request] = []
            for stream in range(options.streams):
                await settle(client)
                rng = np.random.default_rng([SEED, stream])
                times = draw_arrivals(shape, load * load_1, options.seconds, rng)
                found = await client.run(times, options.within_s)
                check_history([request.name for request in found], client.events)
                requests += found
            cells.append(Cell(name, policy, shape, load, requests, options.within_s, client.records))
            print(f"{name} {policy}, {shape}, {load:g} x: {cells[-1].format_cell()}", file=sys.stderr)
    client.close()
    return cells


def measure(options: Any) -> tuple[list[Cell], dict[str, float], str]:
    """Run everything; return the cells, the capacity of each server and words about the data."""
    name, X, y = load_records(options.dataset)
    X, X_held_out, y, y_held_out = train_test_split(X, y, test_size=0.5, random_state=SEED, stratify=y)
    model = RandomForestClassifier(options.trees, n_jobs=-1, random_state=SEED).fit(X, y)
    X_order, y_order = X_held_out[:_ORDERED_ON], y_held_out[:_ORDERED_ON]
    X_test, y_test = np.ascontiguousarray(X_held_out[_ORDERED_ON:]), y_held_out[_ORDERED_ON:]
    accuracy = model.score(X_test, y_test)
    cells: list[Cell] = []
    capacities: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        forest = prepare_forest(model, X_order, y_order, Path(folder))
        engine = "ONNX Runtime" if forest.theirs.suffix == ".onnx" else "scikit-learn"
        for server, policy, process in list_servers(forest, options):
            with process as port:

                def make_client(within_s: float) -> Client:
                    return Client(port, MODEL, X_test, y_test, options.records, int(1e6 * (1.0 - _WAY) * within_s))

                if server not in capacities:
                    client = make_client(1000.0 * options.within_s)
                    capacities[server], _ = asyncio.run(client.measure_capacity(options.seconds, _IN_FLIGHT))
                    print(f"{server}: {capacities[server]:,.0f} requests/s", file=sys.stderr)
                cells += asyncio.run(
                    run_streams(make_client(options.within_s), capacities[PLAIN], server, policy, options)
                )
    words = (
        f"{name}: RandomForest of {options.trees} trees, {100 * accuracy:.1f} % right without deadlines; the peers run it in "
        f"{engine}; requests of {options.records} records, due within {1e3 * options.within_s:g} ms"
    )
    return cells, capacities, words


def best_policies(cells: list[Cell]) -> list[Cell]:
    """Return one cell per server, shape and load: that of the best policy."""
    best: dict[tuple[str, str, float], Cell] = {}
    for cell in cells:
        place = cell.server, cell.shape, cell.load
        if place not in best or cell.right > best[place].right:
            best[place] = cell
    return list(best.values())


def report(cells: list[Cell], capacities: dict[str, float], words: str, stolen: float, options: Any) -> None:
    """Print one table per shape."""
    best = best_policies(cells)
    lags = [request.sent - request.due for cell in cells for request in cell.requests if request.sent == request.sent]
    for shape in options.shapes:
        rows = []
        for server in capacities:
            at = {cell.load: cell for cell in best if (cell.server, cell.shape) == (server, shape)}
            rows.append([server, *(at[load].format_cell() for load in options.loads)])
            if server == TRITON:
                rows.append(["its best policy", *(at[load].policy for load in options.loads)])
        title = shape if shape == REAL else f"Gamma arrivals, CV {shape}"
        print_table(
            f"{title}: % of all records right and in time (requests in time, refused, p99 of the answered)",
            ["server", *(f"{load:g} x" for load in options.loads)],
            rows,
        )
    print(f"\n- {words}")
    print(
        "- capacity: "
        + ", ".join(f"{name} {rate:,.0f} requests/s" for name, rate in capacities.items())
        + "; load 1 is the first"
    )
    print(
        f"- {options.streams} streams of {options.seconds:g} s, seed {SEED}; every request has exactly one outcome (checked)"
    )
    print(f"- the client was behind by {1e3 * np.quantile(lags, 0.99):.1f} ms at p99, which counts against the servers")
    print(
        f"- {machine()}, load average {os.getloadavg()[0]:.1f}; time that the host gave to other machines: {stolen:.1%}"
    )


def write_csv(cells: list[Cell], path: Path) -> None:
    """Write one line per request."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "server",
                "policy",
                "shape",
                "load",
                "request",
                "due_s",
                "sent_s",
                "done_s",
                "outcome",
                "in_time",
                "records",
                "right",
            ]
        )
        for cell in cells:
            for request in cell.requests:
                writer.writerow(
                    [cell.server, cell.policy, cell.shape, cell.load, request.name]
                    + [f"{at:.6f}" for at in (request.due, request.sent, request.done)]
                    + [request.outcome, int(cell.is_in_time(request)), cell.n_records, request.n_right]
                )


def draw(cells: list[Cell], options: Any, path: Path) -> None:
    """Draw one panel per shape."""
    from matplotlib.figure import Figure

    best = best_policies(cells)
    figure = Figure(figsize=(3.2 * len(options.shapes) + 1.5, 3.6), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(options.shapes), sharey=True))
    for axes, shape in zip(panels, options.shapes, strict=True):
        for server, style in ((ANYSTREAM, "o-"), (TRITON, "s--"), (PLAIN, "^:")):
            mine = [cell for cell in best if (cell.server, cell.shape) == (server, shape)]
            if mine:
                axes.plot([cell.load for cell in mine], [100 * cell.right for cell in mine], style, label=server)
        axes.set(title=shape if shape == REAL else f"CV {shape}", xlabel="load", ylim=(0, 100))
        axes.set_xscale("log")
        axes.set_xticks(options.loads, [f"{load:g}" for load in options.loads])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("right and in time, % of all records")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all loads and shapes, three streams of 4 s each")
    parser.add_argument("--dataset", default="letter", help="name of the data set; digits if it is not there")
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--records", type=int, default=256, help="records per request")
    parser.add_argument("--within", default="100ms", help="time from arrival to the deadline")
    parser.add_argument("--seconds", type=float, help="length of each stream")
    parser.add_argument("--streams", type=int, help="number of streams per cell")
    parser.add_argument("--loads", type=lambda text: tuple(float(load) for load in text.split(",")))
    parser.add_argument("--shapes", type=lambda text: tuple(text.split(",")), help=f"CVs, or '{REAL}'")
    parser.add_argument("--servers", default=TRITON, help=f"'' leaves {TRITON} out")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks"), help="folder for the CSV and the plot")
    options = parser.parse_args()
    loads, shapes = FULL if options.full else SHORT
    options.loads, options.shapes = options.loads or loads, options.shapes or shapes
    options.seconds = options.seconds or (4.0 if options.full else 2.0)
    options.streams = options.streams or (3 if options.full else 1)
    options.within_s = parse_duration(options.within)
    options.output.mkdir(parents=True, exist_ok=True)
    stolen = StolenTime()
    cells, capacities, words = measure(options)
    report(cells, capacities, words, stolen.share(), options)
    write_csv(cells, options.output / "server-on-time.csv")
    draw(cells, options, options.output / "server-on-time.png")
    print(f"- all requests: {options.output / 'server-on-time.csv'}; plot: {options.output / 'server-on-time.png'}")


if __name__ == "__main__":
    main()
