"""Requests per second and response times over HTTP: anystream beside a plain endpoint (and Triton) with the same forest.

A client keeps so many requests in flight; requests have one record, or 256. Deadlines are a second, so that anystream
reads all trees until the label is certified, and answers as the others do.

    python -m benchmarks.server.speed                        # a minute
    python -m benchmarks.server.speed --seconds 20           # p99.9 needs thousands of requests
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from benchmarks.server.client import Client
from benchmarks.server.on_time import SEED, list_servers, load_records
from benchmarks.server.servers import MODEL, TRITON, prepare_forest
from benchmarks.table import machine, print_table
from benchmarks.timing import StolenTime

WITHIN_S = 1.0
RECORDS = (1, 256)
IN_FLIGHT = (1, 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="pendigits", help="name of the data set; digits if it is not there")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each measurement")
    options = parser.parse_args()
    name, X, y = load_records(options.dataset)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=SEED, stratify=y)
    X_test = np.ascontiguousarray(X_test)
    model = RandomForestClassifier(options.trees, n_jobs=-1, random_state=SEED).fit(X, y)
    rows, stolen, seen = [], StolenTime(), set()
    with tempfile.TemporaryDirectory() as folder:
        forest = prepare_forest(model, X_test[:500], y_test[:500], Path(folder))
        for server, _, process in list_servers(forest, SimpleNamespace(within_s=WITHIN_S, servers=TRITON)):
            if server in seen:
                continue  # one queue policy is enough where nothing is late
            seen.add(server)
            with process as port:
                for records in RECORDS:
                    for in_flight in IN_FLIGHT:
                        client = Client(port, MODEL, X_test, y_test, records, int(1e6 * WITHIN_S))
                        asyncio.run(client.measure_capacity(options.seconds / 4, in_flight))  # warm
                        rate, times_s = asyncio.run(client.measure_capacity(options.seconds, in_flight))
                        quantiles = (f"{1e3 * np.quantile(times_s, q):.2f}" for q in (0.5, 0.99, 0.999))
                        rows.append([records, in_flight, server, f"{rate:,.0f}", f"{rate * records:,.0f}", *quantiles])
                        print(*rows[-1], file=sys.stderr)
    print_table(
        f"{name}, RandomForest of {options.trees} trees: requests over HTTP, server and client on one machine",
        ["records", "in flight", "server", "requests/s", "records/s", "p50 ms", "p99 ms", "p99.9 ms"],
        sorted(rows, key=lambda row: (row[0], row[1])),
        [
            f"{machine()}, load average {os.getloadavg()[0]:.1f}; time that the host gave to other machines: {stolen.share():.1%}",
            "the peers run the forest in " + ("ONNX Runtime" if forest.theirs.suffix == ".onnx" else "scikit-learn"),
        ],
    )


if __name__ == "__main__":
    main()
