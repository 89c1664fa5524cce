"""Labels by key, from any source whose records carry both."""

from __future__ import annotations

from typing import Any

from anystream.runtime.contracts import LabelPollResult, Source
from anystream.runtime.records import RejectedRecord


class LabelPairs:
    """The pairs (key, label) of a source; records without a key or label are rejected.

    Parameters
    ----------
    source : Source
        Such as a `JsonLinesSource` with a schema of key and label alone.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def offset(self) -> int:
        """Where the next pair begins."""
        return self._source.offset

    @property
    def done(self) -> bool:
        """Whether no further pair will ever come."""
        return self._source.done

    def poll(self, max_labels: int) -> LabelPollResult:
        """Return the next pairs that are available already."""
        records, malformed = self._source.poll(max_labels)
        pairs: list[tuple[Any, Any]] = []
        rejected = list(malformed)
        for key, label, offset in zip(records.key.tolist(), records.label, records.offset.tolist(), strict=True):
            if key is None or label is None:
                missing = "key" if key is None else "label"
                rejected.append(RejectedRecord(f"the record has no {missing}", offset, None, key))
            else:
                pairs.append((key, label))
        return LabelPollResult(pairs, rejected)

    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint of the source."""
        return self._source.fingerprint()

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from `offset`."""
        self._source.seek(offset, fingerprint)

    def close(self) -> None:
        """Close the source."""
        self._source.close()
