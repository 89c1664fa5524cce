"""Tables of measurements on stdout, and a description of the machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import sklearn

from anystream import _native


def machine() -> str:
    """Return the processor, the cores, the instruction set in use and the versions that a measurement was made with.

    The instruction set is the one that ANYSTREAM_ISA forces, or else the best one of the processor.
    """
    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor() or platform.machine(),
    )
    return (
        f"{model}, {os.cpu_count()} cores, instruction set {_native.isa}; Python {platform.python_version()}, "
        f"numpy {np.__version__}, scikit-learn {sklearn.__version__}"
    )


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]], notes: Sequence[str] = ()) -> None:
    """Print a table as Markdown that is also readable in a terminal; below it the notes, and `machine()` in any case."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in [list(header), *cells]) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"

    print(f"\n## {title}\n\n{line(list(header))}\n|{'|'.join('-' * (width + 2) for width in widths)}|")
    for row in cells:
        print(line(row))
    for note in notes if any(machine() in note for note in notes) else [*notes, machine()]:
        print(f"- {note}")
    sys.stdout.flush()


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []
