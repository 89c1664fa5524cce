"""An attack on nothing, whose cases fail in every way that a case can; the test of the driver runs it."""

import os
import random
import time
from pathlib import Path

from attack.cases import Attack, Failure


def make(folder: Path) -> Attack:
    return Broken(folder)


class Broken(Attack):
    """Cases 0 and 5 hold, the others do not."""

    n_cases = 6

    def run(self, number: int, dice: random.Random) -> None:
        if number == 1:
            raise Failure("the guarantee is broken")
        if number == 2:
            raise ValueError("an error that the library should not have raised")
        if number == 3:
            os.abort()
        if number == 4:
            time.sleep(600.0)
