"""Rollback of a model's attributes when learning fails."""

from __future__ import annotations

from typing import Any


class rollback_on_error:  # noqa: N801  used like a function; a class, because a generator costs microseconds per record
    """Restore the attributes of a model if the block raises; the block must not change their values in place."""

    __slots__ = ("_before", "_model")

    def __init__(self, model: Any) -> None:
        self._model = model

    def __enter__(self) -> None:
        self._before = dict(vars(self._model))

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self._model.__dict__ = self._before
