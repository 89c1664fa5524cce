"""Workers in processes of this machine."""

from __future__ import annotations

import multiprocessing
import queue
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from anystream.distributed.partitions import Partition
from anystream.distributed.supervisor import Ended, Finished, Ready, WorkerEvent, describe_failure
from anystream.distributed.worker import Job, StreamWorker

_END_S = 30.0  # time that a process has to end by itself


class _Progress(NamedTuple):
    """How many records of a partition are answered."""

    name: str
    answered: int


class LocalWorker:
    """A process with a worker.

    Parameters
    ----------
    job : Job
        How to open engines.
    name : str
        Name for messages.
    """

    def __init__(self, job: Job, name: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.name = name
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, job), name=f"anystream: {name}", daemon=True)
        self._process.start()
        theirs.close()  # so that the end of the process ends the connection
        self._name, self._answered = "", 0

    @property
    def pid(self) -> int | None:
        """Number of the process."""
        return self._process.pid

    @property
    def connection(self) -> Connection:
        """Connection to wait for."""
        return self._connection

    def start(self, partition: Partition) -> None:
        """Begin with a partition."""
        self._name, self._answered = partition.name, 0
        self._send("run", partition)

    def stop(self) -> None:
        """Stop the partition that runs."""
        self._send("stop")

    def answered(self) -> int:
        """Return how many records were answered, as the worker told last."""
        return self._answered

    def poll(self) -> WorkerEvent | None:
        """Return what has happened."""
        while True:
            try:
                if not self._connection.poll():
                    return None
                message = self._connection.recv()
            except (EOFError, OSError):
                self._process.join(_END_S)
                return Ended(f"its process ended with code {self._process.exitcode}")
            if isinstance(message, _Progress):
                if message.name == self._name:
                    self._answered = message.answered
                continue
            event: WorkerEvent = message
            return event

    def end(self) -> None:
        """End the process."""
        with suppress(OSError):
            self._connection.close()
        self._process.join(_END_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _send(self, *message: Any) -> None:
        with suppress(OSError):  # a dead process is noticed by `poll`
            self._connection.send(message)


class LocalWorkers:
    """Starts workers in processes.

    Parameters
    ----------
    job : Job
        How to open engines.
    """

    def __init__(self, job: Job) -> None:
        self._job = job

    def add(self, name: str) -> LocalWorker:
        """Start a worker."""
        return LocalWorker(self._job, name)

    def wait(self, workers: Sequence[LocalWorker], seconds: float) -> None:
        """Return when a worker has something to tell, and after `seconds` at the latest."""
        wait([worker.connection for worker in workers], seconds)


def _serve(connection: Connection, job: Job) -> None:
    """Run partitions until SIGTERM, or until the connection ends, as it does with the supervisor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the supervisor stops the workers
    worker = StreamWorker(job)
    partitions: queue.SimpleQueue[Partition | None] = queue.SimpleQueue()
    sending = threading.Lock()

    def end(*_: object) -> None:
        worker.stop()
        partitions.put(None)

    signal.signal(signal.SIGTERM, end)

    def send(message: WorkerEvent | _Progress) -> None:
        with suppress(OSError), sending:
            connection.send(message)

    def listen() -> None:
        told = _Progress("", 0)
        try:
            while True:
                if connection.poll(0.5):
                    request, *arguments = connection.recv()
                    if request == "run":
                        partitions.put(arguments[0])
                    else:
                        worker.stop()
                elif (progress := _Progress(*worker.progress())) != told:
                    told = progress
                    send(progress)
        except (EOFError, OSError):
            end()

    threading.Thread(target=listen, name="anystream: supervisor", daemon=True).start()
    send(Ready())
    while (partition := partitions.get()) is not None:
        try:
            send(Finished(worker.run(partition)))
        except Exception as error:  # raised by the supervisor
            send(describe_failure(error))
