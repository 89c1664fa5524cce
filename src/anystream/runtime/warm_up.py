"""Warm-up of a model before the first record."""

from __future__ import annotations

from typing import Any

import numpy as np

from anystream.anytime.budget import Budget
from anystream.anytime.errors import RecordError
from anystream.runtime.clock import Clock
from anystream.runtime.step_cost import Measurement, StepCost

_BATCHES = ((1, 0), (1, 0), (64, 0), (64, 8), (256, 0), (256, 1), (256, 8))  # records, and steps of each


def measure_step_cost(model: Any, clock: Clock) -> StepCost:
    """Run warm-up batches to measure the cost of a call, a record and a step.

    The batches are records of zeros. The first call costs more than all later ones, so its time is not used. A model
    that does not tell its number of features, or refuses such records, is not measured; its cost is then a guess that
    the first batches correct.
    """
    if not hasattr(model, "n_features_in_"):
        return StepCost()
    try:
        return StepCost.fit(_time_batches(model, clock)[1:])
    except RecordError:
        return StepCost()


def _time_batches(model: Any, clock: Clock) -> list[Measurement]:
    """Return the measurement of each warm-up batch."""
    measured = []
    for n, steps in _BATCHES:
        began = clock.now()
        answer = model.classify(np.zeros((n, model.n_features_in_)), budget=Budget(steps=steps))
        seconds = max(clock.now() - began, 1e-9)
        measured.append(Measurement(n, int(answer.steps.sum()), int(np.count_nonzero(answer.steps)), seconds))
    return measured
