"""Comparison of settings of DeadlineShare, from which its defaults were chosen.

It runs in simulated time, on data that the other benchmarks do not use. Work costs what was measured, times a random
factor, and sometimes the machine pauses for some milliseconds. Traffic is steady (Poisson) or in bursts, at 0.5 to 5
times what the model can classify at its full budget.

    python -m benchmarks.runtime.share_settings
"""

import argparse
from typing import Any

import numpy as np

from anystream.anytime.answer import Answer
from anystream.cli.models import make_model
from anystream.runtime import (
    DeadlineShare,
    Engine,
    MachineCost,
    NullSink,
    RecordQueue,
    RepeatingSource,
    Replay,
    SimulatedClock,
    SimulatedModel,
    WaitingTime,
    at_times,
    draw_arrivals,
)
from benchmarks.runtime.on_time import OURS, split
from benchmarks.table import machine, print_table

LOADS = (0.5, 1.0, 2.0, 5.0)
WITHIN_S = 0.05
TURN_S = 200e-6  # cost of a turn of the engine, without the model


class NoisyModel(SimulatedModel):
    """A model whose work takes longer than its cost by a random factor, on a machine with random pauses."""

    def __init__(self, model: Any, clock: SimulatedClock, cost: MachineCost, seed: int) -> None:
        super().__init__(model, clock, cost)
        self._dice = np.random.default_rng(seed)

    def classify(self, X: Any, *, budget: Any) -> Answer:
        answer = super().classify(X, budget=budget)
        extra = TURN_S + answer.elapsed_s * float(self._dice.exponential(0.15))
        if self._dice.random() < answer.elapsed_s * 2.0:  # twice in a second of work
            extra += float(self._dice.uniform(0.002, 0.015))
        self._clock.sleep(extra)
        return answer


def draw_traffic(rate: float, kind: str, records: int) -> Any:
    """Return about `records` arrivals: steady, or with a fifth of the time at four times the rate of the rest."""
    seconds = records / rate
    pieces = max(round(seconds / 0.1), 5)
    weight = np.ones(pieces)
    if kind == "bursts":
        weight = np.where(np.random.default_rng(1).random(pieces) < 0.2, 4.0, 1.0)
    return draw_arrivals(rate * weight / weight.mean(), seconds / pieces, seed=2)


def run(model: Any, cost: MachineCost, scheduler: Any, times: Any, X: Any, y: Any) -> Any:
    clock = SimulatedClock()
    return Engine(
        NoisyModel(model, clock, cost, 3),
        Replay(RepeatingSource(X, y, len(times)), at_times(times), clock),
        NullSink(),
        scheduler=scheduler,
        within_s=WITHIN_S,
        queue=RecordQueue(2000, "answer_now"),
        clock=clock,
    ).run()


def make_variants(max_steps: int) -> dict[str, Any]:
    shares = {
        f"aim {aim}, headroom {headroom}": lambda aim=aim, headroom=headroom: DeadlineShare(
            max_steps=max_steps, aim=aim, headroom=headroom
        )
        for aim in (0.3, 0.5, 0.7)
        for headroom in (0.8, 0.95, None)
    }
    return shares | {"WaitingTime": lambda: WaitingTime(WITHIN_S / 2, max_steps=max_steps)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="optdigits,segment")
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(OURS))
    parser.add_argument("--records", type=int, default=4_000, help="number of records per run")
    options = parser.parse_args()
    scores: dict[str, dict[tuple[str, float], list[float]]] = {}
    for dataset in options.datasets.split(","):
        train, test = split(dataset)
        for name in options.models:
            model = make_model(name, [*OURS[name], "n_jobs=1"]).fit(*train)
            cost = MachineCost.measure(model, test[0])
            for load in LOADS:
                for kind in ("steady", "bursts"):
                    times = draw_traffic(load * cost.records_per_s(model.budget), kind, options.records)
                    for variant, make in make_variants(model.budget).items():
                        summary = run(model, cost, make(), times, *test)
                        share = summary.right_on_time / len(times)
                        scores.setdefault(variant, {}).setdefault((name, load), []).append(share)
    rows = []
    for variant, found in scores.items():
        cells = [f"{100 * np.mean([np.mean(found[name, load]) for name in options.models]):.2f}" for load in LOADS]
        models = [f"{100 * np.mean([np.mean(found[name, load]) for load in LOADS]):.2f}" for name in options.models]
        rows.append([variant, *cells, *models, f"{100 * np.mean([np.mean(cell) for cell in found.values()]):.2f}"])
    print_table(
        "on-time accuracy, %, over models, data sets and traffic",
        ["rule", *(f"{load:g} x" for load in LOADS), *options.models, "mean"],
        rows,
        [f"{options.datasets}; due within {1e3 * WITHIN_S:g} ms; {options.records} records a run; {machine()}"],
    )


if __name__ == "__main__":
    main()
