"""One cell of a comparison: everything that is measured of one method on one task."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from anystream.compare.candidate import Candidate
from anystream.compare.machine import commit
from anystream.compare.memory import resident_bytes
from anystream.compare.methods import Method
from anystream.compare.on_time import measure_on_time
from anystream.compare.prequential import run_pass
from anystream.compare.settings import Settings
from anystream.compare.tasks import Task
from anystream.compare.timing import Times, time_batch, time_calls
from anystream.evaluate import Run, accuracy

BUDGETS = (0, 1, 5, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
"""Budgets at which anytime classifiers are measured, up to their default."""

_WARM_UP_RECORDS = 200


@dataclass(frozen=True, kw_only=True)
class BudgetPoint:
    """Accuracy and time of one prediction of an anytime classifier at a budget."""

    budget: int
    accuracy: float
    times: Times


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """Measurements of one method on one task; NaN and None where the method cannot do what is measured.

    Parameters
    ----------
    task, library, version, method : str
        What was measured.
    commit : str or None
        Commit of anystream that measured it.
    trained_by : str
        ``fit`` (all records at once) or ``pass`` (one record after another).
    n_train, n_trained, n_test, n_features, n_classes : int
        Size of the task. `n_trained` is less than `n_train` if a pass reached its limit of processor time.
    train_cpu_s : float
        Processor time of the training.
    holdout : float
        Accuracy on the test records after the training.
    prequential, kappa_t : float
        Accuracy when every training record is tested before it is learned, and the same relative to repeating the
        last label.
    n_prequential, learn_batch : int
        Number of tested records, and of records that were learned together.
    predict, learn : Times
        Times of one prediction and of one learning step.
    rows_per_s, rows_per_cpu_s : float
        Throughput of one call with all test records.
    memory_bytes : int or None
        Growth of the process, or of the heap of Java, by the training.
    on_time : dict of float to float
        Share of arrivals that got the right label on time, by records per second.
    budgets : list of BudgetPoint
        Points of an anytime classifier.
    """

    task: str
    library: str
    version: str
    method: str
    commit: str | None
    trained_by: str
    n_train: int
    n_trained: int
    n_test: int
    n_features: int
    n_classes: int
    train_cpu_s: float
    holdout: float
    prequential: float
    kappa_t: float
    n_prequential: int
    learn_batch: int
    predict: Times
    learn: Times | None
    rows_per_s: float
    rows_per_cpu_s: float
    memory_bytes: int | None
    on_time: dict[float, float]
    budgets: list[BudgetPoint] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON has it."""
        return asdict(self) | {"on_time": [[rate, share] for rate, share in self.on_time.items()]}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> CellResult:
        """Return the result that `to_json` returned."""
        points = [BudgetPoint(**(point | {"times": Times(*point["times"])})) for point in values["budgets"]]
        learn = None if values["learn"] is None else Times(*values["learn"])
        return cls(
            **values
            | {
                "predict": Times(*values["predict"]),
                "learn": learn,
                "on_time": {float(rate): share for rate, share in values["on_time"]},
                "budgets": points,
            }
        )


def run_cell(method: Method, task: Task, settings: Settings) -> CellResult:
    """Train one method on one task and measure it."""

    def create() -> Candidate:
        return method.create(task.n_features, task.n_classes, settings.seed)

    _warm_up(create, task, settings)
    with threadpool_limits(1):
        candidate = create()
        memory_before = _memory(candidate)
        began = time.process_time()
        run = None
        if candidate.fits:
            candidate.fit(task.X_train, task.y_train)
        else:
            run = _pass(candidate, task, settings, method)
        train_cpu_s = time.process_time() - began
        memory_after = _memory(candidate)
        measured = _measure(candidate, task, settings)
        if run is None and candidate.learns:
            run = _pass(create(), task, settings, method)
    n_prequential = 0 if run is None else len(run.truth)
    return CellResult(
        task=task.name,
        library=method.library,
        version=method.version,
        method=method.name,
        commit=commit(),
        trained_by="fit" if candidate.fits else "pass",
        n_train=len(task.y_train),
        n_trained=len(task.y_train) if candidate.fits else n_prequential,
        n_test=len(task.y_test),
        n_features=task.n_features,
        n_classes=task.n_classes,
        train_cpu_s=train_cpu_s,
        prequential=math.nan if run is None else run.accuracy,
        kappa_t=math.nan if run is None else run.kappa_t,
        n_prequential=n_prequential,
        learn_batch=candidate.learn_batch,
        memory_bytes=None if memory_before is None or memory_after is None else max(memory_after - memory_before, 0),
        **measured,
    )


def _measure(candidate: Candidate, task: Task, settings: Settings) -> dict[str, Any]:
    """Measure a trained method; single learning steps come last, since they change it."""
    single = task.X_test[: settings.n_single]
    labels = task.y_test[: settings.n_single]
    throughput = time_batch(candidate.predict, task.X_test, max_s=1.0)
    found: dict[str, Any] = {
        "holdout": accuracy(task.y_test, candidate.predict(task.X_test)),
        "predict": time_calls(candidate.predict_one, [(record,) for record in candidate.as_records(single)]),
        "rows_per_s": throughput.rows_per_s,
        "rows_per_cpu_s": throughput.rows_per_cpu_s,
        "budgets": _measure_budgets(candidate, task, settings),
        "on_time": {rate: measure_on_time(candidate, task, rate, settings) for rate in settings.rates},
    }
    steps = candidate.as_labelled(single, labels) if candidate.learns else []
    return found | {"learn": time_calls(candidate.learn_one, steps) if candidate.learns else None}


def _measure_budgets(candidate: Candidate, task: Task, settings: Settings) -> list[BudgetPoint]:
    model: Any = candidate.anytime_model
    if model is None:
        return []
    largest = math.inf if model.budget is None else model.budget
    records = candidate.as_records(task.X_test[: settings.n_single])
    return [
        BudgetPoint(
            budget=budget,
            accuracy=accuracy(task.y_test, np.asarray(model.predict(task.X_test, budget=budget))),
            times=time_calls(lambda record: model.predict_one(record, budget=budget), [(r,) for r in records]),  # noqa: B023  called at once
        )
        for budget in BUDGETS
        if budget < largest
    ]


def _pass(candidate: Candidate, task: Task, settings: Settings, method: Method) -> Run:
    return run_pass(candidate, task.name, task.X_train, task.y_train, max_s=settings.max_pass_s, method=str(method))


def _warm_up(create: Callable[[], Candidate], task: Task, settings: Settings) -> None:
    """Train a small model of the same kind: modules are loaded, and a virtual machine has compiled what it runs."""
    X, y = task.X_train[:_WARM_UP_RECORDS], task.y_train[:_WARM_UP_RECORDS]
    candidate = create()
    if candidate.fits:
        candidate.fit(X, y)
    else:
        candidate.partial_fit(X, y)
    candidate.predict(X)


def _memory(candidate: Candidate) -> int | None:
    own = candidate.memory_bytes()
    return resident_bytes() if own is None else own
