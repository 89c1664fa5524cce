"""Check of the options ``--queue`` and ``--overflow``."""

from __future__ import annotations

from typing import cast

from anystream.runtime.queue import OVERFLOW_POLICIES, OverflowPolicy


def check_queue_options(capacity: int, overflow: str) -> OverflowPolicy:
    """Raise ValueError if the capacity or the overflow policy is invalid; return the policy."""
    if capacity < 1:
        raise ValueError(f"--queue is {capacity}; use 1 record or more")
    if overflow not in OVERFLOW_POLICIES:
        raise ValueError(f"--overflow is {overflow!r}; use one of {', '.join(OVERFLOW_POLICIES)}")
    return cast(OverflowPolicy, overflow)
