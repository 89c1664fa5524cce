"""Section 4.4 of BT*: incremental learning, samples, time per refinement, secondary storage."""

from __future__ import annotations

from itertools import pairwise

from anystream.reproduce.facts import Facts
from anystream.reproduce.paper import Claim, Section, Table
from anystream.reproduce.papers.bt_star.measured import Measured
from anystream.reproduce.papers.bt_star.plan import ALL_REFINEMENTS, SETS, STEP_GRID
from anystream.reproduce.verdicts import Case, Rule, at_least, at_most


def show_scalability(measured: Measured, facts: Facts) -> Section:
    """Return the section on section 4.4."""
    partial: dict[str, dict[str, float | None]] = {}
    for name in ALL_REFINEMENTS:
        partial[name] = {
            rest: None if (v := measured.mean_over_folds("partial", name, rest, field="last")) is None else 100 * v
            for rest in ("all", "learned", "samples")
        }

    def compare(rest: str) -> list[Case]:
        return [
            Case(name, found[rest], found["all"], measured.results.why_missing(name)) for name, found in partial.items()
        ]

    times = {name: measured.results.get("time", name) for name in SETS}
    at_200 = {name: None if t is None else t["us"][2] for name, t in times.items()}
    speed = [
        Case(name, at_200.get(name), facts.value("scalability", name, "us"), measured.results.why_missing(name))
        for name in ("gender", "pendigits")
    ]
    growth = [
        Case(
            name,
            None if t is None or t["us"][1] <= 0 else t["us"][3] / t["us"][1],
            None,
            measured.results.why_missing(name),
        )
        for name, t in times.items()
    ]
    storage = {name: measured.results.get("storage", name) for name in SETS}
    stored = [
        Case(
            name,
            None if s is None else _not_held(s["same"], s["held_bytes"] / s["all_bytes"]),
            None,
            measured.results.why_missing(name),
        )
        for name, s in storage.items()
    ]
    not_below = Rule("at most 2 points below EM on all records", _within_two)
    slow_growth = at_most(3.0, unit=" times as long at 200 to 800 as at 11 to 50", reproduced=0.8)
    first = [[name, *("-" if v is None else f"{v:.1f}" for v in found.values())] for name, found in partial.items()]
    second = [
        [name, str(t["features"]), *(f"{us:.2f}" for us in t["us"])] for name, t in times.items() if t is not None
    ]
    spans = [f"refinement {a + 1} to {b}, us" for a, b in pairwise(STEP_GRID)]
    return Section(
        "Section 4.4: scalability",
        "Accuracy after 200 refinements when EM has half of the records and the rest is learned one by one, and when "
        "EM splits by samples of a quarter of a class; processor time per refinement; models mapped from disk.",
        [
            Table(("accuracy, %", "EM on all", "half, then incremental", "EM on samples of a quarter"), first),
            Table(("data set", "features", *spans), second, "One thread, processor time, minimum of five runs."),
        ],
        claims=[
            Claim.of(facts, "incremental", not_below, compare("learned")),
            Claim.of(facts, "sample", not_below, compare("samples")),
            Claim.of(facts, "time", Rule("ours is not above the paper's, on another machine", _not_above), speed),
            Claim.of(facts, "growth", slow_growth, growth),
            Claim.of(facts, "storage", at_least(95.0, unit=" % of the memory not held, and equal labels"), stored),
        ],
    )


def _not_held(same: float, held: float) -> float:
    """Return the percentage of memory that a mapped model does not hold; 0 if its labels differ."""
    return 100.0 * (1.0 - held) if same == 1.0 else 0.0


def _within_two(case: Case) -> bool:
    return case.ours is not None and case.other is not None and case.ours >= case.other - 2.0


def _not_above(case: Case) -> bool:
    return case.ours is not None and case.other is not None and case.ours <= case.other
