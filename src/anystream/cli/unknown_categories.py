"""Categories that are not in the training data: the option for them, and the report."""

from __future__ import annotations

from anystream.cli.visible_text import visible

UNKNOWN_POLICIES = ("missing", "reject")


def check_unknown(policy: str) -> str:
    """Raise ValueError if the value of ``--unknown`` is invalid; return it."""
    if policy not in UNKNOWN_POLICIES:
        raise ValueError(f"--unknown is {policy!r}; use one of {', '.join(UNKNOWN_POLICIES)}")
    return policy


def describe_unknown(count: int, first: str) -> str:
    """Return a line about records with unknown categories, of which `first` describes one."""
    return (
        f"{count} record{'' if count == 1 else 's'} with a category that is not in the training data, counted as "
        f"missing (--unknown reject rejects them), the first is {visible(first)}"
    )
