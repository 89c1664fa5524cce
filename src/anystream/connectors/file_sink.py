"""Answers and dead letters as lines of a file or of standard output."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.errors import RecordError
from anystream.model_file.replace_file import sync_folder
from anystream.runtime.contracts import AnsweredRecords
from anystream.runtime.records import RejectedRecord, printable_key

_TAIL_BYTES = 2**16  # bytes before a mark by which a file is recognised


class _LineFile:
    """A file that is written in whole lines and can be truncated to the mark of a checkpoint."""

    def __init__(self, path: str | os.PathLike[str], *, resume: bool = False) -> None:
        self._file: BinaryIO
        self._is_file = path != "-"
        if self._is_file:
            self._name = str(path)
            mode = "r+" if resume and Path(path).exists() else "w+"  # also read, by `_hash_tail`
            self._synced_name = mode == "r+"
            self._file = BufferedWriter(FileIO(Path(path), mode))
            self._file.seek(0, os.SEEK_END)
        else:
            self._file, self._name = sys.stdout.buffer, "standard output"

    def flush(self) -> None:
        """Hand everything written to the system: it survives the end of the process."""
        with self._name_in_errors():
            self._file.flush()

    def mark(self, *, complete: bool) -> dict[str, Any]:
        """Return the path of the file, the bytes in it, and a hash of the last of them."""
        self.flush()
        if not self._is_file:
            return {}
        n_bytes = self._file.tell()
        path = str(Path(self._name).resolve())
        return {"path": path, "bytes": n_bytes, "tail_hash": self._hash_tail(n_bytes), "complete": complete}

    def sync(self) -> None:
        """Write everything that was flushed to disk, so that it survives the end of the system, too."""
        if self._is_file:
            with self._name_in_errors():
                os.fsync(self._file.fileno())
            if not self._synced_name:  # a new file: its name must survive as well
                sync_folder(Path(self._name).resolve().parent)
                self._synced_name = True

    def rewind(self, mark: dict[str, Any] | None) -> None:
        """Remove what was written after `mark`; raise ValueError if the run did not write it."""
        if not self._is_file:
            raise ValueError(
                "standard output cannot be rewound to a checkpoint; write to a file, or start from scratch"
            )
        n_bytes = self._file.seek(0, os.SEEK_END)
        if mark is None:
            if n_bytes:
                raise ValueError(f"{self._name} holds {n_bytes} bytes that the run did not write; name a new file")
            return
        position = mark["bytes"]
        if n_bytes < position or self._hash_tail(position) != mark["tail_hash"] or self._is_unknown(mark, n_bytes):
            raise ValueError(
                f"{self._name} does not begin with the {position} bytes that the run wrote to {mark['path']}; name "
                "that file"
            )
        if mark["complete"] and n_bytes > position:
            raise ValueError(
                f"{self._name} was complete with {position} bytes and has {n_bytes} now; remove what was added"
            )
        self._file.seek(position)
        self._file.truncate()

    def close(self) -> None:
        """Flush, and close the file."""
        self.flush()
        if self._is_file:
            self._file.close()

    def _write(self, content: bytes) -> None:
        with self._name_in_errors():
            self._file.write(content)

    def _hash_tail(self, position: int) -> str:
        """Return a hash of the last bytes before `position`."""
        n_bytes = min(position, _TAIL_BYTES)
        return hashlib.sha256(os.pread(self._file.fileno(), n_bytes, position - n_bytes)).hexdigest()

    def _is_unknown(self, mark: dict[str, Any], n_bytes: int) -> bool:
        """Whether no content tells that this is the file of the mark, and its path neither."""
        return mark["bytes"] == 0 and n_bytes > 0 and mark["path"] != str(Path(self._name).resolve())

    @contextmanager
    def _name_in_errors(self) -> Iterator[None]:
        """Name the file in errors of the system, such as a full disk."""
        try:
            yield
        except OSError as error:
            if error.errno is None:
                raise
            raise OSError(error.errno, error.strerror, self._name) from error


class _AnswerFile(_LineFile, ABC):
    """Answers as lines; the texts of the classes are made once."""

    def __init__(self, path: str | os.PathLike[str], *, proba: bool = False, resume: bool = False) -> None:
        super().__init__(path, resume=resume)
        self._proba = proba
        self._classes: NDArray[Any] | None = None
        self._texts: dict[Any, str] = {}

    def write(self, answers: AnsweredRecords) -> None:
        """Append the answers."""
        if self._classes is not answers.classes:
            self._classes = answers.classes
            self._texts = {label: self._format_value(label) for label in answers.classes.tolist()}
        try:
            lines = "".join(self._format_lines(answers)).encode("utf-8", "backslashreplace")
        except (MemoryError, OSError):
            raise
        except Exception as error:  # such as a key that has no text
            raise RecordError(f"its key or label has no text ({error or type(error).__name__})") from error
        self._write(lines)

    @staticmethod
    @abstractmethod
    def _format_value(value: Any) -> str:
        """Return a label or key in the format of the file."""

    @abstractmethod
    def _format_lines(self, answers: AnsweredRecords) -> Sequence[str]:
        """Return one line per answer."""


class JsonLinesSink(_AnswerFile):
    """Answers as JSON lines: key, label, confidence, steps, certified, late; with `proba` all probabilities.

    Parameters
    ----------
    path : path or "-"
        A file, or standard output.
    proba : bool, default=False
        Write the probability of every class.
    resume : bool, default=False
        Keep the content of the file; a checkpoint truncates it to its mark.
    """

    @staticmethod
    def _format_value(value: Any) -> str:
        return json.dumps(value, allow_nan=False)

    def _format_lines(self, answers: AnsweredRecords) -> Sequence[str]:
        texts = self._texts
        lines = [
            f'{{"key": {key}, "label": {texts[label]}, "confidence": {confidence!r}, "steps": {steps}, '
            f'"certified": {"true" if certified else "false"}, "late": {"true" if late else "false"}}}\n'
            for key, label, confidence, steps, certified, late in _answer_rows(answers, self._format_value)
        ]
        if self._proba:
            names = [json.dumps(str(label)) for label in answers.classes.tolist()]
            lines = [
                f'{line[:-2]}, "proba": {{{", ".join(f"{n}: {p!r}" for n, p in zip(names, row, strict=True))}}}}}\n'
                for line, row in zip(lines, answers.proba.round(6).tolist(), strict=True)
            ]
        return lines


class CsvSink(_AnswerFile):
    """Answers as CSV with the columns key, label, confidence, steps, certified, late; with `proba` one more per class.

    Parameters are those of `JsonLinesSink`. With `proba`, the classes are those of the first answers.
    """

    def write(self, answers: AnsweredRecords) -> None:
        """Append the answers, below the header."""
        if self._classes is None and (not self._is_file or self._file.tell() == 0):
            names = ["key", "label", "confidence", "steps", "certified", "late"]
            if self._proba:
                names += [self._format_value(f"proba_{label}") for label in answers.classes.tolist()]
            self._write((",".join(names) + "\n").encode())
        super().write(answers)

    @staticmethod
    def _format_value(value: Any) -> str:
        text = str(value)
        return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text

    def _format_lines(self, answers: AnsweredRecords) -> Sequence[str]:
        texts = self._texts
        lines = [
            f"{key},{texts[label]},{confidence!r},{steps},{int(certified)},{int(late)}\n"
            for key, label, confidence, steps, certified, late in _answer_rows(answers, self._format_value)
        ]
        if self._proba:
            lines = [
                f"{line[:-1]},{','.join(map(repr, row))}\n"
                for line, row in zip(lines, answers.proba.round(6).tolist(), strict=True)
            ]
        return lines


class DeadLetterFile(_LineFile):
    """Rejected records as JSON lines: line number, key, reason and the content of the record.

    Parameters
    ----------
    path : path
        The file.
    resume : bool, default=False
        Keep the content of the file; a checkpoint truncates it to its mark.
    """

    def write(self, rejected: Sequence[RejectedRecord]) -> None:
        """Append the rejected records."""
        for found in rejected:
            key = printable_key(found.key)
            members = {"line": found.line, "key": key, "reason": found.reason, "record": found.record}
            line = json.dumps({name: value for name, value in members.items() if value is not None}, ensure_ascii=False)
            self._write(line.encode("utf-8", "backslashreplace") + b"\n")  # an escape of JSON for a surrogate


def _answer_rows(answers: AnsweredRecords, format_key: Callable[[Any], str]) -> Iterator[tuple[Any, ...]]:
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
