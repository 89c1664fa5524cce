"""Run a partitioned stream on many workers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anystream.connectors.saved_model import open_model
from anystream.distributed.backends import is_local
from anystream.distributed.local_workers import LocalWorkers
from anystream.distributed.partitions import Partition, create_folders, join_files, make_partitions
from anystream.distributed.parts import list_files
from anystream.distributed.shared_learning import ModelRounds
from anystream.distributed.stream_job import StreamJob
from anystream.distributed.supervisor import RunReport, Supervisor, Workers
from anystream.distributed.worker import Job

_CONTROL_FILE = "workers"


def run(
    model: str | os.PathLike[str],
    inputs: str | Sequence[str],
    output: str,
    *,
    workers: int | None = None,
    on: str = "local",
    checkpoint: str | os.PathLike[str] | None = None,
    dead_letters: str | None = None,
    save: str | os.PathLike[str] | None = None,
    **options: Any,
) -> RunReport:
    """Classify the records of many files on many workers; each file is a partition.

    A worker that dies is noticed, and its partition continues from its last checkpoint on another: nothing is lost, and
    nothing is written twice. After an interrupt, the same call with the same `checkpoint` continues.

    Parameters
    ----------
    model : path
        Model file.
    inputs : str or sequence of str
        Paths and globs.
    output : str
        A file, into which the answers of all partitions are joined at the end, in the order of the inputs; or, if it
        ends with ``/``, a folder for one file per partition.
    workers : int, optional
        Number of workers; by default one per core.
    on : str, default="local"
        ``"local"``, ``"ray"`` or ``"ray://host:port"``.
    checkpoint : path, optional
        Folder for checkpoints, which all workers see; on other machines a shared one, and then it must be given. By
        default it is temporary, and an interrupted run cannot be continued. While it runs, the number in its file
        ``workers``, if there is one, is the number of workers.
    dead_letters : str, optional
        Folder for records that could not be read or classified, one file per partition.
    save : path, optional
        With ``learn=True``: file for the model that all partitions have learned, at the end.
    **options
        Parameters of `StreamJob`: ``budget``, ``within_s``, ``every_s``, ``every_records``, ``proba``, ``n_jobs``,
        ``learn``, ``merge_every_s``.
    """
    paths = [path for pattern in ([inputs] if isinstance(inputs, str) else inputs) for path in list_files(pattern)]
    if not paths:
        raise ValueError("there are no inputs; give at least one file")
    if checkpoint is None and not is_local(on):
        raise ValueError(f"workers on {on} need a folder for checkpoints that all machines share; pass checkpoint=")
    suffix = ".csv" if output.endswith(".csv") else ".jsonl"
    with checkpoint_folder(checkpoint) as folder:
        partitions = make_partitions(
            paths,
            checkpoints=folder,
            outputs=output if output.endswith("/") else None,
            dead_letters=dead_letters,
            suffix=suffix,
        )
        job = StreamJob(model=os.path.abspath(model), merged_folder=folder, **options)
        rounds = ModelRounds(model, partitions, folder, job.merge_every_s) if job.learn else None
        report = supervise(job, partitions, workers=workers, on=on, folder=folder, rounds=rounds)
        if report.finished and rounds is not None and save is not None:
            rounds.finish().save(save, notes=open_model(os.fspath(model)).notes)
        if report.finished and not output.endswith("/"):
            join_files([partition.output for partition in partitions], output, header=suffix == ".csv")
        return report


def supervise(
    job: Job,
    partitions: Sequence[Partition],
    *,
    workers: int | None = None,
    on: str = "local",
    folder: str | os.PathLike[str] | None = None,
    rounds: ModelRounds | None = None,
    each_turn: Callable[[Supervisor], None] | None = None,
    started: Callable[[Supervisor], None] | None = None,
) -> RunReport:
    """Run partitions of any kind on workers.

    Parameters
    ----------
    job : Job
        How to open the engine of a partition.
    partitions : sequence of Partition
        The partitions.
    workers, on
        As of `run`.
    folder : path, optional
        Folder whose file ``workers`` has the number of workers while they run.
    rounds : ModelRounds, optional
        Merges what the workers learn.
    each_turn : callable, optional
        Called with the supervisor about ten times per second.
    started : callable, optional
        Called once with the supervisor, before anything runs; it may keep it to call `stop` or `set_workers`.
    """
    create_folders(partitions)

    def look(supervisor: Supervisor) -> None:
        if folder is not None:
            _follow_control_file(supervisor, Path(folder, _CONTROL_FILE))
        if rounds is not None:
            rounds.each_turn()
        if each_turn is not None:
            each_turn(supervisor)

    n_workers = (os.cpu_count() or 1) if workers is None else workers
    supervisor = Supervisor(open_workers(on, job), partitions, n_workers=n_workers, each_turn=look)
    if started is not None:
        started(supervisor)
    return supervisor.run()


def open_workers(on: str, job: Job) -> Workers:
    """Return where workers come from."""
    if is_local(on):
        return LocalWorkers(job)
    from anystream.distributed.ray_workers import RayWorkers  # ray is an extra

    return RayWorkers(on, job)


@contextmanager
def checkpoint_folder(path: str | os.PathLike[str] | None) -> Iterator[str]:
    """Yield the folder by its absolute path, or a temporary one that is removed."""
    if path is not None:
        Path(path).mkdir(parents=True, exist_ok=True)
        yield os.path.abspath(path)
        return
    with tempfile.TemporaryDirectory(prefix="anystream-") as folder:
        yield folder


def _follow_control_file(supervisor: Supervisor, path: Path) -> None:
    """Use the number of workers in the file; a file without a number changes nothing."""
    try:
        wanted = int(path.read_text())
    except (OSError, ValueError):
        return
    if wanted >= 1 and wanted != supervisor.n_workers:
        supervisor.set_workers(wanted)
