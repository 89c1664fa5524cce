"""Prequential error on real streams: elec2, covtype, rialto, airlines.

    python -m benchmarks.drift.real [--full] [--slice 10000] [--batch 100] [--only NAME ...] [--streams NAME ...]

Every record is tested, then learned (with --batch, whole batches, so labels are delayed). All methods are compared on
the slice, the first 10,000 records (4,000 without --full); river's forests are slow and stop there. With --full the
others continue: through all of elec2 and rialto and the first 100,000 records of covtype and airlines. Streams are read
from ANYSTREAM_DATA and skipped without it. All methods treat categories as numbers. Read kappa-T first: below 0,
repeating the last label would be better.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from typing import Any

from anystream.evaluate import Run, run_prequential
from anystream.streams import available_datasets, load_dataset
from benchmarks.drift.methods import Method, choose_methods, make_model
from benchmarks.table import machine, print_table

STREAMS = ("elec2", "covtype", "rialto", "airlines")
CHUNK = 100
MAX_RECORDS = 100_000


def run_one(method: Method, stream: Any, records: int, batch: int) -> tuple[Run, float]:
    """Return the run, and the processor time per record in microseconds."""
    started = time.process_time()
    run = run_prequential(make_model(method, CHUNK), stream, batch_size=batch, n_records=records)
    return run, (time.process_time() - started) / len(run.truth) * 1e6


def format_row(method: Method, run: Run, cost: float, part: int) -> list[str]:
    first = replace(run, truth=run.truth[:part], predicted=run.predicted[:part])
    return [
        method.name,
        *(f"{value:.3f}" for value in (first.kappa, first.kappa_m, first.kappa_t)),
        f"{100 * first.error:.2f}",
        f"{100 * run.error:.2f}" if len(run.truth) > part else "",
        f"{cost:.0f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="up to 100,000 records for all but the slow methods")
    parser.add_argument("--slice", type=int, help="number of records on which all methods are compared")
    parser.add_argument("--batch", type=int, default=1, help="records tested together, then learned together")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="methods whose name contains one of these")
    parser.add_argument("--streams", nargs="+", default=STREAMS, metavar="NAME")
    options = parser.parse_args()
    methods, missing = choose_methods(options.only)
    part = options.slice or (10_000 if options.full else 4_000)
    for name in options.streams:
        if name not in available_datasets():
            print(f"{name} skipped: it is not in ANYSTREAM_DATA")
            continue
        stream = load_dataset(name)
        whole = min(MAX_RECORDS, stream.n_records) if options.full else part
        rows = []
        for method in methods:
            run, cost = run_one(method, stream, min(part, whole) if method.slow else whole, options.batch)
            rows.append(format_row(method, run, cost, part))
            print(f"{name}: {rows[-1]}", file=sys.stderr, flush=True)
        rows.sort(key=lambda row: float(row[4]))
        print_table(
            f"{name}: error (%) on the first {part:,} records and on {whole:,}, batches of {options.batch}",
            ["", "kappa", "kappa-M", "kappa-T", f"first {part:,}", f"{whole:,}", "CPU µs per record"],
            rows,
            [f"kappas are measured on the first {part:,}", *missing, machine()],
        )


if __name__ == "__main__":
    main()
