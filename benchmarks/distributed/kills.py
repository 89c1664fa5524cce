"""A partitioned stream on a cluster of Ray whose nodes are killed by SIGKILL, beside an undisturbed one.

Run as a program: ``PYTHONPATH=tests/distributed python -m benchmarks.distributed.kills --records 1000000 --kills 5``;
`make test-ray` installs Ray. ``--kills 0`` kills nothing and measures the throughput of 1 and 2 workers, local and on
Ray. Seconds are from the start of the workers to their end. Exit code 1 if an answer is lost, written twice or different.
"""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from killed_cluster import NodeKiller, start_cluster, stop_cluster
from streams_of_parts import check_outputs, same_outputs, write_model, write_stream

from anystream.distributed import StreamJob, make_partitions, supervise
from benchmarks.table import machine, print_table

N_PARTITIONS = 8


class Runs:
    """Runs of one stream, each compared with the first.

    Parameters
    ----------
    home : Path
        Folder of the stream and of everything that the runs write.
    n_records : int
        Number of records of each partition.
    """

    def __init__(self, home, n_records):
        self._home, self._n_records = home, n_records
        self._paths = write_stream(home, N_PARTITIONS, n_records)
        self._model = write_model(home / "model.safetensors")
        self._first = None
        self.rows = []
        self.same = True

    def add(self, name, **options):
        """Run the stream to its end, check that no answer is lost or written twice, and add a row to the table."""
        folder = self._home / str(len(self.rows))
        job = StreamJob(model=self._model, every_records=20_000)
        partitions = make_partitions(
            self._paths, checkpoints=folder / "c", outputs=folder, dead_letters=folder / "dead"
        )
        started, cpu_before = time.perf_counter(), _children_cpu_s()
        report = supervise(job, partitions, **options)
        seconds, cpu = time.perf_counter() - started, _children_cpu_s() - cpu_before
        check_outputs(self._paths, folder, self._n_records)
        self._compare(report, folder)
        answered = report.summary.answered
        on_ray = "on" in options  # its workers are no children of this process
        self.rows.append(
            (name, answered, report.lost, f"{seconds:.0f}", f"{answered / seconds:.0f}", "" if on_ray else f"{cpu:.0f}")
        )

    def _compare(self, report, folder):
        positions = {name: result.position for name, result in report.results.items()}
        if self._first is None:
            self._first = positions, folder
        first_positions, first_folder = self._first
        self.same &= positions == first_positions and same_outputs(self._paths, folder, first_folder)


def _children_cpu_s():
    """CPU time of the processes that have ended: local workers end with their run."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=5)
    given = parser.parse_args()
    n_records = given.records // N_PARTITIONS
    n_killed = 0
    with tempfile.TemporaryDirectory(prefix="anystream-") as home:
        runs = Runs(Path(home), n_records)
        runs.add("1 local worker", workers=1)
        if not given.kills:
            runs.add("2 local workers", workers=2)
        cluster = start_cluster()
        try:
            if not given.kills:
                runs.add("1 worker on Ray", workers=1, on="ray")
                runs.add("2 workers on Ray", workers=2, on="ray")
            else:
                killer = NodeKiller(cluster, given.kills, N_PARTITIONS * n_records)
                name = f"2 workers on Ray, {given.kills} nodes killed"
                runs.add(name, workers=2, on="ray", each_turn=killer)
                n_killed = len(killer.killed_at)
        finally:
            stop_cluster(cluster)
    notes = [machine(), f"answers, dead letters and final positions: {'the same' if runs.same else 'DIFFERENT'}"]
    notes.append(f"{n_killed} nodes were killed by SIGKILL")
    header = ("", "answered", "workers lost", "seconds", "records/s", "CPU seconds of the workers")
    print_table(f"{N_PARTITIONS} partitions of {n_records} records", header, runs.rows, notes)
    return 0 if runs.same and n_killed == given.kills else 1


if __name__ == "__main__":
    sys.exit(main())
