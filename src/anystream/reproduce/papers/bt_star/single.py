"""Figures 6 to 8 of BT*: single improvements over the baselines, and margin maximisation on static mixtures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anystream.reproduce.drawing import Lines, draw_bars, draw_lines
from anystream.reproduce.facts import Facts
from anystream.reproduce.paper import Claim, Plot, Section, Table
from anystream.reproduce.papers.bt_star.measured import (
    Measured,
    choose_example,
    is_gain,
    mean_gain,
    to_line,
)
from anystream.reproduce.papers.bt_star.plan import BASELINES, MEASURES, SETS
from anystream.reproduce.verdicts import Case, CountRule, at_least, at_most, higher, near, same_direction


def show_differences(measured: Measured, facts: Facts, table: str, method: str) -> Section:
    """Return the section on one improvement: differences to both baselines."""
    titles = {"BW": "bandwidth", "BN": "covariances", "MM": "margin maximisation", "ENS": "ensemble", "NN": "nearest"}
    tables, claims = [], []
    for baseline in BASELINES:
        gains = {name: measured.gain(name, baseline, method) for name in SETS}
        rows = []
        for name in SETS:
            printed = [facts.value(table, name, f"{baseline} {method} {key}") for key in MEASURES]
            rows.append(_difference_row(name, printed, gains[name]))
        printed = [facts.value(table, "averages", f"{baseline} {method} {key}") for key in MEASURES]
        rows.append(_difference_row("average", printed, mean_gain(gains)))
        header = [f"{method} against {baseline}"]
        header += [f"{key}, {who}" for key in MEASURES for who in ("paper", "ours")] + ["mon by the formula, ours"]
        tables.append(Table(header, rows))
        cases = [
            Case(
                f"{name} {key}",
                None if (gain := gains[name]) is None else gain[key],
                facts.value(table, name, f"{baseline} {method} {key}"),
                measured.results.why_missing(name),
            )
            for name in SETS
            for key in MEASURES
        ]
        claims.append(Claim.of(facts, f"{baseline} {method}", same_direction(), cases))
    claims += _text_claims(measured, facts, method)
    plots = [_letter_plot(measured)] if method == "ENS" and measured.sets else []
    text = "Differences to the baseline in percentage points. The average is over the sets that have numbers."
    return Section(f"{table.capitalize()}: {titles[method]} ({method})", text, tables, plots, claims)


def _difference_row(name: str, printed: Sequence[float | None], gain: Mapping[str, float] | None) -> list[str]:
    cells = [name]
    for value, key in zip(printed, MEASURES, strict=True):
        cells += [_signed(value), _signed(None if gain is None else gain[key])]
    return [*cells, _signed(None if gain is None else gain["mon printed"])]


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 1) + 0.0:+.1f}"  # adding 0 makes -0.0 positive


def _text_claims(measured: Measured, facts: Facts, method: str) -> list[Claim]:
    gains = {(b, name): measured.gain(name, b, method) for b in BASELINES for name in SETS}
    means = {b: mean_gain({name: gains[b, name] for name in SETS}) for b in BASELINES}

    def per_set(baselines: Sequence[str], keys: Sequence[str]) -> list[Case]:
        return [
            Case(
                f"{b} {name} {key}",
                None if (gain := gains[b, name]) is None else gain[key],
                None,
                measured.results.why_missing(name),
            )
            for b in baselines
            for name in SETS
            for key in keys
        ]

    def mean_cases(baselines: Sequence[str], keys: Sequence[str]) -> list[Case]:
        return [
            Case(f"{b} {key}", None if (mean := means[b]) is None else mean[key]) for b in baselines for key in keys
        ]

    if method == "BW":
        raised = CountRule("a measure is not lower", _not_lower, (38, 40), needs_other=False)
        chosen = [
            Case(
                f"{b} {name}",
                None if (best := measured.best(name, f"{b} BW")) is None else float(best[0].endswith("f0.05")),
                why_missing=measured.results.why_missing(name),
            )
            for b in BASELINES
            for name in SETS
        ]
        chose = CountRule("f0.05 is chosen", lambda case: case.ours == 1.0, (12, 20), 0.15, needs_other=False)
        return [
            Claim.of(facts, "BW accuracy", raised, per_set(("R", "EM"), ("avg", "max"))),
            Claim.of(facts, "BW choice", chose, chosen),
        ]
    if method == "BN":
        small = CountRule("avg over R changes by less than 2.5 points", _is_small, (9, 10), needs_other=False)
        return [Claim.of(facts, "BN small", small, per_set(("R",), ("avg",)))]
    if method == "MM":
        no_gain = at_most(0.5, unit=" points")
        return [
            Claim.of(facts, "MM mon", at_least(0.0, unit=" points"), mean_cases(("R", "EM"), ("mon",))),
            Claim.of(facts, "MM accuracy", no_gain, mean_cases(("R", "EM"), ("avg", "max"))),
        ]
    if method == "ENS":
        bounds = {"R": 10.0, "EM": 5.0}
        cases = [Case(f"mon over {b}", None if (m := means[b]) is None else m["mon"], bounds[b]) for b in BASELINES]
        return [Claim.of(facts, "ENS mon", higher(what="our mean gain in mon"), cases)]
    same = CountRule(
        "avg changes by at most 0.5 points", lambda case: abs(case.ours or 0.0) <= 0.5, (7, 10), needs_other=False
    )
    return [
        Claim.of(facts, "NN same", same, per_set(("R",), ("avg",))),
        Claim.of(facts, "NN worse", at_most(0.0, unit=" points"), mean_cases(("EM",), ("avg",))),
    ]


def _not_lower(case: Case) -> bool:
    return case.ours is not None and case.ours >= -0.05


def _is_same(case: Case) -> bool:
    return case.ours is not None and abs(case.ours) <= 0.5


def _is_small(case: Case) -> bool:
    return case.ours is not None and abs(case.ours) < 2.5


def _letter_plot(measured: Measured) -> Plot:
    name = choose_example(measured)
    lines = {}
    for method in ("", "BW", "BN", "MM", "ENS", "NN"):
        best = measured.best(name, f"R {method}".strip()) if name else None
        if method == "" and name:
            baseline = measured.curve(name, "R")
            best = None if baseline is None else ("R", baseline)
        if best is not None:
            lines[f"R + {method}" if method else "R baseline"] = to_line(best[1])
    panel = Lines(f"{name}: single approaches over R", lines, "refinements", "accuracy, %")
    return draw_lines("figure-7-right", "Figure 7, right: effects of single approaches.", [panel], height=3.8)


def show_static(measured: Measured, facts: Facts) -> Section:
    """Return the section on Figure 7, left."""
    gains: dict[str, dict[str, float | None]] = {}
    for name in SETS:
        gains[name] = {}
        for components in (7, 49):
            em = measured.mean_over_folds("static", name, components, field="em")
            mm = measured.mean_over_folds("static", name, components, field="mm")
            gains[name][str(components)] = None if em is None or mm is None else 100 * (mm - em)
    rows = [
        [name, *(f"{value:+.1f}" if value is not None else "-" for value in gain.values())]
        for name, gain in gains.items()
    ]

    def cases(choose: Any) -> list[Case]:
        return [
            Case(
                name, None if None in gain.values() else choose(gain.values()), None, measured.results.why_missing(name)
            )
            for name, gain in gains.items()
        ]

    vowel = [
        Case(
            f"vowel, {n} components",
            gain,
            facts.value("figure 7 left", "vowel", n),
            measured.results.why_missing("vowel"),
        )
        for n, gain in gains["vowel"].items()
    ]
    one = CountRule("the gain is above 0 for one of them", is_gain, (8, 10), needs_other=False)
    both = CountRule("the gain is above 0 for both", is_gain, (5, 10), 0.2, needs_other=False)
    plot = draw_bars(
        "figure-7-left",
        "Figure 7, left: gain of margin maximisation on static mixtures of 7 and 49 components per class.",
        {name: {f"{n} components": value for n, value in gain.items()} for name, gain in gains.items()},
        y="gain, points",
    )
    return Section(
        "Figure 7, left: margin maximisation on static mixtures",
        "Accuracy of mixtures found by EM, before and after margin maximisation, without a tree; difference in points.",
        [Table(("data set", "7 components", "49 components"), rows)],
        [plot],
        [
            Claim.of(facts, "static one", one, cases(max)),
            Claim.of(facts, "static both", both, cases(min)),
            Claim.of(facts, "static vowel", near(3.0), vowel),
        ],
    )
