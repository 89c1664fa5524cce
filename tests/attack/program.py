"""The program ``anystream`` in this process, and what must hold of anything that it prints."""

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from anystream.cli.app import main
from attack.cases import Failure

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
MAX_LINE = 2000  # characters of a line that the program prints about data


class Ended(NamedTuple):
    """End of the program: exit code, and what it printed."""

    code: int
    out: str
    err: str


def run_program(*arguments: str) -> Ended:
    """Run the program; raise Failure unless it ends by an exit code, and explains one that is not 0 in one line."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["anystream", *arguments]),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else -1
    texts = [stream.buffer.getvalue().decode(errors="surrogateescape") for stream in (out, err)]  # type: ignore[attr-defined]
    found = Ended(code, *texts)
    told = f"anystream {' '.join(arguments)}: exit code {code}, {found.err[:2000]!r}"
    if code not in (0, 1, 2):
        raise Failure(told)
    last = found.err.splitlines()[-1:][0] if found.err else ""
    answered_none = code == 2 and '"answered": 0,' in last  # the summary says why each record is bad
    if code and not answered_none and not last.startswith(("anystream: ", "╰")):  # the latter: a box of Typer
        raise Failure(f"{told} is not one line that says why")
    check_printed(found.err, told)
    return found


def check_printed(text: str, told: str) -> None:
    """Raise Failure if a text has characters that a terminal would obey, or very long lines."""
    if control := _CONTROL.search(text.replace("\r\n", "\n")):
        raise Failure(f"{told}: prints the control character {control[0]!r}")
    if (longest := max(map(len, text.splitlines()), default=0)) > MAX_LINE:
        raise Failure(f"{told[:500]}: prints a line of {longest} characters")


def write(path: Path, data: bytes) -> str:
    """Write a file, and return its name as an argument."""
    path.write_bytes(data)
    return str(path)
