"""Memory runs out in the native core: calls raise MemoryError or succeed; models change fully or not at all."""

import pickle
import random
from functools import partial
from pathlib import Path

from attack.cases import Attack
from attack.failing_allocations import NEVER, FailingAllocation
from attack.model_actions import ALL, applies, fitted, run_disturbed

MAX_ALLOCATIONS = 20  # that fail one after the other, for one model and one action


def make(folder: Path) -> Attack:
    return Allocations(folder)


class Allocations(Attack):
    """One model and one action; some of its allocations fail, one after the other."""

    def run(self, number: int, dice: random.Random) -> None:
        kind, action = dice.choice(ALL)
        base = fitted(kind, dice.randrange(3))
        if not applies(action, base):
            return
        fresh = partial(pickle.loads, pickle.dumps(base))
        undisturbed, path = FailingAllocation(NEVER, NEVER), self.folder / "model.safetensors"
        base.save(path)
        with undisturbed:
            action(base, path)
        numbers = dice.sample(range(undisturbed.made), min(MAX_ALLOCATIONS, undisturbed.made))
        for first in sorted(numbers):
            case = FailingAllocation(first, dice.choice((first, NEVER)))
            run_disturbed(self.folder, kind, action, fresh, case)
