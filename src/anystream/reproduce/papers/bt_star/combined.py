"""Figures 9 to 11 of BT*: combined approaches, BT* on all data sets, all refinements."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from anystream.anytime.curve import AnytimeCurve
from anystream.reproduce.drawing import Lines, draw_bars, draw_lines
from anystream.reproduce.facts import Facts
from anystream.reproduce.measures import bayes_tree as measures
from anystream.reproduce.paper import Claim, Section, Table
from anystream.reproduce.papers.bt_star.measured import (
    Measured,
    choose_example,
    is_gain,
    mean_gain,
    measure,
    to_line,
)
from anystream.reproduce.papers.bt_star.plan import ALL_REFINEMENTS, BASELINES, MEASURES, SETS
from anystream.reproduce.verdicts import Case, CountRule, Rule, at_least, higher


def show_combined(measured: Measured, facts: Facts) -> Section:
    """Return the section on Figure 9, left."""
    name = choose_example(measured)
    keys = {
        "EM baseline": "EM",
        "EM + BN": "EM BN 0",
        "EM + ENS": "EM ENS",
        "EM + BN + ENS": "EM BN+ENS",
        "EM + BW": "EM BW f0.05",
        "EM + BW + ENS (BT*)": "BT*",
        "EM + BW + BN": "EM BW+BN",
        "EM + BW + BN + ENS": "EM BW+BN+ENS",
        "our default": "default",
    }
    curves = {label: measured.curve(name, key) if name else None for label, key in keys.items()}
    found = {label: curve for label, curve in curves.items() if curve is not None}
    rows = [[label, *(f"{value:.1f}" for value in measure(curve).values())] for label, curve in found.items()]
    panel = Lines(
        f"{name}", {k: to_line(c) for k, c in found.items()}, "refinements", "accuracy, %", dashed=("our default",)
    )
    is_letter = name == "letter"
    reason = measured.results.why_missing("letter")

    def value(label: str, key: str) -> float | None:
        return measure(found[label])[key] if is_letter and label in found else None

    ensembles = [label for label in keys if "ENS" in label]
    near_perfect = [Case(label, value(label, "mon printed"), None, reason) for label in ensembles]
    top = "EM + BW + BN + ENS"
    best = [
        Case(f"avg of all three against {label}", value(top, "avg"), value(label, "avg"), reason)
        for label in keys
        if label not in (top, "our default")
    ]
    default = f"avg {measure(found['our default'])['avg']:.1f} % on {name}" if "our default" in found else ""
    return Section(
        "Figure 9, left: combined approaches",
        f"Anytime accuracy on {name} for the EM baseline with BN, BW (f0.05) and ENS, alone and together.",
        [Table(("combination", "avg, %", "max, %", "mon, %", "mon by the formula, %"), rows)],
        [draw_lines("figure-9-left", "Figure 9, left: combined approaches; dashed: our default.", [panel], height=4.2)]
        if found
        else [],
        [
            Claim.of(facts, "combined mon", at_least(99.0, unit=" % by the printed formula"), near_perfect),
            Claim.of(facts, "combined best", higher(0.5, what="avg"), best, default),
        ],
    )


def show_absolute(measured: Measured, facts: Facts) -> Section:
    """Return the section on Figure 9, right."""
    columns = {"R": "R", "EM": "EM", "BT*": "BT*", "default": "default"}
    rows, cases = [], []
    for name in SETS:
        curves = {label: measured.curve(name, key) for label, key in columns.items()}
        values = {label: None if curve is None else measure(curve) for label, curve in curves.items()}
        rows.append(
            [name, *("-" if v is None else " / ".join(f"{v[key]:.1f}" for key in MEASURES) for v in values.values())]
        )
        r, em, star = (values[label] for label in ("R", "EM", "BT*"))
        for key in MEASURES:
            gain = None if r is None or em is None or star is None else star[key] - max(r[key], em[key])
            cases.append(Case(f"{name} {key}", gain, None, measured.results.why_missing(name)))
    default = _count_default(measured)
    rule = CountRule("a measure of BT* is above both baselines", is_gain, (27, 30), needs_other=False)
    return Section(
        "Figure 9, right: baselines and BT*",
        "avg / max / mon in percent. The paper's own values stand in a picture, not in its text; its statement on them "
        "is judged.",
        [Table(("data set", "R baseline", "EM baseline", "BT* as published", "our default"), rows)],
        claims=[Claim.of(facts, "BT* all", rule, cases, default)],
    )


def _show(value: Mapping[str, float] | None) -> str:
    return "-" if value is None else " / ".join(f"{value[key]:.1f}" for key in MEASURES)


def _count_default(measured: Measured) -> str:
    ahead, total = 0, 0
    for name in measured.sets:
        star, default = measured.curve(name, "BT*"), measured.curve(name, "default")
        if star is not None and default is not None:
            ahead, total = ahead + (default.avg > star.avg), total + 1
    return f"avg above BT* on {ahead} of {total} data sets" if total else ""


def show_curves(measured: Measured, facts: Facts) -> Section:
    """Return the section on Figure 10."""
    lines = {name: to_line(curve) for name in measured.sets if (curve := measured.curve(name, "BT*")) is not None}
    defaults = {
        name: to_line(curve) for name in measured.sets if (curve := measured.curve(name, "default")) is not None
    }
    panels = [Lines("BT* as published", lines, "refinements", "accuracy, %")]
    panels.append(Lines("our default", defaults, "refinements", "accuracy, %"))
    monotone = [
        Case(
            name,
            None if (curve := measured.curve(name, "BT*")) is None else 100 * curve.mon,
            None,
            measured.results.why_missing(name),
        )
        for name in SETS
    ]
    means: dict[str, dict[str, float]] = {}
    for baseline in BASELINES:
        for method in ("BW", "BN", "MM", "ENS", "NN"):
            gain = mean_gain({name: measured.gain(name, baseline, method) for name in measured.sets})
            if gain is not None:
                means[f"{baseline} + {method}"] = {key: gain[key] for key in MEASURES}
        gain = mean_gain({name: _star_gain(measured, name, baseline) for name in measured.sets})
        if gain is not None:
            means[f"BT* over {baseline}"] = {key: gain[key] for key in MEASURES}
    cases = [
        Case(f"{key}: BT* over {b} and {b} + {m}", means[f"BT* over {b}"][key], means[f"{b} + {m}"][key])
        for b in BASELINES
        for m in ("BW", "BN", "MM", "ENS", "NN")
        for key in MEASURES
        if f"BT* over {b}" in means and f"{b} + {m}" in means
    ]
    rows = [[name, *(f"{gain[key]:+.1f}" for key in MEASURES)] for name, gain in means.items()]
    return Section(
        "Figure 10: BT* on all data sets, and the single approaches on average",
        "Top: accuracy over refinements. Bottom: mean differences to the baseline over the data sets, in points.",
        [Table(("mean difference", "avg", "max", "mon"), rows)],
        [
            draw_lines("figure-10-top", "Figure 10, top: anytime accuracy of BT*, and of our default.", panels),
            draw_bars("figure-10-bottom", "Figure 10, bottom: mean differences to the baselines.", means, y="points"),
        ]
        if means
        else [],
        [
            Claim.of(facts, "BT* curves", at_least(99.0, unit=" % mon by the printed formula"), monotone),
            Claim.of(facts, "BT* summary", higher(0.5, reproduced=0.9, what="the mean gain of BT*"), cases),
        ],
    )


def _star_gain(measured: Measured, name: str, baseline: str) -> dict[str, float] | None:
    base, star = measured.curve(name, baseline), measured.curve(name, "BT*")
    if base is None or star is None:
        return None
    before, after = measure(base), measure(star)
    return {key: after[key] - before[key] for key in before}


def show_ultimate(measured: Measured, facts: Facts) -> Section:
    """Return the section on Figure 11."""
    lines, rows, cases = {}, [], []
    for name in ALL_REFINEMENTS:
        found = [measured.results.get("all", name, number) for number in measured.numbers]
        if any(each is None for each in found):
            cases.append(Case(name, None, None, measured.results.why_missing(name)))
            continue
        grid = sorted({stage for each in found for stage in each["stages"]})
        curves = [AnytimeCurve(each["stages"], each["accuracy"], 1) for each in found]
        last = min(each["stages"][-1] for each in found)
        grid = [stage for stage in grid if 1 <= stage <= last]
        mean = [100 * float(np.mean([curve.at(stage) for curve in curves])) for stage in grid]
        lines[name] = ([float(s) for s in grid], mean)
        at_200 = mean[grid.index(measures.STEPS)]
        rows.append([name, f"{at_200:.1f}", f"{mean[-1]:.1f}", f"{grid[-1]}"])
        cases.append(Case(name, at_200, mean[-1]))
    panel = Lines("BT* as published", lines, "refinements", "accuracy, %", log=True)
    return Section(
        "Figure 11: all possible refinements",
        "Accuracy of BT* until nothing is left to refine.",
        [Table(("data set", "after 200, %", "after all, %", "refinements"), rows)],
        [draw_lines("figure-11", "Figure 11: all possible refinements.", [panel], height=3.8)] if lines else [],
        [
            Claim.of(
                facts, "ultimate", Rule("accuracy after 200 is within 1 point of that after all", _within_one), cases
            )
        ],
    )


def _within_one(case: Case) -> bool:
    return case.ours is not None and case.other is not None and abs(case.ours - case.other) <= 1.0
