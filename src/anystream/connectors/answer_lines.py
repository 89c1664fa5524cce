"""Answers as lines of text: JSON for files and brokers, and what all formats of lines share."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import reduce
from json.encoder import encode_basestring_ascii
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.anytime.errors import RecordError
from anystream.runtime.contracts import AnsweredRecords

_T = TypeVar("_T")
_N_VALUES = 4  # key, label, confidence and steps; flags follow
_FEW_COLUMNS = 16
_NO_TEXTS = b"", np.empty(0, dtype=np.int64)


class LineFrame(NamedTuple):
    """What stands around the values of a line: before each of them, and at its end.

    Parameters
    ----------
    between : list of str
        Before key, label, confidence, steps, certified, late and, if written, reached; and at the end of the line.
    yes, no : str
        How true and false are written.
    """

    between: list[str]
    yes: str
    no: str


class AnswerLines(ABC):
    """Answers as lines; the texts of the classes are made once.

    Parameters
    ----------
    proba, unknown, keep, confident
        See `anystream.connectors.file_sink.JsonLinesSink`.
    """

    frame: ClassVar[LineFrame]
    """Of lines that hold nothing else."""

    def __init__(
        self, *, proba: bool = False, unknown: bool = False, keep: Sequence[str] = (), confident: bool = False
    ) -> None:
        self._proba = proba
        self._confident = confident
        self._unknown = unknown
        self._keep = name_kept(keep)
        self._classes: NDArray[Any] | None = None
        self._texts: dict[Any, str] = {}  # of the classes
        self._numbers: dict[Any, int] = {}
        self._joined_texts = _NO_TEXTS

    def format_answers(self, answers: AnsweredRecords) -> Sequence[str]:
        """Return one line per answer; raise `RecordError` if one of them has no text."""
        return self._format(answers, self.format_lines)

    def format_text(self, answers: AnsweredRecords) -> bytes:
        """Return the lines of all answers; raise `RecordError` if one of them has no text."""
        return self._format(answers, self._format_text)

    def _format(self, answers: AnsweredRecords, write: Callable[[AnsweredRecords], _T]) -> _T:
        try:
            if self._classes is not answers.classes:
                self._texts = {label: self.format_value(label) for label in answers.classes.tolist()}
                self._numbers = {label: number for number, label in enumerate(self._texts)}
                self._joined_texts = _join_texts(self._texts.values())
                self._classes = answers.classes
            return write(answers)
        except (MemoryError, OSError):
            raise
        except Exception as error:  # such as a key that has no text
            raise RecordError(f"its key or label has no text ({error or type(error).__name__})") from error

    def _format_text(self, answers: AnsweredRecords) -> bytes:
        confidence = _row_maxima(answers.proba)
        has_more = self._proba or self._keep or self._unknown or self._confident or not self.has_plain_flags(answers)
        if has_more or not np.all((confidence >= 0) & (confidence < 2)):  # rounding may be above 1
            return _encode("".join(self.format_lines(answers)))
        reached = np.ones(len(answers.steps), dtype=np.bool_) if answers.reached is None else answers.reached
        flags = [answers.certified, answers.late, reached][: len(self.frame.between) - _N_VALUES - 1]
        key = np.asarray(answers.key)
        has_numbers = key.dtype.kind == "i"
        return _native.format_answers(
            key.astype(np.int64, copy=False) if has_numbers else _NO_TEXTS[1],
            *(_NO_TEXTS if has_numbers else _join_texts(self.format_keys(key))),
            *self._joined_texts,
            self._number_labels(answers.label),
            confidence,
            np.ascontiguousarray(answers.steps, dtype=np.int64),
            [np.ascontiguousarray(flag) for flag in flags],
            self.frame.between,
            self.frame.yes,
            self.frame.no,
        )

    def _number_labels(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return the place of each label among the classes."""
        assert self._classes is not None
        if labels.dtype.kind in "iuf":
            numbers = np.searchsorted(self._classes, labels).astype(np.int64, copy=False)  # classes usually ascend
            if np.array_equal(self._classes.take(numbers, mode="clip"), labels):
                return numbers
        return np.fromiter(map(self._numbers.__getitem__, labels.tolist()), dtype=np.int64, count=len(labels))

    @staticmethod
    @abstractmethod
    def has_plain_flags(answers: AnsweredRecords) -> bool:
        """Whether lines hold nothing but the values of `frame`."""

    @staticmethod
    @abstractmethod
    def format_value(value: Any) -> str:
        """Return a label or key as text."""

    def format_keys(self, keys: NDArray[Any]) -> list[str]:
        """Return keys as text."""
        values = keys.tolist()
        if keys.dtype.kind in "iu":
            return list(map(str, values))
        if set(map(type, values)) == {str}:
            return self.format_texts(values)
        return [self.format_value(_to_plain(key)) for key in values]

    def format_texts(self, texts: list[str]) -> list[str]:
        """Return what `format_value` returns for each text."""
        return list(map(self.format_value, texts))

    @abstractmethod
    def format_lines(self, answers: AnsweredRecords) -> Sequence[str]:
        """Return one line per answer."""


class JsonAnswerLines(AnswerLines):
    """Answers as JSON objects: key, label, confidence, steps, certified, late; with `proba` all probabilities."""

    frame: ClassVar[LineFrame] = LineFrame(
        ['{"key": ', ', "label": ', ', "confidence": ', ', "steps": ', ', "certified": ', ', "late": ', "}\n"],
        "true",
        "false",
    )

    @staticmethod
    def has_plain_flags(answers: AnsweredRecords) -> bool:
        """Whether no answer has a flag that is written only where it is set."""
        return (
            (answers.unknown is None or not answers.unknown.any())
            and (answers.confident is None or not answers.confident.any())
            and (answers.reached is None or bool(answers.reached.all()))
        )

    @staticmethod
    def format_value(value: Any) -> str:
        """Return a label or key as JSON."""
        return encode_basestring_ascii(value) if type(value) is str else json.dumps(value, allow_nan=False)

    def format_lines(self, answers: AnsweredRecords) -> Sequence[str]:
        """Return one object per answer."""
        texts = self._texts
        lines = [
            f'{{"key": {key}, "label": {texts[label]}, "confidence": {confidence!r}, "steps": {steps}, '
            f'"certified": {"true" if certified else "false"}, "late": {"true" if late else "false"}}}\n'
            for key, label, confidence, steps, certified, late in answer_rows(answers, self.format_keys(answers.key))
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


def answer_rows(answers: AnsweredRecords, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield key as text, label, confidence, steps, certified and late of each record."""
    return zip(
        keys,
        answers.label.tolist(),
        answers.proba.max(axis=1).round(6).tolist(),
        answers.steps.tolist(),
        answers.certified.tolist(),
        answers.late.tolist(),
        strict=True,
    )


def _row_maxima(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the maximum of each row."""
    if not 1 < matrix.shape[1] <= _FEW_COLUMNS:
        return np.asarray(matrix.max(axis=1))
    return reduce(np.maximum, matrix.T)  # a tenth of the time of the other


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _join_texts(texts: Collection[str]) -> tuple[bytes, NDArray[np.int64]]:
    """Return texts one after the other, and where each ends."""
    joined = "".join(texts)
    if joined.isascii():
        return joined.encode(), np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
    parts = list(map(_encode, texts))
    return b"".join(parts), np.cumsum(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)))


def _to_plain(key: Any) -> Any:
    if isinstance(key, np.generic):
        key = key.item()
    return key if isinstance(key, str | int | float | None) else str(key)
