"""Prequential error on real streams: elec2, covtype, rialto, airlines.

    python -m benchmarks.drift.real [--full] [--batch 100] [--only NAME ...] [--streams NAME ...]

Every record is tested, then learned (with --batch, whole batches are: labels then come late). By default the first
20,000 records of each stream, 4,000 for the slow forests of river; --full: all of elec2 and rialto, the first 100,000
of covtype and airlines. Streams come from ANYSTREAM_DATA and are left out without it. Categories are taken as numbers by
all. Read kappa-T first: below 0 it would be better to repeat the last label.
"""

from __future__ import annotations

import argparse

from anystream.evaluate import prequential
from anystream.streams import available_datasets, load_dataset
from benchmarks.drift.methods import chosen, fresh
from benchmarks.table import machine, print_table

STREAMS = ("elec2", "covtype", "rialto", "airlines")
CHUNK = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="up to 100,000 records, for every method")
    parser.add_argument("--records", type=int, help="this many records, slow methods included")
    parser.add_argument("--batch", type=int, default=1, help="records tested together, then learned together")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="methods whose name contains one of these")
    parser.add_argument("--streams", nargs="+", default=STREAMS, metavar="NAME")
    options = parser.parse_args()
    methods, missing = chosen(options.only)
    for name in options.streams:
        if name not in available_datasets():
            print(f"{name} left out: it is not in ANYSTREAM_DATA")
            continue
        stream = load_dataset(name)
        rows = []
        for method in methods:
            records = options.records or (100_000 if options.full else 4_000 if method.slow else 20_000)
            run = prequential(
                fresh(method, CHUNK), stream, batch_size=options.batch, n_records=min(records, stream.n_records)
            )
            cost = (run.seconds_answering + run.seconds_learning) / len(run.truth) * 1e6
            measures = (run.kappa, run.kappa_m, run.kappa_t)
            rows.append(
                [method.name, len(run.truth), f"{100 * run.error:.2f}", *(f"{m:.3f}" for m in measures), f"{cost:.0f}"]
            )
        rows.sort(key=lambda row: (-int(row[1]), float(row[2])))
        print_table(
            f"{stream!r}, batches of {options.batch}",
            ["", "records", "error (%)", "kappa", "kappa-M", "kappa-T", "µs per record"],
            rows,
            [*missing, machine()],
        )


if __name__ == "__main__":
    main()
