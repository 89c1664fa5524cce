"""A learning stream, run in child processes that are killed without warning at random points.

Run as a program: ``killed_stream.py FOLDER KILLS SEED READING``, where ``ahead`` reads by a thread. It forks, so that a
start costs milliseconds.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from anystream.bayes_tree import BayesTreeClassifier
from anystream.connectors.csv_file import CsvSource
from anystream.connectors.file_sink import DeadLetterFile, JsonLinesSink
from anystream.connectors.schema import Column, Schema
from anystream.runtime import CheckpointFolder, Engine, FixedBudget, InlineLearner, RecordQueue
from anystream.runtime.read_ahead import ReadAhead

N_RECORDS = 3000
SCHEMA = Schema((Column("a"), Column("b"), Column("c")), label="class", key="id", label_type="int")


def write_stream(path: Path, n_records: int = N_RECORDS) -> None:
    """Write three moving Gaussians, with some malformed lines and some records without a label."""
    rng = np.random.default_rng(7)
    lines = ["id,a,b,c,class"]
    for i in range(n_records):
        label = int(rng.integers(3))
        x = rng.normal(loc=(label * 2 + i / n_records, label, -label), scale=1.0)
        lines.append(
            "malformed" if i % 97 == 5 else f"r{i},{x[0]:.6f},{x[1]:.6f},{x[2]:.6f},{'' if i % 5 == 0 else label}"
        )
    path.write_text("\n".join(lines) + "\n")


def run(stream: Path, folder: Path, n_records: int = N_RECORDS, *, ahead: bool = False) -> None:
    """Continue the run whose checkpoint is in the folder, or begin it."""
    checkpoint = CheckpointFolder(folder / "checkpoint", every_records=60, every_s=1e9)
    state = checkpoint.load()
    if state is None:
        rng = np.random.default_rng(1)
        labels = np.arange(60) % 3
        model = BayesTreeClassifier(n_jobs=1).fit(rng.normal(size=(60, 3)) + labels[:, None], labels)
    else:
        model = state.model
    source = CsvSource(stream, SCHEMA)
    engine = Engine(
        InlineLearner(model, every=50),
        ReadAhead(source) if ahead else source,
        JsonLinesSink(folder / "answers.jsonl", resume=state is not None),
        dead_letters=DeadLetterFile(folder / "dead.jsonl", resume=state is not None),
        scheduler=FixedBudget(10),
        queue=RecordQueue(200),
        checkpoint=checkpoint,
    )
    if state is not None:
        engine.resume(state)
    summary = engine.run()
    assert summary.taken == summary.answered + summary.dead_letters == n_records
    assert summary.labelled == summary.judged
    model.save(folder / "final.safetensors")


def run_in_child(stream: Path, folder: Path, *, ahead: bool) -> int:
    """Return the process id of a child that continues the run."""
    child = os.fork()
    if child == 0:
        try:
            run(stream, folder, ahead=ahead)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return child


def main(folder: Path, kills: int, seed: int, *, ahead: bool) -> None:
    """Run once undisturbed and once with kills; the test compares the files of both."""
    stream = folder / "stream.csv"
    write_stream(stream)
    calm, killed = folder / "calm", folder / "killed"
    calm.mkdir()
    killed.mkdir()
    assert os.waitpid(run_in_child(stream, calm, ahead=False), 0)[1] == 0
    size = (calm / "answers.jsonl").stat().st_size

    dice = random.Random(seed)
    n_killed = 0
    for point in sorted(dice.uniform(0, 0.97) for _ in range(kills)):
        child = run_in_child(stream, killed, ahead=ahead)
        answers = killed / "answers.jsonl"
        while not (answers.exists() and answers.stat().st_size >= point * size):
            time.sleep(0.0005)
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "the child ended before it was killed"
        time.sleep(dice.uniform(0, 0.01))
        os.kill(child, signal.SIGKILL)
        n_killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert os.waitpid(run_in_child(stream, killed, ahead=ahead), 0)[1] == 0
    print(n_killed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), ahead=sys.argv[4] == "ahead")
