"""Answers as lines of text: JSON for files and brokers, and what all formats of lines share."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.errors import RecordError
from anystream.runtime.contracts import AnsweredRecords


class AnswerLines(ABC):
    """Answers as lines; the texts of the classes are made once.

    Parameters
    ----------
    proba, unknown, keep, confident
        See `anystream.connectors.file_sink.JsonLinesSink`.
    """

    def __init__(
        self, *, proba: bool = False, unknown: bool = False, keep: Sequence[str] = (), confident: bool = False
    ) -> None:
        self._proba = proba
        self._confident = confident
        self._unknown = unknown
        self._keep = name_kept(keep)
        self._classes: NDArray[Any] | None = None
        self._texts: dict[Any, str] = {}

    def format_answers(self, answers: AnsweredRecords) -> Sequence[str]:
        """Return one line per answer; raise `RecordError` if one of them has no text."""
        if self._classes is not answers.classes:
            self._classes = answers.classes
            self._texts = {label: self.format_value(label) for label in answers.classes.tolist()}
        try:
            return self.format_lines(answers)
        except (MemoryError, OSError):
            raise
        except Exception as error:  # such as a key that has no text
            raise RecordError(f"its key or label has no text ({error or type(error).__name__})") from error

    @staticmethod
    @abstractmethod
    def format_value(value: Any) -> str:
        """Return a label or key as text."""

    @abstractmethod
    def format_lines(self, answers: AnsweredRecords) -> Sequence[str]:
        """Return one line per answer."""


class JsonAnswerLines(AnswerLines):
    """Answers as JSON objects: key, label, confidence, steps, certified, late; with `proba` all probabilities."""

    @staticmethod
    def format_value(value: Any) -> str:
        """Return a label or key as JSON."""
        return json.dumps(value, allow_nan=False)

    def format_lines(self, answers: AnsweredRecords) -> Sequence[str]:
        """Return one object per answer."""
        texts = self._texts
        lines = [
            f'{{"key": {key}, "label": {texts[label]}, "confidence": {confidence!r}, "steps": {steps}, '
            f'"certified": {"true" if certified else "false"}, "late": {"true" if late else "false"}}}\n'
            for key, label, confidence, steps, certified, late in answer_rows(answers, self.format_value)
        ]
        if self._proba:
            names = [json.dumps(str(label)) for label in answers.classes.tolist()]
            lines = [
                f'{line[:-2]}, "proba": {{{", ".join(f"{n}: {p!r}" for n, p in zip(names, row, strict=True))}}}}}\n'
                for line, row in zip(lines, answers.proba.round(6).tolist(), strict=True)
            ]
        if self._unknown or (answers.unknown is not None and answers.unknown.any()):
            marks = np.zeros(len(lines), dtype=np.bool_) if answers.unknown is None else answers.unknown
            lines = [
                f'{line[:-2]}, "unknown": {"true" if mark else "false"}}}\n' if mark or self._unknown else line
                for line, mark in zip(lines, marks.tolist(), strict=True)
            ]
        if self._confident or (answers.confident is not None and answers.confident.any()):
            marks = np.zeros(len(lines), dtype=np.bool_) if answers.confident is None else answers.confident
            lines = [
                f'{line[:-2]}, "confident": {"true" if mark else "false"}}}\n' if mark or self._confident else line
                for line, mark in zip(lines, marks.tolist(), strict=True)
            ]
        if answers.reached is not None and not answers.reached.all():
            lines = [
                line if reached else f'{line[:-2]}, "reached": false}}\n'
                for line, reached in zip(lines, answers.reached.tolist(), strict=True)
            ]
        if self._keep and answers.kept is not None:
            lines = [
                f"{line[:-2]}, {json.dumps(_name_cells(self._keep, cells), default=str)[1:]}\n"
                for line, cells in zip(lines, answers.kept, strict=True)
            ]
        return lines


def name_kept(names: Sequence[str]) -> list[str]:
    """Return the names of kept cells in an answer: those that the answer has itself begin with ``input_``."""
    own = ("key", "label", "confidence", "steps", "certified", "late", "proba", "unknown", "reached", "confident")
    return [f"input_{name}" if name in own else name for name in names]


def _name_cells(names: Sequence[str], cells: Sequence[Any]) -> dict[str, Any]:
    """Return cells by name, with None for a number that JSON does not have."""
    plain = (cell.item() if isinstance(cell, np.generic) else cell for cell in cells)
    return {
        name: None if isinstance(cell, float) and not math.isfinite(cell) else cell
        for name, cell in zip(names, plain, strict=True)
    }


def answer_rows(answers: AnsweredRecords, format_key: Callable[[Any], str]) -> Iterator[tuple[Any, ...]]:
    """Yield key as text, label, confidence, steps, certified and late of each record."""
    return zip(
        _format_keys(answers.key, format_key),
        answers.label.tolist(),
        answers.proba.max(axis=1).round(6).tolist(),
        answers.steps.tolist(),
        answers.certified.tolist(),
        answers.late.tolist(),
        strict=True,
    )


def _format_keys(keys: NDArray[Any], format_value: Callable[[Any], str]) -> list[str]:
    if keys.dtype.kind in "iu":
        return list(map(str, keys.tolist()))
    return [format_value(_to_plain(key)) for key in keys.tolist()]


def _to_plain(key: Any) -> Any:
    if isinstance(key, np.generic):
        key = key.item()
    return key if isinstance(key, str | int | float | None) else str(key)
