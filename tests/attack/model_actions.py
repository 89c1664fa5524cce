"""Actions on small models of every kind, and the comparison of a model with one that nothing disturbed."""

import pickle
import random
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from anystream import load
from attack.cases import Attack, Failure
from model_file.fuzz import MODELS

BUDGETS = (0, 3, 10**6)


def fit(model: Any, path: Path) -> None:
    X, y = records(4, 40)
    model.fit(X, y)


def learn_batch(model: Any, path: Path) -> None:
    X, y = records(5, 30)
    model.partial_fit(X, y)


def learn_new_class(model: Any, path: Path) -> None:
    X, y = records(6, 30)
    model.partial_fit(X, y + 2)


def learn_one(model: Any, path: Path) -> None:
    model.learn_one({0: 0.5, 1: -1.0, 2: 3.0}, 1)


def learn_one_of_new_class(model: Any, path: Path) -> None:
    model.learn_one({0: 0.5, 1: -1.0, 2: 3.0}, 7)


def classify(model: Any, path: Path) -> None:
    X, _ = records(7, 20)
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


LEARNING: list[Callable[[Any, Path], None]] = [learn_batch, learn_new_class, learn_one, learn_one_of_new_class]
ACTIONS: list[Callable[[Any, Path], None]] = [fit, *LEARNING, classify, query, save, load_again, load_mapped, copy]
ALL = [(kind, action) for kind in range(len(MODELS)) for action in ACTIONS]
"""Kind of model, by its number in MODELS, and action."""


class Disturbance(Protocol):
    """Block of code that is disturbed; `raised` is the error that left it because of that."""

    raised: BaseException | None

    def __enter__(self) -> Any: ...
    def __exit__(self, *error: Any) -> bool: ...


class DisturbedActions(Attack):
    """One model and one action, disturbed several times, each time from the same state of the model."""

    @abstractmethod
    def disturbances(self, act: Callable[[], None], dice: random.Random) -> Iterator[Disturbance]:
        """Yield the disturbances of an action; `act` runs it once undisturbed, on a model of its own."""

    def run(self, number: int, dice: random.Random) -> None:
        kind, action = dice.choice(ALL)
        base = fitted(kind, dice.randrange(3))
        if not applies(action, base):
            return
        fresh = partial(pickle.loads, pickle.dumps(base))
        path = self.folder / "model.safetensors"
        base.save(path)
        for disturbance in self.disturbances(partial(action, base, path), dice):
            run_disturbed(self.folder, kind, action, fresh, disturbance)


def applies(action: Callable[..., None], model: Any) -> bool:
    """Whether a model has the method of an action."""
    needed = {learn_batch: "partial_fit", learn_new_class: "partial_fit"}
    needed |= {learn_one: "learn_one", learn_one_of_new_class: "learn_one"}
    return hasattr(model, needed.get(action, "fit"))


def fitted(kind: int, rounds: int, count: int = 40) -> Any:
    """Return a small model of `count` records that has learned further so many times."""
    X, y = records(1, count)
    model = MODELS[kind]().fit(X, y)
    for i in range(rounds if hasattr(model, "partial_fit") else 0):
        model.partial_fit(*records(2 + i, 15))
    return model


def records(seed: int, count: int) -> tuple[Any, Any]:
    """Return records of three classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 3
    X = rng.normal(size=(count, 3))
    X[:, 0] += 3 * y
    return X, y


def run_disturbed(
    folder: Path, kind: int, action: Callable[[Any, Path], None], fresh: Callable[[], Any], disturbance: Disturbance
) -> None:
    """Run an action that is disturbed; raise Failure unless the model changed fully or not at all, and works.

    Parameters
    ----------
    folder : path
        An empty folder.
    kind : int
        Number of the model, for messages.
    action : callable
        One of ACTIONS.
    fresh : callable
        Returns the model as it is before the action, the same bits at every call.
    disturbance : context manager
        Disturbs the block.
    """
    model, twin = fresh(), fresh()
    path, other = folder / "model.safetensors", folder / "other.safetensors"
    twin.save(path)
    stored = path.read_bytes()
    before = state(twin, folder)
    try:
        with disturbance:
            action(model, path)
    except KeyboardInterrupt as error:  # just before or after the block
        disturbance.raised = error
    where = f"{type(model).__name__} (model {kind}), {action.__name__}, {disturbance!r}: "
    if action is save and disturbance.raised and path.read_bytes() != stored:
        load(path)
    if left := [found.name for found in folder.iterdir() if found != path]:
        raise Failure(f"{where}left {left} behind")

    changes = action is fit or action in LEARNING
    if changes:
        action(twin, other)
    after = state(twin, folder)
    try:
        found = state(model, folder)
    except Exception as error:
        raise Failure(f"{where}the model is not usable any more: {error!r}") from error
    if disturbance.raised is None and found != after:
        raise Failure(f"{where}succeeded, but the model differs from one that nothing disturbed")
    if found not in (before, after):
        raise Failure(f"{where}the model has changed in part")
    if found == before and changes:
        twin = fresh()
    if hasattr(model, "partial_fit"):
        for each in (model, twin):
            learn_new_class(each, other)
        if state(model, folder) != state(twin, folder):
            raise Failure(f"{where}the model learns otherwise from then on")


def state(model: Any, folder: Path) -> tuple[bytes, ...]:
    """Return the bits of a model: its file, and its answers."""
    path = folder / "state.safetensors"
    model.save(path)
    X, _ = records(8, 12)
    answers = (model.predict_proba(X, budget=budget).tobytes() for budget in BUDGETS)
    bits = (path.read_bytes(), np.asarray(model.classes_).tobytes(), *answers)
    path.unlink()
    return bits
