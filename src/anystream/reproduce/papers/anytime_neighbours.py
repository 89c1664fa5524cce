"""Experiments of anytime nearest neighbours: Figures 4 to 10 and 13 of Ueno, Xi, Keogh, Lee, ICDM 2006."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from anystream.anytime.curve import AnytimeCurve
from anystream.graph import plot_decision_surfaces
from anystream.neighbors import AnytimeNeighborsClassifier
from anystream.reproduce.cells import Cell, Results
from anystream.reproduce.drawing import Lines, draw_lines, save_figure
from anystream.reproduce.facts import Facts
from anystream.reproduce.measures import neighbors as measures
from anystream.reproduce.paper import Claim, Paper, Plot, Scale, Section, Table
from anystream.reproduce.verdicts import Case, Rule, at_least, at_most, higher, lower, near

SETS = (
    "australian",
    "ionosphere",
    "letter",
    "pendigits",
    "covtype",
    "TwoPatterns",
    "OSULeaf",
    "SwedishLeaf",
    "FaceAll",
    "Fish",
)
FIGURES = {
    "JF": "Figures 4 and 5: the Japanese flag",
    "australian": "Figure 6: Australian Credit",
    "letter": "Figure 7: Letter",
    "pendigits": "Figure 8: PenDigits",
    "covtype": "Figure 9: Forest Cover Type",
    "ionosphere": "Figure 10: a small set (Ionosphere)",
    "Fish": "Figure 13: fish shapes",
}
ORDERS = ("random", "simple_rank", "greedy")
SMALL = ("australian", "ionosphere")
FALLING = ("australian", "ionosphere", "OSULeaf")


def settings(scale: Scale) -> dict[str, str]:
    """Return the settings of a run."""
    return {
        "published": "AnytimeNeighborsClassifier(ordering='simple_rank'), which is also our default; random orders; "
        "the best of DROP1 to 3 at each size on the test records (BestDrop)",
        "beside it": "ordering='greedy', ours",
        "JF": f"{scale.pick(3, 10)} draws of 2,000 training and 18,000 test records, radius 0.3 (not printed)",
        "australian, ionosphere": f"{scale.pick(5, 10)} of ten folds, scaled to [0, 1]",
        "covtype": "11,340 training records, 1,620 of each class, scaled to [0, 1]",
        "distances": "DTW for TwoPatterns and OSULeaf, rotation-invariant for Fish, Euclidean otherwise",
        "test records": f"at most {scale.pick(500, 20_000):,} of each set",
        "random orders": f"mean of {scale.pick(2, 5)} seeds",
        "Figure 10": "the text at hand does not name its set; Ionosphere is shown, OSULeaf judged too",
        "Figure 13": "the debris images of the paper are not public; the fish alone are run",
    }


def _parts(name: str, scale: Scale) -> range:
    if name == "JF":
        return range(scale.pick(3, 10))
    return range(scale.pick(5, 10)) if name in SMALL else range(1)


def plan(scale: Scale, sources: Mapping[str, str]) -> dict[Any, Cell]:
    """Return the cells of all figures."""
    cells: dict[Any, Cell] = {}
    for name in ("JF", *(name for name in SETS if name in sources)):
        read = () if name == "JF" else (name,)
        cost = {"covtype": 20.0, "letter": 10.0, "TwoPatterns": 30.0, "OSULeaf": 10.0, "Fish": 10.0}.get(name, 1.0)
        orders = [*ORDERS, "best of DROP1-3"] if name in ("JF", *SMALL) else list(ORDERS)
        for part in _parts(name, scale):
            for order in orders:
                for seed in range(scale.pick(2, 5) if order == "random" else 1):
                    inputs = {
                        "problem": name,
                        "part": part,
                        "max_test": scale.pick(500, 20_000),
                        "ordering": order,
                        "seed": seed,
                    }
                    cells["curve", name, order, part, seed] = Cell(measures.measure_orders, inputs, read, cost)
        cells["preempt", name] = Cell(
            measures.measure_preemption, {"problem": name, "part": 0, "n_queries": 50}, read, cost / 2
        )
    if "covtype" in sources:
        inputs = {"problem": "covtype", "part": 0, "ordering": "simple_rank"}
        cells["ordering", "covtype"] = Cell(measures.measure_ordering_time, inputs, ("covtype",), 10.0)
    return cells


class Curves:
    """Mean curves of a run, by set and order."""

    def __init__(self, results: Results) -> None:
        self.why_missing = results.why_missing
        grouped: dict[tuple[str, str], list[Any]] = {}
        for key, value in results.values.items():
            if key[0] == "curve":
                grouped.setdefault((key[1], key[2]), []).append(value)
        self.found = {key: self._mean(values) for key, values in grouped.items()}

    @staticmethod
    def _mean(values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        shared = sorted(set.intersection(*(set(each["exemplars"]) for each in values)))
        mean: dict[str, Any] = {"exemplars": shared, "n_train": min(each["n_train"] for each in values)}
        for key in ("accuracy", "training"):
            tables = [dict(zip(each["exemplars"], each[key], strict=False)) for each in values if each[key]]
            mean[key] = [100 * float(np.mean([table[n] for table in tables])) for n in shared] if tables else []
        return mean | {"classes": values[0]["classes"]}

    def get(self, name: str, order: str) -> dict[str, Any] | None:
        """Return the mean curve of an order on a set."""
        return self.found.get((name, order))

    def at(self, name: str, order: str, exemplars: int) -> float | None:
        """Return the accuracy after a number of exemplars, or at the last number of the grid before it."""
        curve = self.get(name, order)
        if curve is None:
            return None
        before = [i for i, n in enumerate(curve["exemplars"]) if n <= exemplars]
        return float(curve["accuracy"][before[-1] if before else 0])

    def last(self, name: str, order: str) -> float | None:
        """Return the accuracy with all exemplars."""
        curve = self.get(name, order)
        return None if curve is None else float(curve["accuracy"][-1])

    def share_above(self, name: str, max_exemplars: int | None = None) -> float | None:
        """Return the percentage of the stages in which SimpleRank is not below the random order."""
        ours, other = self.get(name, "simple_rank"), self.get(name, "random")
        if ours is None or other is None:
            return None
        tables = [dict(zip(curve["exemplars"], curve["accuracy"], strict=True)) for curve in (ours, other)]
        stages = [n for n in tables[0] if n in tables[1] and n < (max_exemplars or ours["exemplars"][-1])]
        return 100.0 * float(np.mean([tables[0][n] >= tables[1][n] - 0.1 for n in stages])) if stages else None


def sections(results: Results, scale: Scale, sources: Mapping[str, str], facts: Facts) -> list[Section]:
    """Return the sections of the report."""
    curves = Curves(results)
    found = [_figure(curves, facts, name) for name in FIGURES]
    return [*found, _two_patterns(curves, facts), _ordering(results, facts), _properties(results, curves, facts)]


def _figure(curves: Curves, facts: Facts, name: str) -> Section:
    orders = [*ORDERS, "best of DROP1-3"]
    shown = {order: curve for order in orders if (curve := curves.get(name, order)) is not None}
    lines = {order: (curve["exemplars"], curve["accuracy"]) for order, curve in shown.items()}
    if "simple_rank" in shown and shown["simple_rank"]["training"]:
        lines["simple_rank, training"] = (shown["simple_rank"]["exemplars"], shown["simple_rank"]["training"])
    sizes = [10, 20, 50, 100, 200, 500, 1000, 2000]
    last = max((curve["exemplars"][-1] for curve in shown.values()), default=0)
    sizes = [n for n in sizes if n < last]
    rows = [
        [order, *(f"{curves.at(name, order, n):.1f}" for n in sizes), f"{curves.last(name, order):.1f}"]
        for order in shown
    ]
    panel = Lines(
        name, lines, "exemplars compared", "accuracy, %", log=True, dashed=("greedy", "simple_rank, training")
    )
    plots: list[Plot] = [draw_lines(f"{name}", f"{FIGURES[name]}.", [panel], height=3.8)] if lines else []
    if name == "JF":
        plots.insert(0, _first_ten())
    return Section(
        FIGURES[name],
        "Accuracy after each number of exemplars; the training curve leaves one record out. Greedy is ours.",
        [Table(("accuracy, %", *map(str, sizes), "all"), rows)] if rows else [],
        plots,
        _CLAIMS[name](curves, facts),
    )


def _first_ten() -> Plot:
    """Return the first ten exemplars of both orders on JF, and the decision surface that they make."""
    X, y, _, _ = measures.split("JF", 0, 1)
    models = {}
    for order in ("simple_rank", "random"):
        model = AnytimeNeighborsClassifier(ordering=order, calibrate=False, budget=8, n_jobs=1).fit(X, y)
        models[f"{order}, ten exemplars"] = model
    figure = plot_decision_surfaces(models, X[:400], y[:400], resolution=120)
    return save_figure("JF-first-ten", "Figure 4: decisions on JF after ten exemplars (first draw).", figure)


def _jf(curves: Curves, facts: Facts) -> list[Claim]:
    ten = [
        Case(order, curves.at("JF", order, 10), facts.value("JF", "JF", order), curves.why_missing("JF"))
        for order in ("simple_rank", "random")
    ]
    above = [Case("JF, share of the stages", curves.share_above("JF"), None, curves.why_missing("JF"))]
    profile = [Case("JF", _profile_error(curves, "JF"), None, curves.why_missing("JF"))]
    return [
        Claim.of(facts, "JF ten", near(3.0), ten),
        Claim.of(facts, "JF above", at_least(95.0, unit=" % of the stages"), above),
        Claim.of(facts, "JF training", at_most(3.0, unit=" points of mean difference"), profile),
    ]


def _australian(curves: Curves, facts: Facts) -> list[Claim]:
    name, why = "australian", curves.why_missing("australian")
    ours, other = curves.get(name, "simple_rank"), curves.get(name, "random")
    difference = share = fall = None
    if ours is not None and other is not None:
        pairs = [
            (a - b)
            for n, a, b in zip(ours["exemplars"], ours["accuracy"], other["accuracy"], strict=True)
            if 10 <= n <= 0.5 * ours["exemplars"][-1]
        ]
        difference = float(np.mean(pairs))
        at = int(np.argmax(ours["accuracy"]))
        share = 100.0 * ours["exemplars"][at] / ours["exemplars"][-1]
        fall = ours["accuracy"][at] - ours["accuracy"][-1]
    drop, random = curves.get(name, "best of DROP1-3"), curves.get(name, "random")
    gain = None if drop is None or random is None else _log_area(drop) - _log_area(random)
    slightly = Rule("the log area is higher, by at most 3 points", _is_slight, needs_other=False)
    falls = Rule("the best accuracy is before 50 % of the data, and the end is at least 1 point lower", _is_peak)
    return [
        Claim.of(
            facts,
            "australian difference",
            near(2.0),
            [Case("mean difference", difference, facts.value(name, name, "difference"), why)],
        ),
        Claim.of(facts, "australian peak", falls, [Case("best at, % of the data; fall", share, fall, why)]),
        Claim.of(facts, "australian drop", slightly, [Case("gain in log area", gain, None, why)]),
    ]


def _is_peak(case: Case) -> bool:
    return case.ours is not None and case.other is not None and case.ours < 50.0 and case.other >= 1.0


def _is_slight(case: Case) -> bool:
    return case.ours is not None and 0.0 <= case.ours <= 3.0


def _log_area(curve: Mapping[str, Any]) -> float:
    accuracy = np.asarray(curve["accuracy"]) / 100.0
    return 100 * AnytimeCurve(np.asarray(curve["exemplars"]), accuracy, 1).log_area


def _to_2000(name: str) -> Callable[[Curves, Facts], list[Claim]]:
    def claims(curves: Curves, facts: Facts) -> list[Claim]:
        cases = [Case(f"{name}, up to 2,000", curves.share_above(name, 2000), None, curves.why_missing(name))]
        return [Claim.of(facts, name, at_least(90.0, unit=" % of the stages"), cases)]

    return claims


def _covtype(curves: Curves, facts: Facts) -> list[Claim]:
    final = [
        Case(
            "covtype",
            curves.last("covtype", "simple_rank"),
            facts.value("covtype", "covtype", "final"),
            curves.why_missing("covtype"),
        )
    ]
    above = [Case("covtype, share of the stages", curves.share_above("covtype"), None, curves.why_missing("covtype"))]
    return [
        Claim.of(facts, "covtype final", near(3.0), final),
        Claim.of(facts, "covtype above", at_least(90.0, unit=" % of the stages"), above),
    ]


def _small(curves: Curves, facts: Facts) -> list[Claim]:
    above = [
        Case(
            "ionosphere, share of the stages", curves.share_above("ionosphere"), None, curves.why_missing("ionosphere")
        )
    ]
    optimistic = [
        Case(name, _optimism(curves, name), None, curves.why_missing(name)) for name in ("ionosphere", "OSULeaf")
    ]
    return [
        Claim.of(facts, "small", at_least(50.0, unit=" % of the stages"), above),
        Claim.of(facts, "small training", at_least(5.0, unit=" points above the test curve on average"), optimistic),
    ]


def _optimism(curves: Curves, name: str) -> float | None:
    """Return the mean of training minus test accuracy in points."""
    curve = curves.get(name, "simple_rank")
    return None if curve is None else float(np.mean(np.subtract(curve["training"], curve["accuracy"])))


def _fish(curves: Curves, facts: Facts) -> list[Claim]:
    final = [
        Case(
            "Fish", curves.last("Fish", "simple_rank"), facts.value("fish", "Fish", "final"), curves.why_missing("Fish")
        )
    ]
    debris = [Case("fish and debris", None, None, "the images of debris are not public")]
    above = [Case("Fish, share of the stages", curves.share_above("Fish"), None, curves.why_missing("Fish"))]
    return [
        Claim.of(facts, "fish final", near(2.0), final),
        Claim.of(facts, "fish above", at_least(90.0, unit=" % of the stages"), above),
        Claim.of(facts, "fish debris", near(1.0), debris),
    ]


_CLAIMS: dict[str, Callable[[Curves, Facts], list[Claim]]] = {
    "JF": _jf,
    "australian": _australian,
    "letter": _to_2000("letter"),
    "pendigits": _to_2000("pendigits"),
    "covtype": _covtype,
    "ionosphere": _small,
    "Fish": _fish,
}


def _two_patterns(curves: Curves, facts: Facts) -> Section:
    name = "TwoPatterns"
    cases = [
        Case(
            "after 47 exemplars",
            curves.at(name, "simple_rank", 47),
            facts.value("two patterns", name, "at 47"),
            curves.why_missing(name),
        ),
        Case(
            "at the end",
            curves.last(name, "simple_rank"),
            facts.value("two patterns", name, "final"),
            curves.why_missing(name),
        ),
    ]
    curve = curves.get(name, "simple_rank")
    reached = None
    if curve is not None:
        reached = next((n for n, a in zip(curve["exemplars"], curve["accuracy"], strict=True) if a >= 95.13), None)
    rows = [[case.name, f"{case.other:.2f}", "-" if case.ours is None else f"{case.ours:.2f}"] for case in cases]
    rows.append(["exemplars to 95.13 %", "47", "-" if reached is None else str(reached)])
    return Section(
        "Section 8: Two Patterns",
        "Accuracy under dynamic time warping, which the paper's remark needs: 1-NN under Euclidean distance does "
        "not reach it.",
        [Table(("accuracy, %", "paper", "ours"), rows)],
        claims=[Claim.of(facts, "two patterns", higher(0.5, what="our accuracy"), cases)],
    )


def _ordering(results: Results, facts: Facts) -> Section:
    found = results.get("ordering", "covtype")
    ours = None if found is None else found["minutes"]
    printed = facts.value("ordering", "covtype", "minutes")
    rows = [["covtype, 11,340 records", f"{printed}", "-" if ours is None else f"{ours:.3f}"]]
    case = Case("covtype", ours, printed, results.why_missing("covtype"))
    return Section(
        "Section 5: time of the ordering",
        "Processor time of SimpleRank, one thread. The paper's machine is another one; without its cache the paper "
        "needs 277.7 hours.",
        [Table(("minutes", "paper", "ours"), rows)],
        claims=[Claim.of(facts, "ordering", lower(unit="minutes", what="our time on this machine"), [case])],
    )


def _profile_error(curves: Curves, name: str) -> float | None:
    """Return the mean absolute difference of training and test curve in points."""
    curve = curves.get(name, "simple_rank")
    if curve is None or not curve["training"]:
        return None
    return float(np.mean(np.abs(np.subtract(curve["training"], curve["accuracy"]))))


def _properties(results: Results, curves: Curves, facts: Facts) -> Section:
    names = ["JF", *SETS]
    rows = []
    columns: dict[str, list[Case]] = {key: [] for key in ("setup", "fall", "profile", "tenth", "same")}
    for name in names:
        curve, preempt = curves.get(name, "simple_rank"), results.get("preempt", name)
        if curve is None or preempt is None:
            for cases in columns.values():
                cases.append(Case(name, None, None, results.why_missing(name)))
            continue
        setup = 100.0 * preempt["setup"] / curve["n_train"] if preempt["labels_at_0"] == 1.0 else 100.0
        fall = float(np.max(np.maximum.accumulate(curve["accuracy"]) - curve["accuracy"]))
        profile = _profile_error(curves, name)
        tenth_at = curves.at(name, "simple_rank", round(0.1 * curve["exemplars"][-1]))
        tenth = 100.0 * (tenth_at or 0.0) / curve["accuracy"][-1]
        same = 100.0 * preempt["same"]
        for key, value in zip(columns, (setup, fall, profile, tenth, same), strict=True):
            columns[key].append(Case(name, value))
        shown = [
            f"{int(preempt['setup'])} ({setup:.1f} %)",
            f"{fall:.1f}",
            f"{profile:.1f}",
            f"{tenth:.0f}",
            f"{same:.0f}",
        ]
        rows.append([name, *shown])
    steady = [case for case in columns["fall"] if case.name not in FALLING]
    falling = [case for case in columns["fall"] if case.name in FALLING]
    alike = [case for case in columns["profile"] if case.name not in ("covtype", *SMALL, "OSULeaf", "FaceAll")]
    header = (
        "property, measured",
        "interruptible: set-up exemplars",
        "monotone: largest fall, points",
        "measurable: training - test, points",
        "diminishing: % of final at 10 % of the data",
        "preemptable: % same after storing",
    )
    return Section(
        "Anytime properties (Zilberstein and Russell), each with a measured value",
        "SimpleRank. Interruptible: exemplars before the first answer, and whether every record has a label then. "
        "Monotone: largest fall of the curve below its best so far. Measurable: mean absolute difference of "
        "leave-one-out and test accuracy. Preemptable: queries that were pickled in between and ended exactly as "
        "without.",
        [Table(header, rows)],
        claims=[
            Claim.of(facts, "interruptible", at_most(5.0, unit=" % of the data", reproduced=0.9), columns["setup"]),
            Claim.of(facts, "monotone", at_most(3.0, unit=" points of fall", reproduced=0.8), steady),
            Claim.of(facts, "falling", at_least(1.0, unit=" points of fall"), falling),
            Claim.of(facts, "measurable", at_most(5.0, unit=" points", reproduced=0.8), alike),
            Claim.of(
                facts, "diminishing", at_least(90.0, unit=" % of the final accuracy", reproduced=0.8), columns["tenth"]
            ),
            Claim.of(facts, "preemptable", at_least(100.0, unit=" % of the queries"), columns["same"]),
        ],
    )


PAPER = Paper(
    "anytime-neighbours", "Anytime classification using the nearest neighbor algorithm", SETS, plan, sections, settings
)
