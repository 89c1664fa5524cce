"""Experiments of bulk loading: Figures 1 to 3 of Kranen, Krieger, Denker, Seidl, PAKDD 2010."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anystream.anytime.curve import AnytimeCurve
from anystream.reproduce.cells import Cell, Results
from anystream.reproduce.drawing import Lines, draw_bars, draw_lines
from anystream.reproduce.facts import Facts
from anystream.reproduce.measures import bayes_tree as measures
from anystream.reproduce.paper import Claim, Paper, Scale, Section, Table
from anystream.reproduce.verdicts import Case, Rule, at_least, higher, lower, near

SETS = ("pendigits", "letter", "vowel", "usps", "verbmobil", "gender", "covtype")
AREA_SETS = ("pendigits", "letter", "vowel", "usps", "verbmobil")
DESCENT_SETS = ("gender", "covtype")
FOLDS = 4
LOADS = {
    "Iterative": "guttman",
    "Hilbert": "hilbert",
    "z-curve": "z_curve",
    "STR": "str",
    "Goldberger": "goldberger",
    "Virtual sampling": "virtual_sampling",
    "EMTopDown": "em_top_down",
}
DESCENTS = {"glo": "global_best", "bft": "breadth_first"}
DEFAULT = "our default"


def limits(scale: Scale) -> tuple[int, int | None, int | None]:
    """Return the number of folds that are run, and the maximum numbers of training and test records."""
    return (2, 1500, 150) if scale.quick else (FOLDS, None, None)


def settings(scale: Scale) -> dict[str, str]:
    """Return the settings of a run."""
    folds, max_train, max_test = limits(scale)
    return {
        "published": "BayesTreeClassifier.bt_star(bandwidth='langley', decision='mixture', construction=...): the "
        "mixture of the present frontier, plain variances, k = min(2, log2 m), all constructions as printed",
        "default": "BayesTreeClassifier()",
        "evaluation": f"{folds} of {FOLDS} stratified folds (seed 1), {measures.STEPS} nodes",
        "training records": f"at most {max_train} per fold" if max_train else "all",
        "test records": f"at most {max_test} per fold" if max_test else "all",
        "area": "normalised area under the anytime curve, in percent",
        "oscillation": "mean absolute change of the accuracy from one node to the next, in points",
    }


def plan(scale: Scale, sources: Mapping[str, str]) -> dict[Any, Cell]:
    """Return the cells of all figures."""
    folds, max_train, max_test = limits(scale)
    cells: dict[Any, Cell] = {}
    wanted = [(name, load, "glo") for name in AREA_SETS for load in LOADS]
    wanted += [
        (name, load, descent)
        for name in DESCENT_SETS
        for load in ("Hilbert", "EMTopDown", "Iterative")
        for descent in DESCENTS
    ]
    for number in range(folds):
        for name, load, descent in wanted:
            if name not in sources:
                continue
            changes = {
                "construction": LOADS[load],
                "bandwidth": "langley",
                "decision": "mixture",
                "descent": DESCENTS[descent],
            }
            cost = {"Virtual sampling": 20.0, "Goldberger": 5.0}.get(load, 1.0) * (5.0 if name == "usps" else 1.0)
            cells["curve", name, f"{load} {descent}", number] = _cell(
                sources[name], number, (max_train, max_test), "published", changes, cost
            )
        for name in (*AREA_SETS, *DESCENT_SETS):
            if name in sources:
                cells["curve", name, f"{DEFAULT} glo", number] = _cell(
                    sources[name], number, (max_train, max_test), "default", {}, 8.0
                )
    return cells


def _cell(
    source: str, number: int, maxima: tuple[int | None, int | None], model: str, changes: dict[str, Any], cost: float
) -> Cell:
    inputs = {
        "data": source,
        "n_folds": FOLDS,
        "number": number,
        "max_train": maxima[0],
        "max_test": maxima[1],
        "model": model,
        "changes": changes,
    }
    return Cell(measures.measure_curve, inputs, (source,), cost)


class Measured:
    """Results of a run by data set and construction."""

    def __init__(self, results: Results, scale: Scale) -> None:
        self.results, self.folds = results, range(limits(scale)[0])

    def curve(self, name: str, load: str, descent: str = "glo") -> AnytimeCurve | None:
        """Return the mean curve over the folds."""
        found = [self.results.get("curve", name, f"{load} {descent}", number) for number in self.folds]
        if any(each is None for each in found):
            return None
        stages = np.arange(len(found[0]["accuracy"]))
        return AnytimeCurve.mean([AnytimeCurve(stages, each["accuracy"], each["n_records"]) for each in found])

    def area(self, name: str, load: str, descent: str = "glo") -> float | None:
        """Return the normalised area in percent."""
        curve = self.curve(name, load, descent)
        return None if curve is None else 100 * curve.area

    def span(self, name: str, load: str, first: int, last: int) -> float | None:
        """Return the mean accuracy in percent over a span of nodes."""
        curve = self.curve(name, load)
        return None if curve is None else 100 * float(curve.accuracy[first : last + 1].mean())

    def variances(self, name: str, load: str) -> list[float] | None:
        """Return the variance of the entries on levels 1, 2, ... above the records, in units of that of the class."""
        found = self.results.get("curve", name, f"{load} glo", 0)
        return None if found is None else [float(v) for v in found["variances"][1:]]


def sections(results: Results, scale: Scale, sources: Mapping[str, str], facts: Facts) -> list[Section]:
    """Return the sections of the report."""
    measured = Measured(results, scale)
    return [_curves(measured, facts), _areas(measured, facts), _descents(measured, facts), _variances(measured, facts)]


def _line(curve: AnytimeCurve) -> tuple[list[float], list[float]]:
    return [float(s) for s in curve.stages], [100 * float(a) for a in curve.accuracy]


def _curves(measured: Measured, facts: Facts) -> Section:
    panels = []
    for name in ("pendigits", "letter"):
        found = {load: measured.curve(name, load) for load in (*LOADS, DEFAULT)}
        lines = {load: _line(curve) for load, curve in found.items() if curve is not None}
        if lines:
            panels.append(Lines(name, lines, "nodes", "accuracy, %", dashed=(DEFAULT,)))
    spans = ((1, 50), (51, 200), (1, 200))
    rows = [
        [f"{name}: {load}", *("-" if (v := measured.span(name, load, *span)) is None else f"{v:.1f}" for span in spans)]
        for name in ("pendigits", "letter")
        for load in (*LOADS, DEFAULT)
    ]
    pen, letter = measured.results.why_missing("pendigits"), measured.results.why_missing("letter")
    gain = _smallest_gain(measured, "pendigits", "EMTopDown", "Iterative")
    most = _largest_gain(measured, "letter", "EMTopDown", "Iterative")
    worst = [
        Case(f"against {load}", measured.area("pendigits", "Virtual sampling"), measured.area("pendigits", load), pen)
        for load in LOADS
        if load != "Virtual sampling"
    ]
    above = [
        Case(
            f"{load}, nodes {a} to {b}",
            measured.span("letter", load, a, b),
            measured.span("letter", "Iterative", a, b),
            letter,
        )
        for load in ("Hilbert", "z-curve")
        for a, b in ((1, 50), (51, 100), (101, 200))
    ]
    not_above = Rule("Goldberger is not above Iterative up to 50 nodes; then the gain is at most 1 point", _late_gain)
    return Section(
        "Figure 1: anytime accuracy on pendigits and letter",
        "Accuracy after each node, mean over the folds; mean over spans of nodes in percent.",
        [Table(("data set: bulk load", "nodes 1-50", "51-200", "1-200"), rows)],
        [draw_lines("figure-1", "Figure 1: anytime accuracy; dashed: our default.", panels, height=4.0)]
        if panels
        else [],
        [
            Claim.of(
                facts,
                "em pendigits",
                at_least(3.0, unit=" points"),
                [Case("smallest gain, nodes 10 to 200", gain, None, pen)],
            ),
            Claim.of(
                facts,
                "em letter",
                near(5.0),
                [Case("largest gain", most, facts.value("gains", "letter", "max"), letter)],
            ),
            Claim.of(
                facts,
                "goldberger pendigits",
                not_above,
                [
                    _compare(
                        measured, "pendigits", ("Goldberger", "Iterative"), (1, 50), "early: Goldberger, Iterative"
                    ),
                    _compare(
                        measured, "pendigits", ("Iterative", "Goldberger"), (51, 200), "late: Iterative, Goldberger"
                    ),
                ],
            ),
            Claim.of(facts, "virtual worst", lower(0.5, what="the area of virtual sampling"), worst),
            Claim.of(
                facts,
                "goldberger letter",
                Rule("up to 40 nodes within 2 points, after them above", _same_then_above),
                [
                    _compare(measured, "letter", ("Goldberger", "Iterative"), (1, 40), "nodes 1 to 40"),
                    _compare(measured, "letter", ("Goldberger", "Iterative"), (41, 200), "nodes 41 to 200"),
                ],
            ),
            Claim.of(facts, "curves letter", higher(what="mean accuracy"), above),
        ],
    )


def _compare(measured: Measured, name: str, loads: tuple[str, str], nodes: tuple[int, int], label: str) -> Case:
    """Return the case that compares the mean accuracy of two bulk loads over a span of nodes."""
    first, second = (measured.span(name, load, *nodes) for load in loads)
    return Case(label, first, second, measured.results.why_missing(name))


def _late_gain(case: Case) -> bool:
    if case.ours is None or case.other is None:
        return False
    if case.name.startswith("early"):
        return case.ours <= case.other
    return case.ours - case.other >= -1.0


def _same_then_above(case: Case) -> bool:
    if case.ours is None or case.other is None:
        return False
    return abs(case.ours - case.other) <= 2.0 if case.name.endswith("1 to 40") else case.ours > case.other


def _gains(measured: Measured, name: str, load: str, base: str) -> Any:
    ours, other = measured.curve(name, load), measured.curve(name, base)
    return None if ours is None or other is None else 100 * (ours.accuracy - other.accuracy)


def _smallest_gain(measured: Measured, name: str, load: str, base: str) -> float | None:
    gains = _gains(measured, name, load, base)
    return None if gains is None else float(gains[10:].min())


def _largest_gain(measured: Measured, name: str, load: str, base: str) -> float | None:
    gains = _gains(measured, name, load, base)
    return None if gains is None else float(gains[1:].max())


def _areas(measured: Measured, facts: Facts) -> Section:
    areas = {(name, load): measured.area(name, load) for name in AREA_SETS for load in (*LOADS, DEFAULT)}
    rows = [
        [load, *("-" if (value := areas[name, load]) is None else f"{value:.1f}" for name in AREA_SETS)]
        for load in (*LOADS, DEFAULT)
    ]

    def against(load: str, others: Sequence[str], sets: Sequence[str] = AREA_SETS) -> list[Case]:
        return [
            Case(
                f"{name}: {load} against {other}",
                areas[name, load],
                areas[name, other],
                measured.results.why_missing(name),
            )
            for name in sets
            for other in others
        ]

    present = [name for name in AREA_SETS if areas[name, "EMTopDown"] is not None]
    ahead = [name for name in present if (areas[name, DEFAULT] or 0.0) > (areas[name, "EMTopDown"] or 0.0)]
    default = f"area above EMTopDown as published on {len(ahead)} of {len(present)} data sets"
    not_letter = [name for name in AREA_SETS if name != "letter"]
    statistical = against("Goldberger", ("z-curve",), not_letter) + against("Virtual sampling", ("z-curve",))
    exception = [
        Case(
            "letter: z-curve against Goldberger",
            areas["letter", "z-curve"],
            areas["letter", "Goldberger"],
            measured.results.why_missing("letter"),
        )
    ]
    between = against("STR", ("Hilbert", "z-curve"))
    not_beaten = [
        Case(
            f"{name}: Iterative against STR",
            areas[name, "Iterative"],
            areas[name, "STR"],
            measured.results.why_missing(name),
        )
        for name in AREA_SETS
    ]
    groups = {name: {load: areas[name, load] for load in (*LOADS, DEFAULT)} for name in present}
    return Section(
        "Figures 1 and 2: normalised area under the anytime curve",
        "Area in percent, mean over the folds. Verbmobil is not public. Differences below half a point count as noise.",
        [Table(("bulk load", *AREA_SETS), rows)],
        [draw_bars("areas", "Figures 1 (bottom) and 2 (top): normalised areas.", groups, y="area, %")]
        if groups
        else [],
        [
            Claim.of(
                facts,
                "em best",
                higher(0.5, what="the area of EMTopDown"),
                against("EMTopDown", list(LOADS)[:-1]),
                default,
            ),
            Claim.of(facts, "hilbert z", near(2.0, reproduced=0.9), against("Hilbert", ("z-curve",))),
            Claim.of(facts, "str between", lower(0.5, what="the area"), between + not_beaten),
            Claim.of(facts, "statistical", lower(0.5, what="the area"), statistical + exception),
        ],
    )


def _descents(measured: Measured, facts: Facts) -> Section:
    loads = ("Hilbert", "EMTopDown")
    rows, panels, better, oscillates = [], [], [], []
    for name in DESCENT_SETS:
        lines = {}
        for load in loads:
            found = {descent: measured.curve(name, load, descent) for descent in DESCENTS}
            glo, bft = found.values()
            swings = {descent: _oscillation(curve) for descent, curve in found.items()}
            for descent, curve in found.items():
                if curve is not None:
                    lines[f"{load} {descent}"] = _line(curve)
                    rows.append([f"{name}: {load} {descent}", f"{100 * curve.area:.1f}", f"{swings[descent]:.2f}"])
            better.append(
                Case(
                    f"{name}: {load}",
                    None if glo is None else 100 * glo.area,
                    None if bft is None else 100 * bft.area,
                    measured.results.why_missing(name),
                )
            )
            oscillates.append(Case(f"{name}: {load}", swings["glo"], swings["bft"], measured.results.why_missing(name)))
        if lines:
            panels.append(Lines(name, lines, "nodes", "accuracy, %"))
    twice = Rule("the oscillation of global best is at least twice that of breadth first", _is_twice)
    return Section(
        "Figure 2, bottom: descents and oscillation",
        "Global best descent (glo) and breadth first traversal (bft); k = 2 classes in turn. Gender is not public.",
        [Table(("data set: bulk load, descent", "area, %", "oscillation, points"), rows)],
        [draw_lines("figure-2-bottom", "Figure 2, bottom: descents.", panels, height=4.0)] if panels else [],
        [
            Claim.of(facts, "global best", higher(what="the area of global best"), better),
            Claim.of(facts, "oscillation", twice, oscillates),
        ],
    )


def _oscillation(curve: AnytimeCurve | None) -> float | None:
    return None if curve is None else 100 * float(np.abs(np.diff(curve.accuracy[1:])).mean())


def _is_twice(case: Case) -> bool:
    return case.ours is not None and case.other is not None and case.ours >= 2.0 * case.other


def _variances(measured: Measured, facts: Facts) -> Section:
    loads = ("Hilbert", "Goldberger", "EMTopDown", "Iterative")
    sets = [name for name in AREA_SETS if measured.variances(name, "Iterative") is not None]
    rows, panels = [], []
    for name in sets:
        lines = {}
        for load in loads:
            levels = measured.variances(name, load)
            if levels:
                lines[load] = ([float(i) for i in range(1, len(levels) + 1)], levels)
                rows.append([f"{name}: {load}", str(len(levels)), " ".join(f"{value:.3f}" for value in levels)])
        if name in ("letter", "pendigits"):
            panels.append(Lines(name, lines, "level above the records", "variance / class"))

    def lowest(name: str, load: str) -> float | None:
        levels = measured.variances(name, load)
        return None if not levels else levels[0]

    def height(name: str, load: str) -> float | None:
        levels = measured.variances(name, load)
        return None if not levels else float(len(levels))

    smaller = [
        Case(
            f"{name}, level 1: {load}",
            lowest(name, load),
            lowest(name, "Iterative"),
            measured.results.why_missing(name),
        )
        for name in AREA_SETS
        for load in ("EMTopDown", "Hilbert")
    ]
    goldberger = [
        Case(
            "letter, level 1",
            lowest("letter", "Goldberger"),
            lowest("letter", "Iterative"),
            measured.results.why_missing("letter"),
        )
    ]
    heights = [
        Case(name, height(name, "EMTopDown"), height(name, "Hilbert"), measured.results.why_missing(name))
        for name in AREA_SETS
    ]
    ratio = [
        Case(case.name, None if case.ours is None or not case.other else case.ours / case.other, None, case.why_missing)
        for case in heights
    ]
    return Section(
        "Figure 3: variance of the entries per level",
        "Mean variance of an entry in units of the variance of its class, first fold; level 1 is above the records.",
        [Table(("data set: bulk load", "levels", "variance on levels 1, 2, ..."), rows)],
        [draw_lines("figure-3", "Figure 3: variance per level.", panels)] if panels else [],
        [
            Claim.of(facts, "variance em", lower(unit="", what="the variance", reproduced=0.9), smaller),
            Claim.of(facts, "variance goldberger", lower(unit="", what="the variance"), goldberger),
            Claim.of(
                facts,
                "height",
                Rule("the ratio of the heights is above 1 and at most 2.5", _is_higher, False, 0.8),
                ratio,
            ),
        ],
    )


def _is_higher(case: Case) -> bool:
    return case.ours is not None and 1.0 < case.ours <= 2.5


PAPER = Paper("bulk-loading", "Bulk loading hierarchical mixture models", SETS, plan, sections, settings)
