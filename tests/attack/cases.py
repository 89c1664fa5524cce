"""One attack: numbered cases, each drawn from a seed.

`attack.process` runs them in a process of its own, so that a case that ends the process or hangs is a
failure like any other.
"""

import random
from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple


class Failure(Exception):  # noqa: N818  # a finding about the library, not an error of the attack
    """A guarantee that does not hold; the message tells which, and how it was seen."""


class Kind(NamedTuple):
    """One entry of the list of attacks, under the name of the module whose `make` returns the attack.

    Parameters
    ----------
    about : str
        What it tries, in a few words.
    weight : float
        Share of the time that it gets.
    preload : str, optional
        Source of the library that its process runs with.
    sanitized : bool
        Whether it runs under the sanitizers where they are built.
    max_case_s : float
        Seconds after which a case counts as hanging.
    """

    about: str
    weight: float = 1.0
    preload: str | None = None
    sanitized: bool = False
    max_case_s: float = 120.0


class Attack(ABC):
    """Cases of one kind; the constructor prepares what they share.

    Parameters
    ----------
    folder : path
        An empty folder for files.
    """

    n_cases: int | None = None
    """Number of different cases; None if there is no end to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def run(self, number: int, dice: random.Random) -> None:
        """Run a case; raise `Failure` if a guarantee does not hold."""
