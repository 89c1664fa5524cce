"""Memory runs out in the native core: calls raise MemoryError or succeed; models change fully or not at all."""

import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anystream import load
from attack.cases import Attack, Failure
from attack.failing_allocations import NEVER, FailingAllocation
from model_file.fuzz import MODELS

MAX_ALLOCATIONS = 20  # that fail one after the other, for one model and one action
BUDGETS = (0, 3, 10**6)


def make(folder: Path) -> Attack:
    return Allocations(folder)


def fit(model: Any, path: Path) -> None:
    X, y = _records(4, 40)
    model.fit(X, y)


def learn_batch(model: Any, path: Path) -> None:
    X, y = _records(5, 30)
    model.partial_fit(X, y)


def learn_new_class(model: Any, path: Path) -> None:
    X, y = _records(6, 30)
    model.partial_fit(X, y + 2)


def learn_one(model: Any, path: Path) -> None:
    model.learn_one({0: 0.5, 1: -1.0, 2: 3.0}, 1)


def learn_one_of_new_class(model: Any, path: Path) -> None:
    model.learn_one({0: 0.5, 1: -1.0, 2: 3.0}, 7)


def classify(model: Any, path: Path) -> None:
    X, _ = _records(7, 20)
    for budget in BUDGETS:
        model.classify(X, budget=budget)


def query(model: Any, path: Path) -> None:
    asked = model.query(np.array([0.1, 0.2, 0.3]))
    for steps in (0, 1, 5, 10**6):
        asked.refine(steps)
        asked.label, asked.proba  # noqa: B018  # reading them is the action
    pickle.loads(pickle.dumps(asked)).refine(3)


def save(model: Any, path: Path) -> None:
    model.save(path)


def load_again(model: Any, path: Path) -> None:
    load(path).predict_proba(np.zeros((2, 3)))


def load_mapped(model: Any, path: Path) -> None:
    load(path, mmap=True).predict_proba(np.zeros((2, 3)))


def copy(model: Any, path: Path) -> None:
    pickle.loads(pickle.dumps(model)).predict_proba(np.zeros((2, 3)))


LEARNING = [learn_batch, learn_new_class, learn_one, learn_one_of_new_class]
ACTIONS: list[Callable[[Any, Path], None]] = [fit, *LEARNING, classify, query, save, load_again, load_mapped, copy]
CASES = [(kind, action) for kind in range(len(MODELS)) for action in ACTIONS]


class Allocations(Attack):
    """One model and one action; some of its allocations fail, one after the other."""

    def run(self, number: int, dice: random.Random) -> None:
        kind, action = CASES[dice.randrange(len(CASES))]
        base = _fitted(kind, rounds=dice.randrange(3))
        if action in LEARNING and not hasattr(base, {"learn_one": "learn_one"}.get(action.__name__[:9], "partial_fit")):
            return
        blob = pickle.dumps(base) if dice.random() < 0.5 else None
        rounds = dice.randrange(3)
        fresh = (lambda: pickle.loads(blob)) if blob is not None else (lambda: _fitted(kind, rounds))
        path = self.folder / "model.safetensors"
        for case in _cases(action, fresh(), path, dice):
            model = fresh()
            before = self.state(model)
            fresh().save(path)
            stored = path.read_bytes()
            where = f"{type(model).__name__} (model {kind}), {action.__name__}, "
            with case:
                action(model, path)
            self.check(model, action, case, before, fresh, where + repr(case))
            if action is save and case.raised and path.read_bytes() != stored:
                raise Failure(f"{where}{case!r}: the file that was there has changed")
            if left := [name.name for name in self.folder.iterdir() if name != path]:
                raise Failure(f"{where}{case!r}: left {left} behind")

    def check(
        self, model: Any, action: Callable[..., None], case: FailingAllocation, before: Any, fresh: Any, where: str
    ) -> None:
        """Compare a model with one that never met a failure."""
        path = self.folder / "other.safetensors"
        twin = fresh()
        changes = action is fit or action in LEARNING
        if changes:
            action(twin, path)
        after = self.state(twin)
        found = self.state(model, where)
        if case.raised is None and found != after:
            raise Failure(f"{where}: succeeded, but the model differs from one that had all the memory")
        if found not in (before, after):
            raise Failure(f"{where}: the model has changed in part")
        if found == before and changes and case.raised is not None:
            twin = fresh()
        if hasattr(model, "partial_fit"):
            for each in (model, twin):
                learn_new_class(each, path)
            if self.state(model, where) != self.state(twin):
                raise Failure(f"{where}: the model learns otherwise from then on")
        path.unlink(missing_ok=True)

    def state(self, model: Any, where: str = "") -> tuple[bytes, ...]:
        """Return the bits of a model: its file, and its answers."""
        path = self.folder / "state.safetensors"
        try:
            model.save(path)
            X, _ = _records(8, 12)
            answers = (model.predict_proba(X, budget=budget).tobytes() for budget in BUDGETS)
            return (path.read_bytes(), np.asarray(model.classes_).tobytes(), *answers)
        except Exception as error:
            if not where:
                raise
            raise Failure(f"{where}: the model is not usable any more: {error!r}") from error
        finally:
            path.unlink(missing_ok=True)


def _cases(action: Callable[..., None], model: Any, path: Path, dice: random.Random) -> list[FailingAllocation]:
    model.save(path)
    undisturbed = FailingAllocation(NEVER, NEVER)
    with undisturbed:
        action(model, path)
    numbers = dice.sample(range(undisturbed.made), min(MAX_ALLOCATIONS, undisturbed.made))
    return [FailingAllocation(n, dice.choice((n, NEVER))) for n in sorted(numbers)]


def _fitted(kind: int, rounds: int) -> Any:
    """Return a small model that has learned further so many times."""
    X, y = _records(1, 40)
    model = MODELS[kind]().fit(X, y)
    for i in range(rounds if hasattr(model, "partial_fit") else 0):
        model.partial_fit(*_records(2 + i, 15))
    return model


def _records(seed: int, count: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 3
    X = rng.normal(size=(count, 3))
    X[:, 0] += 3 * y
    return X, y
