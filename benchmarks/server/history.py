"""Histories of requests, and the check that each has exactly one outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

OUTCOMES = ("answered", "refused", "failed", "unanswered", "unsent")
"""A response with labels; status 503; any other response; no response until the end; no free connection."""
_WITH_RESPONSE = ("answered", "refused", "failed")


class Event(NamedTuple):
    """Something that happened to a request: ``due``, ``sent``, or one of `OUTCOMES`, at a time in seconds."""

    request: str
    kind: str
    at: float


class HistoryError(AssertionError):
    """A request without an outcome, with several, or an outcome of a request that was never sent."""


def check_history(requests: Iterable[str], events: Sequence[Event]) -> Counter[str]:
    """Return how many requests had each outcome; raise `HistoryError` unless every one had exactly one."""
    expected, due, sent, outcomes = set(requests), set(), set(), {}
    for request, kind, at in events:
        if request not in expected:
            raise HistoryError(f"{kind} at {at:.6f} of request {request!r}, which there is not")
        if kind in ("due", "sent"):
            seen = due if kind == "due" else sent
            if request in seen:
                raise HistoryError(f"request {request!r} was {kind} twice")
            if request in outcomes:
                raise HistoryError(f"request {request!r} was {kind} after its outcome {outcomes[request]!r}")
            seen.add(request)
        elif kind not in OUTCOMES:
            raise HistoryError(f"request {request!r} has the outcome {kind!r}; known are {', '.join(OUTCOMES)}")
        elif request in outcomes:
            raise HistoryError(f"request {request!r} has two outcomes: {outcomes[request]!r} and {kind!r}")
        elif (kind == "unsent") == (request in sent):
            raise HistoryError(f"request {request!r} is {kind!r} and was {'' if request in sent else 'not '}sent")
        else:
            outcomes[request] = kind
    for request in sorted(expected):
        if request not in due or request not in outcomes:
            raise HistoryError(f"request {request!r} has no {'outcome' if request in due else 'arrival'}")
    return Counter(outcomes.values())


def is_response(kind: str) -> bool:
    """Whether an outcome is a response of the server."""
    return kind in _WITH_RESPONSE
