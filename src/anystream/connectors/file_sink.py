"""Answers and dead letters as lines of a file or of standard output."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream.connectors.answer_lines import AnswerLines, JsonAnswerLines, LineFrame, answer_rows
from anystream.model_file.replace_file import sync_folder
from anystream.runtime.contracts import AnsweredRecords
from anystream.runtime.records import Origin, RejectedRecord, printable_key

_find_mark = re.compile('[,"\r\n]').search  # what a cell of CSV has only inside quotes
_TAIL_BYTES = 2**16  # bytes before a mark by which a file is recognised


class _LineFile:
    """A file that is written in whole lines and can be truncated to the mark of a checkpoint."""

    def __init__(self, path: str | os.PathLike[str], *, resume: bool = False, append: bool = False) -> None:
        self._file: BinaryIO
        self._is_file = path != "-"
        if self._is_file:
            self._name = str(path)
            mode = "r+" if (resume or append) and Path(path).exists() else "w+"  # also read, by `_hash_tail`
            self._synced_name = mode == "r+"
            self._file = BufferedWriter(FileIO(Path(path), mode))
            n_bytes = self._file.seek(0, os.SEEK_END)
            if append and n_bytes and os.pread(self._file.fileno(), 1, n_bytes - 1) != b"\n":
                self._file.write(b"\n")
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


class _AnswerFile(AnswerLines, _LineFile):
    """Answers as lines of a file."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        proba: bool = False,
        unknown: bool = False,
        keep: Sequence[str] = (),
        confident: bool = False,
        resume: bool = False,
        append: bool = False,
    ) -> None:
        _LineFile.__init__(self, path, resume=resume, append=append)
        AnswerLines.__init__(self, proba=proba, unknown=unknown, keep=keep, confident=confident)

    def write(self, answers: AnsweredRecords) -> None:
        """Append the answers."""
        self._write(self.format_text(answers))


class JsonLinesSink(JsonAnswerLines, _AnswerFile):
    """Answers as JSON lines: key, label, confidence, steps, certified, late; with `proba` all probabilities.

    An answer to a record for which there was no time at all has ``"reached": false``, one that a test of the classifier
    ended without a certificate ``"confident": true``.

    Parameters
    ----------
    path : path or "-"
        A file, or standard output.
    proba : bool, default=False
        Write the probability of every class.
    unknown : bool, default=False
        Mark every answer by whether something in its record was unknown; by default only where that is so, which CSV
        cannot.
    keep : sequence of str
        Names of the cells that records carry into their answers (`Schema.keep`).
    confident : bool, default=False
        Mark every answer by whether a test of the classifier ended it without a certificate; by default only where that
        is so, which CSV cannot.
    resume : bool, default=False
        Keep the content of the file; a checkpoint truncates it to its mark.
    append : bool, default=False
        Keep the content of the file for good: what it holds belongs to records that do not come again. A last line that
        a kill has torn is ended.
    """


class CsvSink(_AnswerFile):
    """Answers as CSV: key, label, confidence, steps, certified, late, reached; with `proba` one more column per class.

    Column ``reached`` is 0 for a record for which there was no time at all. Parameters are those of `JsonLinesSink`.
    With `proba`, the classes are those of the first answers.
    """

    frame: ClassVar[LineFrame] = LineFrame(["", *[","] * 6, "\n"], "1", "0")

    @staticmethod
    def has_plain_flags(answers: AnsweredRecords) -> bool:
        """Whether no answer has a column of its own: always, in a table."""
        return True

    def write(self, answers: AnsweredRecords) -> None:
        """Append the answers, below the header."""
        if self._classes is None and (not self._is_file or self._file.tell() == 0):
            names = ["key", "label", "confidence", "steps", "certified", "late", "reached"]
            if self._proba:
                names += [self.format_value(f"proba_{label}") for label in answers.classes.tolist()]
            names += ["unknown"] if self._unknown else []
            names += ["confident"] if self._confident else []
            names += map(self.format_value, self._keep)
            self._write((",".join(names) + "\n").encode())
        super().write(answers)

    @staticmethod
    def format_value(value: Any) -> str:
        """Return a label or key as a cell."""
        text = str(value)
        return '"' + text.replace('"', '""') + '"' if _find_mark(text) is not None else text

    def format_texts(self, texts: list[str]) -> list[str]:
        """Return texts as cells; usually none of them needs quotes."""
        return texts if _find_mark("".join(texts)) is None else super().format_texts(texts)

    def format_lines(self, answers: AnsweredRecords) -> Sequence[str]:
        """Return one line per answer."""
        texts = self._texts
        rows = answer_rows(answers, self.format_keys(answers.key))
        lines = [
            f"{key},{texts[label]},{confidence!r},{steps},{int(certified)},{int(late)},{int(reached)}\n"
            for (key, label, confidence, steps, certified, late), reached in zip(
                rows, _reached(answers).tolist(), strict=True
            )
        ]
        if self._proba:
            lines = [
                f"{line[:-1]},{','.join(map(repr, row))}\n"
                for line, row in zip(lines, answers.proba.round(6).tolist(), strict=True)
            ]
        if self._unknown:
            marks = np.zeros(len(lines), dtype=np.bool_) if answers.unknown is None else answers.unknown
            lines = [f"{line[:-1]},{int(mark)}\n" for line, mark in zip(lines, marks.tolist(), strict=True)]
        if self._confident:
            marks = np.zeros(len(lines), dtype=np.bool_) if answers.confident is None else answers.confident
            lines = [f"{line[:-1]},{int(mark)}\n" for line, mark in zip(lines, marks.tolist(), strict=True)]
        if self._keep and answers.kept is not None:
            lines = [
                f"{line[:-1]},{','.join(self.format_value('' if cell is None else cell) for cell in cells)}\n"
                for line, cells in zip(lines, answers.kept, strict=True)
            ]
        return lines


def _reached(answers: AnsweredRecords) -> NDArray[np.bool_]:
    return np.ones(len(answers.steps), dtype=np.bool_) if answers.reached is None else answers.reached


class DeadLetterFile(_LineFile):
    """Rejected records as JSON lines: line number, key, reason and the content of the record.

    A record of a broker has its origin beside them, with the original bytes, so that it can be sent again.

    Parameters
    ----------
    path : path
        The file.
    resume : bool, default=False
        Keep the content of the file; a checkpoint truncates it to its mark.
    append : bool, default=False
        Keep the content of the file for good: what it holds belongs to records that do not come again. A last line that
        a kill has torn is ended.
    """

    def write(self, rejected: Sequence[RejectedRecord]) -> None:
        """Append the rejected records."""
        for found in rejected:
            key = printable_key(found.key)
            members = {"line": found.line, "key": key, "reason": found.reason, "record": found.record}
            if found.origin is not None:
                members |= _describe_origin(found.origin)
            line = json.dumps({name: value for name, value in members.items() if value is not None}, ensure_ascii=False)
            self._write(line.encode("utf-8", "backslashreplace") + b"\n")  # an escape of JSON for a surrogate


def _describe_origin(origin: Origin) -> dict[str, Any]:
    """Return an origin as JSON values; bytes in base 64, so that they can be sent again unchanged."""
    found = {
        "broker": origin.broker,
        "stream": origin.stream,
        "partition": origin.partition or None,
        "position": origin.position,
        "time_s": origin.time_s,
        "value_base64": None if origin.value is None else to_base64(origin.value),
        "key_base64": None if origin.key is None else to_base64(origin.key),
        "headers_base64": [[name, to_base64(value)] for name, value in origin.headers] or None,
    }
    return {"origin": {name: value for name, value in found.items() if value is not None}}


def to_base64(value: bytes) -> str:
    """Return bytes as a text of base 64."""
    return base64.b64encode(value).decode()
