"""Drafts: learning changes a draft of the model and publishes it at once, when nothing can fail any more."""

from __future__ import annotations

from typing import Generic, TypeVar

Model = TypeVar("Model")


class draft_of(Generic[Model]):  # noqa: N801  used like a function; a generator would cost microseconds per record
    """Block that learns in a draft of a model, whose attributes the model gets at its end, by one assignment.

    If the block raises, or is interrupted, the model does not change. A thread that classifies meanwhile uses either
    the old attributes or the new ones. The draft shares the values of all attributes; the block assigns new ones and
    must not change them in place. What another thread assigns to the model meanwhile, such as a parameter, is kept.
    """

    __slots__ = ("_before", "_draft", "_model")

    def __init__(self, model: Model) -> None:
        self._model = model

    def __enter__(self) -> Model:
        self._before = dict(vars(self._model))
        self._draft = object.__new__(type(self._model))
        self._draft.__dict__ = dict(self._before)
        return self._draft

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            return
        learned, before = vars(self._draft), self._before
        for name, value in dict(vars(self._model)).items():
            if before.get(name) is not value:
                learned[name] = value
        self._model.__dict__ = learned
