"""Memory runs out in the native core: calls raise MemoryError or succeed; models change fully or not at all."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

from attack.cases import Attack
from attack.failing_allocations import NEVER, FailingAllocation
from attack.model_actions import DisturbedActions

MAX_ALLOCATIONS = 20  # that fail one after the other, for one model and one action


def make(folder: Path) -> Attack:
    return Allocations(folder)


class Allocations(DisturbedActions):
    """One model and one action; some of its allocations fail, one after the other."""

    def disturbances(self, act: Callable[[], None], dice: random.Random) -> Iterator[FailingAllocation]:
        undisturbed = FailingAllocation(NEVER, NEVER)
        with undisturbed:
            act()
        numbers = dice.sample(range(undisturbed.made), min(MAX_ALLOCATIONS, undisturbed.made))
        for first in sorted(numbers):
            yield FailingAllocation(first, dice.choice((first, NEVER)))
