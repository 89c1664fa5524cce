"""Values by key, in order: equal keys wait in a queue of their own, and the oldest of all can be evicted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class KeyedQueue(Generic[ValueT]):
    """Values that wait under a key.

    Examples
    --------
    >>> queue = KeyedQueue()
    >>> for key, value in (("a", 1), ("b", 2), ("a", 3)):
    ...     queue.add(key, value)
    >>> queue.pop("a"), queue.pop_oldest(), queue.pop("a"), queue.pop("a")
    (1, ('b', 2), 3, None)
    """

    def __init__(self) -> None:
        self._values: dict[int, tuple[str, ValueT]] = {}  # by number, the oldest first
        self._numbers: dict[str, int | deque[int]] = {}  # numbers of a key, oldest first; most keys have just one
        self._next = 0

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: str) -> bool:
        return key in self._numbers

    def __iter__(self) -> Iterator[tuple[str, ValueT]]:
        """Yield keys and values, the oldest first."""
        return iter(self._values.values())

    def add(self, key: str, value: ValueT) -> None:
        """Add a value behind all others."""
        number, self._next = self._next, self._next + 1
        self._values[number] = key, value
        waiting = self._numbers.get(key)
        if waiting is None:
            self._numbers[key] = number
        elif isinstance(waiting, deque):
            waiting.append(number)
        else:
            self._numbers[key] = deque((waiting, number))

    def pop(self, key: str) -> ValueT | None:
        """Remove and return the oldest value of a key; None if there is none."""
        waiting = self._numbers.get(key)
        if waiting is None:
            return None
        if isinstance(waiting, deque):
            number = waiting.popleft()
            if not waiting:
                del self._numbers[key]
        else:
            number = self._numbers.pop(key)  # type: ignore[assignment]  # `waiting`, which is an int
        return self._values.pop(number)[1]

    def oldest(self) -> ValueT:
        """Return the oldest of all values."""
        return self._values[next(iter(self._values))][1]

    def pop_oldest(self) -> tuple[str, ValueT]:
        """Remove and return the oldest of all values, and its key."""
        key, _ = self._values[next(iter(self._values))]
        value = self.pop(key)
        assert value is not None
        return key, value
