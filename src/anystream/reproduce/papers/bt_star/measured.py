"""Results of a run of BT*, by data set and variant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from anystream.anytime.curve import AnytimeCurve
from anystream.reproduce.cells import Results
from anystream.reproduce.paper import Scale
from anystream.reproduce.papers.bt_star.plan import SETS, limits, variants
from anystream.reproduce.verdicts import Case


class Measured:
    """Results of a run by data set and variant."""

    def __init__(self, results: Results, scale: Scale, sources: Mapping[str, str]) -> None:
        self.results, self.quick = results, scale.quick
        self.numbers = limits(scale)["folds"]
        self.sets = [name for name in SETS if name in sources and self.curve(name, "BT*") is not None]

    def curve(self, name: str, variant: str) -> AnytimeCurve | None:
        """Return the mean curve over the folds."""
        found = [self.results.get("curve", name, variant, number) for number in self.numbers]
        if not found or any(each is None for each in found):
            return None
        stages = np.arange(len(found[0]["accuracy"]))
        return AnytimeCurve.mean([AnytimeCurve(stages, each["accuracy"], each["n_records"]) for each in found])

    def best(self, name: str, variant: str) -> tuple[str, AnytimeCurve] | None:
        """Return the best setting of a variant by the sum of the three measures, as the paper chooses it."""
        found = [
            (key, curve)
            for key in variants(self.quick)
            if (key == variant or key.startswith(f"{variant} ")) and (curve := self.curve(name, key)) is not None
        ]
        return max(found, key=lambda each: sum(measure(each[1]).values()), default=None)

    def gain(self, name: str, baseline: str, method: str) -> dict[str, float] | None:
        """Return the differences of the measures to a baseline, in points."""
        base, best = self.curve(name, baseline), self.best(name, f"{baseline} {method}")
        if base is None or best is None:
            return None
        before, after = measure(base), measure(best[1])
        return {key: after[key] - before[key] for key in before}

    def mean_over_folds(self, *key: Any, field: str) -> float | None:
        """Return the mean of a number over the folds."""
        found = [self.results.get(*key, number) for number in self.numbers]
        return None if any(each is None for each in found) else float(np.mean([each[field] for each in found]))


def measure(curve: AnytimeCurve) -> dict[str, float]:
    """Return avg, max and mon (normalised and as printed), in percent."""
    return {
        "avg": 100 * curve.avg,
        "max": 100 * curve.max,
        "mon": 100 * curve.mon_normalised,
        "mon printed": 100 * curve.mon,
    }


def mean_gain(gains: Mapping[str, Mapping[str, float] | None]) -> dict[str, float] | None:
    """Return the mean of the differences over the data sets that have them."""
    found = [gain for gain in gains.values() if gain is not None]
    return {key: float(np.mean([gain[key] for gain in found])) for key in found[0]} if found else None


def to_line(curve: AnytimeCurve) -> tuple[list[float], list[float]]:
    """Return a curve as x and y, in percent, from the first refinement on."""
    return [float(s) for s in curve.stages[1:]], [100 * float(a) for a in curve.accuracy[1:]]


def choose_example(measured: Measured) -> str | None:
    """Return the data set of the paper's example plots, letter, or another one that is present."""
    return "letter" if "letter" in measured.sets else next(iter(measured.sets), None)


def is_gain(case: Case) -> bool:
    """Whether a difference is above 0."""
    return case.ours is not None and case.ours > 0.0
