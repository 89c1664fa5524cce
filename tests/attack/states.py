"""Damaged states of queries: resuming one raises ValueError or TypeError, or the query is usable."""

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np

from attack.cases import Attack, Failure
from attack.model_actions import fitted, records
from model_file.fuzz import INTEGERS, MODELS, cut, flip_bits, put_integer, splice

NUMBERS = (float("nan"), float("inf"), float("-inf"), -1.0, 0.0, 5e-324, 1e308, 1.5)


def make(folder: Path) -> Attack:
    return States(folder)


class States(Attack):
    """One state for every case, of one of the queries that the constructor opened."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        X, _ = records(3, 4)
        self.models = [fitted(kind, 1) for kind in range(len(MODELS))]
        self.states = [
            (kind, model.query(x).refine(steps).state)
            for kind, model in enumerate(self.models)
            for x in X
            for steps in (0, 2, 10**6)
        ]

    def run(self, number: int, dice: random.Random) -> None:
        kind, state = dice.choice(self.states)
        model = self.models[kind]
        for _ in range(dice.choice((1, 1, 1, 2, 4))):
            state = change(state, dice)
        where = f"{type(model).__name__} (model {kind}): "
        try:
            query = model.query(state=state)
        except (ValueError, TypeError):
            return
        for steps in (0, 1, 50, 10**6):
            query.refine(steps)
            if not np.isfinite(query.proba).all() or not np.isclose(query.proba.sum(), 1.0):
                raise Failure(f"{where}probabilities that do not add up: {query.proba}")
            if query.label not in model.classes_:
                raise Failure(f"{where}{query.label!r} is no class")
            if not 0 <= query.steps < 2**62:
                raise Failure(f"{where}{query.steps} steps")
        if model.query(state=query.state).proba.tobytes() != query.proba.tobytes():
            raise Failure(f"{where}the state of the query gives another query")


def change(value: Any, dice: random.Random) -> Any:
    """Return a value of a state with one change somewhere in it."""
    match value:
        case bytes():
            return dice.choice((flip_bits, put_integer, put_number, cut, splice))(value, dice)
        case tuple() | list():
            if not value or dice.random() < 0.1:
                return dice.choice((value[:-1], type(value)((*value, 0)), None))
            at = dice.randrange(len(value))
            return type(value)(change(part, dice) if i == at else part for i, part in enumerate(value))
        case dict():
            name = dice.choice(list(value)) if value else "new"
            if dice.random() < 0.2:
                return {other: part for other, part in value.items() if other != name}
            return value | {name: change(value.get(name), dice)}
        case np.ndarray():
            return change_array(value, dice)
        case bool() | None:
            return dice.choice((True, False, None, 0, "", b""))
        case int() | float() | np.generic():
            return dice.choice((*INTEGERS, *(-n for n in INTEGERS), *NUMBERS, None, "1"))
    return dice.choice((None, 0, "", b"", [], {}))


def put_number(data: bytes, dice: random.Random) -> bytes:
    """Overwrite eight bytes by a floating-point number."""
    at = 8 * dice.randrange(len(data) // 8 + 1)
    return data[:at] + struct.pack("<d", dice.choice(NUMBERS)) + data[at + 8 :]


def change_array(array: Any, dice: random.Random) -> Any:
    """Return a copy with another number, type or shape."""
    changed = array.copy()
    match dice.randrange(6):
        case 0 if changed.dtype != object:
            with np.errstate(all="ignore"):
                return changed.astype(dice.choice((np.float32, np.int64, np.uint8, object)))
        case 1:
            return np.resize(changed, dice.choice(((0,), (1,), (changed.size + 1,), (2, max(changed.size, 1)))))
        case _ if changed.size and changed.dtype.kind in "fO":
            changed.flat[dice.randrange(changed.size)] = dice.choice(NUMBERS)
        case _ if changed.size and changed.dtype.kind in "iu":
            bounds = np.iinfo(changed.dtype)
            changed.flat[dice.randrange(changed.size)] = dice.choice((bounds.min, bounds.max, 0, 1, 100))
    return changed
