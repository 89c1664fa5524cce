"""Every row of the page that lists the papers item by item names a test that exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROWS = [
    line
    for line in (ROOT / "docs" / "explanations" / "papers.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| printed |", "| paper |"))
]


def functions_of(path):
    return {node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_printed_item_names_a_test_that_exists():
    assert len(ROWS) > 30
    for row in ROWS:
        named = re.findall(r"`(tests/[^`]*)::(test_[^`]*)`", row.rsplit("|", 2)[1])
        assert named, f"no test is named: {row}"
        for path, name in named:
            assert name in functions_of(path), f"{path} has no {name}"
