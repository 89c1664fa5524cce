"""Leaving a model as it was when learning fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def as_it_was_on_error(model: Any) -> Iterator[None]:
    """Give a model its attributes back if the block raises; what they refer to must not have changed in place."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        model.__dict__ = before
        raise
