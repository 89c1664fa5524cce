"""Every guarantee of the documentation names a test or an attack that exists."""

import ast
import re
from pathlib import Path

from attack.__main__ import ATTACKS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text()
PROMISES, ATTACK_TABLE = (
    [
        line
        for line in part.splitlines()
        if line.startswith("| ") and not line.startswith(("| guarantee |", "| attack |"))
    ]
    for part in PAGE.split("## The attacks")
)


def test_the_tests_that_hold_a_guarantee_exist():
    named = re.findall(r"`(tests/[^`]*)::([^`]*)`", PAGE)
    assert len(named) > 20
    for path, name in named:
        functions = {node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if hasattr(node, "name")}
        assert name in functions, f"{path} has no {name}"


def test_every_guarantee_names_what_holds_it():
    for row in PROMISES:
        held_by = row.rsplit("|", 2)[1]
        attacks = re.findall(r"`(\w+)`", held_by)
        assert attacks or "::" in held_by, row
        assert set(attacks) <= set(ATTACKS), row


def test_every_attack_is_described():
    assert [row.split("`")[1] for row in ATTACK_TABLE] == list(ATTACKS)
