"""A partitioned stream for tests, and a comparison of its outputs."""

import json
import os
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anystream import BayesTreeClassifier
from anystream.distributed import StreamJob


def write_stream(folder: Path, n_partitions: int, n_records: int) -> list[str]:
    """Write files of records with some malformed lines; return their paths."""
    random = np.random.default_rng(7)
    paths = []
    for number in range(n_partitions):
        labels = random.integers(3, size=n_records)
        records = random.normal(size=(n_records, 3)) + labels[:, None]
        rows = zip(records.round(5).tolist(), labels.tolist(), strict=True)
        lines = [f"p{number}r{i},{a},{b},{c},{label}" for i, ((a, b, c), label) in enumerate(rows)]
        lines[5::997] = ["malformed"] * len(lines[5::997])
        path = folder / f"part-{number:02}.csv"
        path.write_text("\n".join(["id,a,b,c,class", *lines]) + "\n")
        paths.append(str(path))
    return paths


def write_model(path: Path) -> str:
    """Write a small model for the stream; return its path."""
    from anystream.connectors.schema import Column, Schema

    labels = np.arange(300) % 3
    records = np.random.default_rng(1).normal(size=(300, 3)) + labels[:, None]
    schema = Schema((Column("a"), Column("b"), Column("c")), label="class", key="id", label_type="int")
    model = BayesTreeClassifier(metric=None, root_model=None, budget=5).fit(records, labels)
    model.save(path, notes={"schema": schema.to_json()})
    return str(path)


def read_lines(*path):
    return [json.loads(line) for line in Path(*path).read_text().splitlines()]


def check_outputs(paths, folder, n_records):
    """Assert that every record has one answer or one dead letter."""
    for path in map(Path, paths):
        answers = [line["key"] for line in read_lines(folder, f"{path.name}.jsonl")]
        dead = [line["line"] for line in read_lines(folder, "dead", f"{path.name}.jsonl")]
        assert len(answers) == len(set(answers))
        assert len(dead) == len(set(dead)) == len(range(5, n_records, 997))
        assert len(answers) + len(dead) == n_records


def same_outputs(paths, one, other):
    """Whether both runs have written the same bytes."""
    names = [f"{Path(path).name}.jsonl" for path in paths]
    names += [f"dead/{name}" for name in names]
    return all(Path(one, name).read_bytes() == Path(other, name).read_bytes() for name in names)


@dataclass(frozen=True)
class KillingJob:
    """A job that kills its own process once after each of some numbers of answers of a partition."""

    job: StreamJob
    folder: str
    kills: tuple[tuple[str, int], ...]

    @contextmanager
    def open(self, partition):
        with self.job.open(partition) as engine:
            engine.watch(lambda turn: self.kill_if_due(partition.name, turn.summary.answered))
            yield engine

    def kill_if_due(self, name, answered):
        for place, (partition, at) in enumerate(self.kills):
            marker = Path(self.folder, f"killed-{place}")
            if partition == name and answered >= at and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
