"""Printed results of the papers, as facts: one JSON file per paper in the folder ``figures``.

Each file has the reference of the paper under ``paper``, its tables under ``tables`` (by figure: where they stand, what
they contain, and the numbers by row and column) and the statements of its text under ``claims`` (where they stand, and
what they say in our words).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).with_name("figures")


@dataclass(frozen=True)
class Facts:
    """Reference, tables and statements of one paper."""

    reference: str
    tables: dict[str, Any]
    claims: dict[str, dict[str, str]]

    @classmethod
    def load(cls, name: str) -> Facts:
        """Return the facts of a paper by the name of its command."""
        stored = json.loads((_FOLDER / f"{name}.json").read_text())
        return cls(stored["paper"], stored["tables"], stored["claims"])

    def value(self, table: str, row: str, column: str) -> float | None:
        """Return a printed number; None where the paper has none."""
        found = self.tables[table]["rows"].get(row, {}).get(column)
        return None if found is None else float(found)
