"""Rollback of a model's attributes when learning fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def rollback_on_error(model: Any) -> Iterator[None]:
    """Restore the attributes of a model if the block raises; the block must not change their values in place."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        model.__dict__ = before
        raise
