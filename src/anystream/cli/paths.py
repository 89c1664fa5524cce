"""Check that no command overwrites a file that it reads or writes elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def check_distinct_files(inputs: Mapping[str, str | None], outputs: Mapping[str, str | None]) -> None:
    """Raise ValueError if an output is an input or another output.

    Parameters
    ----------
    inputs, outputs : mapping of str to path or None
        Paths by the names that they have in the error message; None and ``"-"`` are no files.
    """
    used: dict[Path, str] = {}
    for name, path in [*inputs.items(), *outputs.items()]:
        if path is None or path == "-":
            continue
        resolved = Path(path).resolve()
        if name in outputs and resolved in used:
            raise ValueError(f"{name} is {path}, which is {used[resolved]}; write to another file")
        if resolved.is_file() or not resolved.exists():  # a pipe or /dev/null can be used several times
            used[resolved] = name
