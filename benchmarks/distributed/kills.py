"""A partitioned stream on a cluster of Ray whose nodes are killed by SIGKILL, beside an undisturbed one.

Run as a program: ``PYTHONPATH=tests/distributed python -m benchmarks.distributed.kills --records 1000000 --kills 5``;
`make test-ray` installs Ray. Exit code 1 if an answer is lost, written twice or different.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from killed_cluster import NodeKiller, start_cluster, stop_cluster
from streams_of_parts import check_outputs, same_outputs, write_model, write_stream

from anystream.distributed import StreamJob, make_partitions, supervise
from benchmarks.table import machine, print_table

N_PARTITIONS = 8


def run_stream(paths, model, folder, **options):
    job = StreamJob(model=model, every_records=20_000)
    partitions = make_partitions(paths, checkpoints=folder / "c", outputs=folder, dead_letters=folder / "dead")
    started = time.perf_counter()
    report = supervise(job, partitions, **options)
    return report, time.perf_counter() - started


def positions(report):
    return {name: result.position for name, result in report.results.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=5)
    given = parser.parse_args()
    n_records = given.records // N_PARTITIONS
    rows = []
    with tempfile.TemporaryDirectory(prefix="anystream-") as name:
        home = Path(name)
        paths = write_stream(home, N_PARTITIONS, n_records)
        model = write_model(home / "model.safetensors")
        calm, seconds = run_stream(paths, model, home / "calm", workers=1)
        check_outputs(paths, home / "calm", n_records)
        rows.append(("1 local worker", calm.summary.answered, calm.lost, f"{seconds:.0f}"))
        pair, seconds = run_stream(paths, model, home / "pair", workers=2)
        rows.append(("2 local workers", pair.summary.answered, pair.lost, f"{seconds:.0f}"))
        cluster = start_cluster()
        try:
            killer = NodeKiller(cluster, given.kills, N_PARTITIONS * n_records)
            killed, seconds = run_stream(paths, model, home / "killed", workers=2, on="ray", each_turn=killer)
        finally:
            stop_cluster(cluster)
        rows.append(
            (
                f"2 workers on Ray, {len(killer.killed_at)} nodes killed",
                killed.summary.answered,
                killed.lost,
                f"{seconds:.0f}",
            )
        )
        check_outputs(paths, home / "killed", n_records)
        same = all(same_outputs(paths, home / other, home / "calm") for other in ("pair", "killed"))
        same &= positions(pair) == positions(killed) == positions(calm)
    notes = [machine(), f"answers, dead letters and final positions: {'the same' if same else 'DIFFERENT'}"]
    title = f"{N_PARTITIONS} partitions of {n_records} records"
    print_table(title, ("", "answered", "workers lost", "seconds"), rows, notes)
    return 0 if same and len(killer.killed_at) == given.kills else 1


if __name__ == "__main__":
    sys.exit(main())
