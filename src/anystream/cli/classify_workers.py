"""``anystream classify --workers``: a partitioned stream on many workers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from anystream.cli.classify_engine import build_engine, close_inputs, learn_options, open_streams
from anystream.cli.classify_options import ClassifyOptions
from anystream.cli.classify_report import Ending, print_report
from anystream.cli.classify_run import prepare_run
from anystream.cli.durations import parse_duration
from anystream.connectors.broker_address import is_address
from anystream.connectors.file_formats import choose_output_format
from anystream.connectors.saved_model import open_model
from anystream.distributed.backends import check_workers, is_local
from anystream.distributed.partitions import Partition, join_files, make_partitions
from anystream.distributed.parts import list_files
from anystream.distributed.run import checkpoint_folder, supervise
from anystream.distributed.shared_learning import ModelRounds, SharedLearner
from anystream.distributed.stream_job import exchange_models, learned_until, use_threads
from anystream.distributed.supervisor import Supervisor
from anystream.runtime.engine import Engine
from anystream.runtime.signals import stop_on_signals

_SLOTS = 4  # members of a group of consumers that there may be, for each worker at the start


@dataclass(frozen=True)
class ClassifyJob:
    """Opens the engine of a partition as ``anystream classify`` does for a whole stream.

    Parameters
    ----------
    options : ClassifyOptions
        Options of the command.
    n_jobs : int
        Threads of one worker.
    folder : str
        Folder of the merged model.
    """

    options: ClassifyOptions
    n_jobs: int
    folder: str

    @contextmanager
    def open(self, partition: Partition) -> Iterator[Engine]:
        """Open the engine; see `anystream.distributed.worker.Job`."""
        run = prepare_run(_options_of(self.options, partition))
        assert run.checkpoint is not None  # every partition has one
        with run.checkpoint:
            use_threads(run.classifier, self.n_jobs)
            learner = None
            if self.options.learn:
                base = open_model(self.options.model).classifier
                use_threads(base, self.n_jobs)
                learner = SharedLearner(base, learned_until(run.state), **learn_options(run))
            streams = open_streams(run)
            engine = build_engine(run, streams, learner)
            try:
                with exchange_models(
                    learner, partition, self.folder, parse_duration(self.options.merge_every), self.n_jobs
                ):
                    yield engine
            finally:
                streams.sink.close()
                close_inputs(streams)


def classify_on_workers(options: ClassifyOptions) -> None:
    """Run the command on many workers, and print one summary."""
    _check(options)
    options = replace(
        options,
        model=os.path.abspath(options.model),  # workers may run in other folders
        input_path=options.from_address or options.input_path,
        output_path=options.to_address or options.output_path,
        from_address=None,
        to_address=None,
    )
    with checkpoint_folder(options.checkpoint_folder) as folder, ExitStack() as stack:
        partitions = _make_partitions(options, folder)
        if options.restart:
            _clear(folder, partitions)
        if options.mmap:
            from anystream.cli.output import report_copied_model

            report_copied_model(options.model)
        n_workers = options.workers or 1
        job = ClassifyJob(options, max(1, (os.cpu_count() or 1) // n_workers), folder)
        rounds = None
        if options.learn:
            rounds = ModelRounds(options.model, partitions, folder, parse_duration(options.merge_every))
        received: list[int] = []
        show = _progress(options, stack, len(partitions))
        started = time.perf_counter()
        report = supervise(
            job,
            partitions,
            workers=n_workers,
            on=options.on,
            folder=folder,
            rounds=rounds,
            each_turn=show,
            started=lambda supervisor: received_in(received, stack, supervisor),
        )
        stack.close()
        if report.finished and _is_joined(options):
            header = choose_output_format(options.output_path, options.output_format) == "csv"
            join_files([partition.output for partition in partitions], options.output_path, header=header)
        if rounds is not None and options.save_path is not None:
            rounds.finish().save(options.save_path, notes=open_model(options.model).notes)
    ending = Ending(
        seconds=time.perf_counter() - started,
        learned=sum(result.learned for result in report.results.values()) if options.learn else None,
        signal=received[0] if received and not report.finished else None,
        workers_lost=report.lost,
    )
    print_report(report.summary, ending, options)
    if report.summary.checkpoint_error:
        raise typer.Exit(1)
    if ending.signal == signal.SIGINT:
        raise typer.Exit(130)
    if report.summary.taken and not report.summary.answered:
        raise typer.Exit(2)


def received_in(received: list[int], stack: ExitStack, supervisor: Supervisor) -> None:
    """Stop the supervisor on signals, whose numbers are appended to a list."""
    numbers = stack.enter_context(stop_on_signals(supervisor))
    stack.callback(lambda: received.extend(numbers))


def _check(options: ClassifyOptions) -> None:
    check_workers(options.workers)
    source = options.from_address or options.input_path
    for name, value in (("labels", options.labels_path), ("rate", options.rate), ("speed", options.speed)):
        if value is not None:
            raise ValueError(f"--{name} is about one stream; with --workers there are several, leave it out")
    if source == "-":
        raise ValueError("--workers shares out files or a broker, not standard input; name files as 'parts/*.csv'")
    if source.startswith("mqtt"):
        raise ValueError("--workers needs a broker that shares out messages; MQTT gives all of them to every client")
    if options.output_path == "-" and options.to_address is None:
        raise ValueError(
            "--workers writes to files or a broker; name one with -o answers.jsonl, or a folder with -o answers/"
        )
    if options.checkpoint_folder is None and not is_local(options.on):
        raise ValueError(f"workers on {options.on} need a folder that all machines share; name it with --checkpoint")
    if options.save_path is not None and not options.learn:
        raise ValueError("--save has no effect without --learn; add --learn, or leave --save out")
    parse_duration(options.merge_every)


def _is_joined(options: ClassifyOptions) -> bool:
    return not options.output_path.endswith("/") and not is_address(options.output_path)


def _make_partitions(options: ClassifyOptions, folder: str) -> list[Partition]:
    """Return a partition per file; for a broker, which shares out its messages itself, one per member of its group."""
    dead_letters, output = options.dead_letters_path, options.output_path
    if is_address(options.input_path):
        names = [f"member-{number}" for number in range(_SLOTS * (options.workers or 1))]
    else:
        names = list_files(options.input_path)
    outputs = output if output.endswith("/") else None
    name = output if outputs is None else f"answers.{options.output_format or 'jsonl'}"
    suffix = (
        ".csv" if not is_address(output) and choose_output_format(name, options.output_format) == "csv" else ".jsonl"
    )
    dead_folder = None if dead_letters is None or is_address(dead_letters) else dead_letters
    found = make_partitions(names, checkpoints=folder, outputs=outputs, dead_letters=dead_folder, suffix=suffix)
    if is_address(options.input_path):
        found = [
            partition._replace(input=_address_of_member(options.input_path, partition.name), is_member=True)
            for partition in found
        ]
    if is_address(output):
        found = [partition._replace(output=output) for partition in found]
    if is_address(dead_letters):
        found = [partition._replace(dead_letters=dead_letters) for partition in found]
    return found


def _address_of_member(address: str, name: str) -> str:
    """Return an address by which each member has a consumer of its own, if the address names one."""
    return re.sub(r"([?&]consumer=[^&]+)", rf"\1-{name}", address)


def _options_of(options: ClassifyOptions, partition: Partition) -> ClassifyOptions:
    """Return the options of one partition."""
    return replace(
        options,
        input_path=partition.input,
        output_path=partition.output,
        dead_letters_path=partition.dead_letters,
        checkpoint_folder=partition.checkpoint,
        save_path=None,
        restart=False,
        workers=None,
        on="local",
    )


def _clear(folder: str, partitions: list[Partition]) -> None:
    """Remove the checkpoints of all partitions, and what they have learned."""
    for partition in partitions:
        shutil.rmtree(partition.checkpoint, ignore_errors=True)
    Path(folder, "merged.safetensors").unlink(missing_ok=True)


def _progress(options: ClassifyOptions, stack: ExitStack, n_partitions: int) -> Callable[[Supervisor], None] | None:
    """Return what shows the progress on standard error, if that is a terminal."""
    if options.quiet or not sys.stderr.isatty():
        return None
    from rich.progress import BarColumn, Progress, TextColumn

    from anystream.cli.output import console

    columns = (BarColumn(20), TextColumn("{task.description}"))
    bar = stack.enter_context(Progress(*columns, console=console(stderr=True), transient=True))
    task = bar.add_task("starting workers", total=n_partitions)

    def show(supervisor: Supervisor) -> None:
        done = sum(result.finished for result in supervisor.report.results.values())
        text = f"{supervisor.answered} answered, {done} of {n_partitions} partitions, {len(supervisor.workers)} workers"
        bar.update(task, description=text, completed=done)

    return show
