"""Options that several commands share, and commands whose options are the fields of a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer

from anystream.cli import garbage_collection
from anystream.cli.scikit_learn import import_scikit_learn

OptionsT = TypeVar("OptionsT")

ModelPath = Annotated[str, typer.Argument(help="Model file.")]
LabelColumn = Annotated[
    str | None, typer.Option("--label", help="Column of the class label; default: that of the fit.")
]
TimeColumn = Annotated[str | None, typer.Option("--time", help="Column of the record time, in seconds or by ISO 8601.")]
UnknownCategories = Annotated[
    str,
    typer.Option(
        help="Categories that are not in the training data: missing (count as missing, the answers are marked) or "
        "reject (the record is bad)."
    ),
]
TableFormat = Annotated[
    str | None, typer.Option("--format", help="csv, jsonl or arrow; default: by the content and the file name.")
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="Delimiter of a CSV file; default: guessed from the first line.")
]
MapModel = Annotated[
    bool,
    typer.Option(
        "--mmap",
        help="Map the model instead of reading it: processes share its memory, and it may be larger than the memory.",
    ),
]
VerifyModel = Annotated[
    bool, typer.Option(" /--no-verify", help="Do not compare the model with its checksums before it is used.")
]
NWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers", help="Work in this many processes; each file of a pattern such as 'parts/*.csv' is a part."
    ),
]
WorkersOn = Annotated[
    str,
    typer.Option(
        "--on",
        help="With --workers: local (processes of this machine), ray (the cluster of RAY_ADDRESS, or a new one) or "
        "ray://HOST:PORT.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
QueueCapacity = Annotated[int, typer.Option("--queue", help="Maximum number of waiting records.")]
Overflow = Annotated[
    str,
    typer.Option("--overflow", help="Policy for a full queue: block, answer_now, shed_oldest or shed_newest."),
]


def command_from(options_class: type[OptionsT], run: Callable[[OptionsT], None]) -> Callable[..., None]:
    """Return a Typer command whose parameters are the fields of a dataclass, and which calls `run` with an instance.

    Parameters
    ----------
    options_class : type
        A dataclass; each field is annotated with its type and a ``typer.Option`` or ``typer.Argument``.
    run : callable
        Does the work; its docstring is the help of the command.
    """

    def command(**values: Any) -> None:
        run(options_class(**values))

    command.__doc__ = run.__doc__
    command.__signature__ = inspect.signature(options_class, eval_str=True)  # type: ignore[attr-defined]  # Typer reads it
    return started(command)


def started(run: Callable[..., None]) -> Callable[..., None]:
    """Return a command that ends the start of the program, and then calls `run`."""

    @wraps(run)
    def command(**values: Any) -> None:
        import_scikit_learn()
        garbage_collection.resume()
        run(**values)

    return command
