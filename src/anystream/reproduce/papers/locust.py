"""Experiments of LOCUST: Figures 2 to 5 and Table I of Aggarwal, Yu, ICDE 2008."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anystream.reproduce.cells import Cell, Results
from anystream.reproduce.drawing import Lines, draw_lines
from anystream.reproduce.facts import Facts
from anystream.reproduce.measures import locust as measures
from anystream.reproduce.paper import Claim, Paper, Scale, Section, Table
from anystream.reproduce.verdicts import Case, Rule, at_least, higher

SETS = ("kddcup99_10pct", "covtype")
NAMES = {"kddcup99_10pct": "kdd", "covtype": "covtype", "generated": "generated"}
SAMPLES = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
BIASES = ("unbiased", "sqrt", "proportional", "planned")
TARGETS_S = (10.0, 100.0)
CLUSTERS = 1000
MAX_STEPS = 1000


def streams(sources: Mapping[str, str]) -> list[str]:
    """Return the streams of a run; a generated one if no data set is present."""
    return [name for name in SETS if name in sources] or ["generated"]


def settings(scale: Scale) -> dict[str, str]:
    """Return the settings of a run."""
    return {
        "published": "LocustClassifier.paper(): blocks of 20,000 points, ten ranges, lambda 0.2, gini with prior; "
        "failed samples vote; bias as each figure says",
        "default": "LocustClassifier()",
        "streams": "file order; "
        + scale.pick("the first 80,000 records, every 50th of them tested", "all records, every 20th tested"),
        "protocol": "each block of 20,000 is tested before it is learned",
        "micro-clusters": f"MicroClusterClassifier(n_clusters={CLUSTERS}), all clusters compared",
        "workloads": "simulated time on a machine that classifies 4000 records per second at one sample, as the "
        "paper's; A: 400 per second with spikes of 12,000; B: a random height of 0 to 6000 every two seconds; n_s is "
        f"at most {MAX_STEPS}; the paper prints no rates of its workloads, these are our choice",
        "speed": scale.pick("an eighth of that machine and of that traffic", "that machine and that traffic"),
        "duration": f"{scale.pick(400, 1000)} s of simulated time, target waiting times 10 s and 100 s, seed 0",
        "generated stand-in": "if neither data set is present, a stream of 54 features and 7 classes is run; the "
        "paper's claims are then not tested",
    }


def plan(scale: Scale, sources: Mapping[str, str]) -> dict[Any, Cell]:
    """Return the cells of all figures."""
    bounds = {"max_records": scale.pick(80_000, None)}
    thin = bounds | {"test_every": scale.pick(50, 20)}
    cells: dict[Any, Cell] = {}
    for name in streams(sources):
        read = () if name == "generated" else (name,)
        where: dict[str, Any] = {"data": name}
        for model in (*(f"published, {bias}" for bias in BIASES), "default"):
            inputs = where | thin | {"model": model, "steps": list(SAMPLES)}
            cells["samples", name, model] = Cell(measures.measure_stream, inputs, read, 6.0)
        for model in ("published, sqrt", "default"):
            inputs = where | thin | {"model": model, "n_clusters": CLUSTERS}
            cells["equal", name, model] = Cell(measures.measure_equal_time, inputs, read, 6.0)
        for model in ("published", "default", f"clusters, {CLUSTERS}"):
            cells["rate", name, model] = Cell(
                measures.measure_learning_rate, where | bounds | {"model": model}, read, 2.0
            )
        for workload in ("A", "B"):
            for target_s in TARGETS_S:
                inputs = {
                    "max_records": scale.pick(45_000, 150_000),
                    "workload": workload,
                    "target_s": target_s,
                    "duration_s": float(scale.pick(400, 1000)),
                    "max_steps": MAX_STEPS,
                    "speed": scale.pick(0.125, 1.0),
                    "seed": 0,
                }
                cells["load", name, workload, target_s] = Cell(measures.measure_workload, where | inputs, read, 5.0)
    return cells


def sections(results: Results, scale: Scale, sources: Mapping[str, str], facts: Facts) -> list[Section]:
    """Return the sections of the report."""
    names = streams(sources)
    return [
        _equal_time(results, facts, names),
        _rates(results, facts, names),
        _samples(results, facts, names),
        _workloads(results, facts, names),
        _under_load(results, facts, names),
    ]


def _equal_time(results: Results, facts: Facts, names: Sequence[str]) -> Section:
    rows, panels = [], []
    cases = {model: [] for model in ("published, sqrt", "default")}  # type: dict[str, list[Case]]
    for name in names:
        lines = {}
        for model in cases:
            found = results.get("equal", name, model)
            if found is None:
                continue
            ours, theirs = (100 * float(np.mean(found[key])) for key in ("locust", "clusters"))
            label = f"LOCUST, {model}"
            rows.append([f"{NAMES[name]}, {model}", str(found["samples"]), f"{ours:.1f}", f"{theirs:.1f}"])
            lines[label] = (found["ends"], [100 * a for a in found["locust"]])
            lines["micro-clusters"] = (found["ends"], [100 * a for a in found["clusters"]])
            if name in SETS:
                cases[model].append(Case(NAMES[name], ours, theirs))
        if lines:
            panels.append(Lines(NAMES[name], lines, "points of the stream", "accuracy, %"))
    for model, of in cases.items():
        of += [Case(NAMES[name], None, None, results.why_missing(name)) for name in SETS if name not in names]
        cases[model] = of
    text = (
        "Accuracy along the stream at the same processor time per record: the number of samples is the largest whose "
        "time is below that of comparing all micro-clusters. Times are measured on this machine."
    )
    default = "; ".join(
        f"{case.name} {case.ours:.1f} against {case.other:.1f} %"
        for case in cases["default"]
        if case.ours is not None and case.other is not None
    )
    return Section(
        "Figure 2: LOCUST and micro-clusters at equal time",
        text,
        [Table(("stream, LOCUST", "samples n_s", "LOCUST, mean accuracy %", "micro-clusters, %"), rows)],
        [draw_lines("figure-2", "Figure 2: accuracy along the stream at equal time.", panels)] if panels else [],
        [Claim.of(facts, "equal time", higher(what="mean accuracy of LOCUST"), cases["published, sqrt"], default)],
    )


def _rates(results: Results, facts: Facts, names: Sequence[str]) -> Section:
    rows, faster, absolute = [], [], []
    for name in dict.fromkeys([*names, *SETS]):
        found = {m: results.get("rate", name, m) for m in ("published", "default", f"clusters, {CLUSTERS}")}
        ours, default, rival = (None if each is None else each["per_s"] for each in found.values())
        printed = {key: facts.value("table 1", NAMES[name], key) for key in ("clusters", "locust")}
        shown = [printed["clusters"], rival, printed["locust"], ours, default]
        rows.append([NAMES[name], *("-" if value is None else f"{value:,.0f}" for value in shown)])
        if name in SETS:
            faster.append(Case(NAMES[name], ours, rival, results.why_missing(name)))
            absolute.append(Case(NAMES[name], ours, printed["locust"], results.why_missing(name)))
    header = ("points per second", "micro-clusters, paper", "here", "LOCUST, paper", "here, published", "here, default")
    return Section(
        "Table I: learning rates",
        "Points learned per second of processor time, one thread. The paper's machine is another one.",
        [Table(header, rows)],
        claims=[
            Claim.of(facts, "rates", higher(unit="points per second", what="the rate of LOCUST"), faster),
            Claim.of(
                facts, "rates absolute", higher(unit="points per second", what="our rate on this machine"), absolute
            ),
        ],
    )


def _samples(results: Results, facts: Facts, names: Sequence[str]) -> Section:
    rows, panels = [], []
    means: dict[tuple[str, str], dict[int, float]] = {}
    for name in names:
        lines = {}
        for model in (*(f"published, {bias}" for bias in BIASES), "default"):
            found = results.get("samples", name, model)
            if found is None:
                continue
            mean = {n: 100 * float(np.mean(found["accuracy"][str(n)])) for n in SAMPLES}
            means[name, model] = mean
            rows.append([f"{NAMES[name]}, {model}", *(f"{value:.1f}" for value in mean.values())])
            lines[model] = ([float(n) for n in mean], list(mean.values()))
        panels.append(Lines(NAMES[name], lines, "samples n_s", "accuracy, %", log=True, dashed=("default",)))
    kdd = "kddcup99_10pct"  # the stream of the paper's Figure 3

    def value(bias: str, n: int) -> float | None:
        found = means.get((kdd, f"published, {bias}"))
        return None if found is None else found[n]

    three, why = ("unbiased", "sqrt", "proportional"), results.why_missing(kdd)
    rises = [Case(f"{bias}: 100 samples against 1", value(bias, 100), value(bias, 1), why) for bias in three]
    levels = [Case(bias, _share_before_ten(means.get((kdd, f"published, {bias}"))), None, why) for bias in three]
    few = [
        Case(f"{bias} against unbiased, {n} samples", value(bias, n), value("unbiased", n), why)
        for bias in ("sqrt", "proportional")
        for n in (1, 2, 3)
    ]
    many = [
        Case(f"against {bias}, 1000 samples", value("unbiased", 1000), value(bias, 1000), why) for bias in three[1:]
    ]
    found = means.get((kdd, "default"))
    default = (
        "" if found is None else f"{found[1]:.1f} % at 1 sample, {found[10]:.1f} at 10, {found[1000]:.1f} at 1000 (kdd)"
    )
    return Section(
        "Figure 3: number of samples and bias",
        "Mean accuracy over the stream after each number of samples, for each way to choose dimensions; the paper "
        "shows network intrusion. Planned is the paper's mixture of the three.",
        [Table(("accuracy, %", *map(str, SAMPLES)), rows)],
        [draw_lines("figure-3", "Figure 3: accuracy over the number of samples; dashed: our default.", panels)],
        [
            Claim.of(facts, "rises", higher(what="accuracy at 100 samples"), rises, default),
            Claim.of(facts, "levels", at_least(50.0, unit=" % of the rise to 1000 samples is there at 10"), levels),
            Claim.of(facts, "bias few", higher(what="accuracy with bias", reproduced=0.8), few),
            Claim.of(facts, "bias many", higher(what="accuracy without bias"), many),
        ],
    )


def _share_before_ten(mean: Mapping[int, float] | None) -> float | None:
    """Return the share of the rise from 1 to 1000 samples that is there at 10, in percent; 0 if there is no rise."""
    if mean is None:
        return None
    rise = mean[1000] - mean[1]
    return 100.0 * (mean[10] - mean[1]) / rise if rise > 0.0 else 0.0


def _workloads(results: Results, facts: Facts, names: Sequence[str]) -> Section:
    name = names[0]
    panels, rows = [], []
    smooth, follows, waiting = [], [], []
    for workload in ("A", "B"):
        found = {target: results.get("load", name, workload, target) for target in TARGETS_S}
        if any(each is None for each in found.values()):
            continue
        first = found[TARGETS_S[0]]
        n = sum(1 for t in first["time_s"] if t <= _duration(first))
        lines = {"input": (first["time_s"][:n], first["input_per_s"][:n])}
        waits = {}
        for target, each in found.items():
            lines[f"output, t_w = {target:g} s"] = (each["time_s"][:n], each["output_per_s"][:n])
            waits[f"t_w = {target:g} s"] = (each["time_s"][:n], each["waited_s"][:n])
            late = each["waited_s"][n // 2 : n]
            rows.append(
                [
                    f"{workload}, t_w = {target:g} s",
                    f"{np.std(each['output_per_s'][n // 4 : n]):.0f}",
                    f"{np.mean(late):.1f}",
                    f"{np.std(late):.1f}",
                    f"{np.mean(each['steps'][n // 2 : n]):.1f}",
                    f"{each['n_out']:,} of {each['n_in']:,}",
                ]
            )
            waiting.append(Case(f"{workload}, t_w = {target:g} s", float(np.mean(late)) / target))
        spread = {t: float(np.std(each["output_per_s"][n // 4 : n])) for t, each in found.items()}
        smooth.append(Case(f"{workload}, std of the output rate", spread[TARGETS_S[1]], spread[TARGETS_S[0]]))
        follow = float(np.corrcoef(first["input_per_s"][:n], first["output_per_s"][:n])[0, 1])
        follows.append(Case(f"{workload}, t_w = 10 s", follow))
        panels.append(Lines(f"workload {workload}: rates", lines, "s", "records per second"))
        panels.append(Lines(f"workload {workload}: waiting time", waits, "arrival, s", "s"))
    near_target = Rule(
        "the mean waiting time of the second half is between 0.5 and 1.5 times the target",
        _is_near_one,
        needs_other=False,
    )
    return Section(
        "Figure 4: processing rates and waiting times under bursts",
        f"Workloads A and B in simulated time ({NAMES[name]}), means of 10 s.",
        [
            Table(
                ("workload", "std of output per s", "mean wait, s", "std of wait, s", "mean n_s", "answered"),
                rows,
                "From the second half of the run on; rates from the second quarter on.",
            )
        ],
        [draw_lines("figure-4", "Figure 4: input and processing rates, and waiting times.", panels)] if panels else [],
        [
            Claim.of(facts, "smooth", Rule("the spread at 100 s is below that at 10 s", _is_below), smooth),
            Claim.of(facts, "follows", at_least(0.5, unit=" (correlation)"), follows),
            Claim.of(facts, "waiting", near_target, waiting),
        ],
    )


def _duration(found: Mapping[str, Any]) -> float:
    """Return the time of the last arrival, rounded up to the length of a mean."""
    return max(float(t) for t, rate in zip(found["time_s"], found["input_per_s"], strict=True) if rate > 0.0)


def _is_below(case: Case) -> bool:
    return case.ours is not None and case.other is not None and case.ours < case.other


def _is_near_one(case: Case) -> bool:
    return case.ours is not None and 0.5 <= case.ours <= 1.5


def _under_load(results: Results, facts: Facts, names: Sequence[str]) -> Section:
    panels, close, uniform, rows = [], [], [], []
    for name in names:
        for workload in ("A", "B"):
            found = {target: results.get("load", name, workload, target) for target in TARGETS_S}
            if any(each is None for each in found.values()):
                continue
            first = found[TARGETS_S[0]]
            lines = {"1000 samples": (first["marks_s"], [100 * a for a in first["optimistic"]])}
            for target, each in found.items():
                lines[f"t_w = {target:g} s"] = (each["marks_s"], [100 * a for a in each["accuracy"]])
                ours, best = (100 * float(np.mean(each[key])) for key in ("accuracy", "optimistic"))
                label = f"{NAMES[name]}, {workload}, t_w = {target:g} s"
                rows.append([label, f"{ours:.1f}", f"{best:.1f}", f"{each['steps_spread']:.2f}"])
                if name in SETS:
                    close.append(Case(label, ours, best))
            if name in SETS:
                spreads = [found[target]["steps_spread"] for target in reversed(TARGETS_S)]
                uniform.append(Case(f"{NAMES[name]}, {workload}", *spreads))
            panels.append(Lines(f"{NAMES[name]}, workload {workload}", lines, "s", "accuracy, %"))
    for name in SETS:
        if name not in names:
            close.append(Case(NAMES[name], None, None, results.why_missing(name)))
            uniform.append(Case(NAMES[name], None, None, results.why_missing(name)))
    return Section(
        "Figure 5: accuracy under load",
        "Accuracy on the 5000 records that arrived last before each mark, beside that of 1000 samples for each record.",
        [Table(("stream, workload", "accuracy, %", "1000 samples, %", "std of n_s by its mean"), rows)],
        [draw_lines("figure-5", "Figure 5: accuracy under load.", panels)] if panels else [],
        [
            Claim.of(facts, "close", higher(5.0, what="accuracy under load"), close),
            Claim.of(
                facts, "uniform", Rule("the relative spread of n_s at 100 s is below that at 10 s", _is_below), uniform
            ),
        ],
    )


PAPER = Paper("locust", "LOCUST: high dimensional classification of data streams", SETS, plan, sections, settings)
