"""Labels by key, from any source whose records carry both."""

from __future__ import annotations

from typing import Any

from anystream.runtime.contracts import BrokerSource, LabelPollResult, LateLabel, Source, is_broker


class LabelPairs:
    """Keys and labels of a source.

    Parameters
    ----------
    source : Source
        Such as a `JsonLinesSource` with a schema of key and label alone.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def broker(self) -> BrokerSource | None:
        """The source, if it acknowledges record by record."""
        return self._source if is_broker(self._source) else None

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
        records, rejected = self._source.poll(max_labels)
        columns = (records.key.tolist(), records.label, records.offset.tolist(), records.line.tolist())
        labels = [
            LateLabel(key, label, offset, line or None) for key, label, offset, line in zip(*columns, strict=True)
        ]
        return LabelPollResult(labels, rejected)

    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint of the source."""
        return self._source.fingerprint()

    def seek(self, offset: int, fingerprint: dict[str, Any] | None = None) -> None:
        """Continue from `offset`."""
        self._source.seek(offset, fingerprint)

    def close(self) -> None:
        """Close the source."""
        self._source.close()
