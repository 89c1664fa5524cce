"""What the sources around another source share."""

from __future__ import annotations

from typing import Any

from anystream.runtime.contracts import Source


class SourceWrapper:
    """A source around another one, which is acknowledged to, and asked for what it has beside its contract."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        """Return what the source has beside its contract, such as how much of a file was read."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._source, name)

    def acknowledge(self, offset: int) -> None:
        """Acknowledge to the source."""
        self._source.acknowledge(offset)
