"""Partitions of a stream: the input of each, and where its answers and checkpoints are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from anystream.connectors.broker_address import is_address
from anystream.model_file.replace_file import replace_file

_CHUNK_BYTES = 2**20


class Partition(NamedTuple):
    """One partition of a stream, which one worker at a time reads.

    Parameters
    ----------
    name : str
        Name for messages, and of its files.
    input : str
        A file, or the address of a broker, whose group of consumers a worker then joins.
    output : str
        Answers of this partition.
    dead_letters : str or None
        Records of this partition that could not be read or classified.
    checkpoint : str
        Folder of its checkpoints. All workers must see the same: a folder of this machine, or a shared one.
    is_member : bool, default=False
        Whether it is a member of a group of consumers, to which a broker gives a share of one stream. When a member has
        reached the end of the stream, members that were never started are left out.
    """

    name: str
    input: str
    output: str
    dead_letters: str | None
    checkpoint: str
    is_member: bool = False


def make_partitions(
    inputs: Sequence[str],
    *,
    checkpoints: str | Path,
    outputs: str | Path | None = None,
    dead_letters: str | Path | None = None,
    suffix: str = ".jsonl",
) -> list[Partition]:
    """Return one partition per input, named after it; paths become absolute, since workers may run in other folders.

    Parameters
    ----------
    inputs : sequence of str
        Files.
    checkpoints : path
        Folder in which each partition gets one for its checkpoints.
    outputs : path, optional
        Folder for one file of answers per partition; by default they are beside the checkpoints.
    dead_letters : path, optional
        Folder for one file of dead letters per partition.
    suffix : str, default=".jsonl"
        End of the names of answers.
    """
    found = []
    for name, path in zip(_name_inputs(inputs), inputs, strict=True):
        own = Path(checkpoints, name).absolute()
        output = own / f"answers{suffix}" if outputs is None else Path(outputs, f"{name}{suffix}").absolute()
        dead = None if dead_letters is None else str(Path(dead_letters, f"{name}.jsonl").absolute())
        found.append(Partition(name, str(Path(path).absolute()), str(output), dead, str(own)))
    return found


def create_folders(partitions: Sequence[Partition]) -> None:
    """Create the folders of all checkpoints, and of outputs that are files."""
    for partition in partitions:
        for path in filter(None, (partition.output, partition.dead_letters)):
            if not is_address(path):
                Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(partition.checkpoint).mkdir(parents=True, exist_ok=True)


def join_files(paths: Sequence[str], path: str, *, header: bool) -> None:
    """Write the content of all files into one, which replaces `path` when it is complete.

    Parameters
    ----------
    paths : sequence of str
        The files, in the order of their partitions; one that does not exist is empty.
    path : str
        The result.
    header : bool
        Whether each file begins with the same line, which is written once.
    """
    replace_file(Path(path), _read_all([Path(part) for part in paths], header=header))


def _read_all(paths: Sequence[Path], *, header: bool) -> Iterator[bytes]:
    first_line = b""
    for path in filter(Path.exists, paths):
        with open(path, "rb") as file:
            line = file.readline() if header else b""
            if first_line and line and line != first_line:
                raise ValueError(
                    f"{path} begins with other columns than the files before it; write one file per partition: end the "
                    "name of the output with /"
                )
            if line and not first_line:
                yield line
                first_line = line
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk


def _name_inputs(inputs: Sequence[str]) -> list[str]:
    """Return the names of the files without their folders; with a number where two are equal."""
    names = [Path(path).name for path in inputs]
    twice = {name for name in names if names.count(name) > 1}
    return [f"{number}-{name}" if name in twice else name for number, name in enumerate(names)]
