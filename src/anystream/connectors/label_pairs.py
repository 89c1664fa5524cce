"""Labels by key, from any source whose records carry both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anystream.connectors.protocols import Source


class LabelPairs:
    """The pairs (key, label) of a source; records without a label are passed over.

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
        """No pair will come again."""
        return self._source.done

    def poll(self, most: int) -> Sequence[tuple[Any, Any]]:
        """The next pairs that are there already."""
        items, _ = self._source.poll(most)
        return [(key, label) for key, label in zip(items.key.tolist(), items.label, strict=True) if label is not None]

    def seek(self, offset: int) -> None:
        """Go on from `offset`."""
        self._source.seek(offset)

    def close(self) -> None:
        """Pass it on."""
        self._source.close()
