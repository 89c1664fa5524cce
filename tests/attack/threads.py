"""One model and one query, used by many threads while another learns: no error, and consistent answers."""

import pickle
import random
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anystream import Budget, load
from attack.cases import Attack, Failure
from attack.model_actions import fitted, records
from model_file.fuzz import MODELS

CASE_S = 0.4  # seconds that the threads of a case run
MAX_CLASSES = 30  # that the learner invents


def make(folder: Path) -> Attack:
    return Threads(folder)


class Threads(Attack):
    """One model for every case."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.fitted: dict[tuple[int, int], bytes] = {}

    def run(self, number: int, dice: random.Random) -> None:
        kind = number % len(MODELS)
        model = self.fresh(kind, dice.choice((40, 600)))
        query = model.query(np.array([0.2, 0.1, 0.4]))
        end = time.monotonic() + CASE_S
        errors: list[str] = []

        def repeat(use: Callable[[random.Random], None], seed: int) -> None:
            own = random.Random(seed)
            try:
                while time.monotonic() < end:
                    use(own)
            except BaseException:
                errors.append(f"{use.__name__}: {traceback.format_exc(limit=-4)}")

        def refine(own: random.Random) -> None:
            query.refine(own.choice((1, 5, 1000)))

        def read_query(own: random.Random) -> None:
            check_rows(np.asarray(query.proba)[None, :])
            query.label, query.state  # noqa: B018  # reading them is the use

        uses: list[Callable[[random.Random], None]] = [refine, read_query]
        uses += [use for use in (Users(model, self.folder)).all() if dice.random() < 0.7]
        threads = [threading.Thread(target=repeat, args=(use, dice.randrange(2**32)), daemon=True) for use in uses]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise Failure(f"{type(model).__name__} (model {kind}): {errors[0]}")

    def fresh(self, kind: int, count: int) -> Any:
        """Return a model that was fitted to so many records."""
        if (kind, count) not in self.fitted:
            self.fitted[kind, count] = pickle.dumps(fitted(kind, 0, count))
        return pickle.loads(self.fitted[kind, count])


class Users:
    """Uses of one model, each by one thread."""

    def __init__(self, model: Any, folder: Path) -> None:
        self.model, self.folder = model, folder
        self.X, self.y = records(9, 16)
        self.n_learned = 0

    def all(self) -> list[Callable[[random.Random], None]]:
        uses = [self.predict, self.classify, self.ask, self.save, self.copy]
        return [self.learn, *uses] if hasattr(self.model, "partial_fit") else uses

    def learn(self, own: random.Random) -> None:
        self.n_learned += 1
        self.model.partial_fit(self.X, (self.y + self.n_learned // 3) % MAX_CLASSES)
        self.model.learn_one({0: 0.1, 1: 0.2, 2: 0.3}, own.randrange(MAX_CLASSES))

    def predict(self, own: random.Random) -> None:
        check_rows(self.model.predict_proba(self.X, budget=own.choice((0, 5, None))))
        if not set(self.model.predict(self.X).tolist()) <= set(range(MAX_CLASSES)):
            raise Failure("a label that is no class")

    def classify(self, own: random.Random) -> None:
        answer = self.model.classify(self.X, budget=own.choice((3, Budget(seconds=0.0005))))
        check_rows(answer.proba)
        if not set(answer.labels.tolist()) <= set(range(MAX_CLASSES)):
            raise Failure("a label that is no class")

    def ask(self, own: random.Random) -> None:
        query = self.model.query(self.X[own.randrange(16)])
        query.refine(own.choice((0, 3, 100)))
        if query.label not in range(MAX_CLASSES):
            raise Failure("a label that is no class")

    def save(self, own: random.Random) -> None:
        path = self.folder / f"saved-{own.randrange(10**9)}.safetensors"
        self.model.save(path)
        check_rows(load(path).predict_proba(self.X))
        path.unlink()

    def copy(self, own: random.Random) -> None:
        check_rows(pickle.loads(pickle.dumps(self.model)).predict_proba(self.X))


def check_rows(proba: Any) -> None:
    """Raise Failure unless every row is a distribution."""
    if not np.isfinite(proba).all() or not np.allclose(proba.sum(axis=1), 1.0):
        raise Failure(f"probabilities that do not add up: {proba[0]}")
