"""Acknowledgement of finished records to a broker: at every flush, or with every checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.runtime.contracts import BrokerSource
from anystream.runtime.records import RejectedRecord


class Acknowledgement:
    """Collects the records that are finished, and acknowledges them when their answers are safe.

    Parameters
    ----------
    source : BrokerSource
        Where the records come from.
    at_flush : bool
        Acknowledge when the answers are flushed. Otherwise a checkpoint takes what is finished with `take`, and
        acknowledges it when it is saved: answers after it are removed when the run continues from it.
    """

    def __init__(self, source: BrokerSource, *, at_flush: bool) -> None:
        self._source = source
        self.at_flush = at_flush
        self._finished: list[NDArray[np.int64]] = []

    def add(self, offsets: ArrayLike) -> None:
        """Note that records are answered, dead-lettered or shed."""
        self._finished.append(np.array(offsets, dtype=np.int64))

    def add_origins(self, rejected: Sequence[RejectedRecord]) -> list[RejectedRecord]:
        """Return rejected records with the messages they came in."""
        return [
            found if found.origin is not None else found._replace(origin=self._source.find_origin(found.offset))
            for found in rejected
        ]

    def flushed(self) -> None:
        """Acknowledge what is finished, if that is done at every flush."""
        if self.at_flush and self._finished:
            finished = self.take()
            self._source.acknowledge_records(finished)

    def take(self) -> NDArray[np.int64]:
        """Return what is finished and was not returned before."""
        finished = self._finished
        self._finished = []
        return np.concatenate(finished) if finished else np.empty(0, dtype=np.int64)
