"""Cells and settings of a run of BT*: variants, folds, numbers of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anystream.reproduce.cells import Cell
from anystream.reproduce.measures import bayes_tree as measures
from anystream.reproduce.paper import Scale

SETS = (
    "page_blocks",
    "optdigits",
    "letter",
    "segment",
    "kr_vs_kp",
    "pendigits",
    "vowel",
    "spambase",
    "gender",
    "covtype",
)
FOLDS = 10
BANDWIDTHS = ("langley", "haerdle", "f0.001", "f0.005", "f0.01", "f0.05", "f0.1", "f0.5")
ALL_REFINEMENTS = ("vowel", "pendigits", "letter")
STEP_GRID = (0, 10, 50, 200, 800)
MEASURES = ("avg", "max", "mon")
BASELINES: dict[str, dict[str, Any]] = {
    "R": {"construction": "guttman", "bandwidth": "langley", "decision": "mixture"},
    "EM": {"bandwidth": "langley", "decision": "mixture"},
}
_BN: dict[str, Any] = {"covariance": "full", "covariance_levels": 1}
_MM: dict[str, Any] = {"margin_levels": 1}


def variants(quick: bool) -> dict[str, dict[str, Any]]:
    """Return changes to `bt_star` by name; "EM BN 2" is the second setting of BN, of which the best is reported."""
    found: dict[str, dict[str, Any]] = {}
    for name, base in BASELINES.items():
        found[f"{name}"] = base
        found |= {f"{name} BW {width}": base | {"bandwidth": width} for width in BANDWIDTHS}
        covariances = [_BN] if quick else [_BN, _BN | {"covariance_levels": 2}, _BN | {"covariance": 4}]
        found |= {f"{name} BN {i}": base | changes for i, changes in enumerate(covariances)}
        grid = [(1, 0.1)] if quick else [(m, weight) for m in (1, 2) for weight in (0.1, 1.0)]
        found |= {
            f"{name} MM {i}": base | {"margin_levels": m, "margin_lambda": weight} for i, (m, weight) in enumerate(grid)
        }
        found[f"{name} ENS"] = base | {"decision": "ensemble"}
        found[f"{name} NN"] = base | {"decision": "nearest"}
    em = BASELINES["EM"]
    found["EM BN+ENS"] = em | _BN | {"decision": "ensemble"}
    found["EM BW+BN"] = em | _BN | {"bandwidth": "f0.05"}
    found["EM BW+BN+ENS"] = em | _BN | {"bandwidth": "f0.05", "decision": "ensemble"}
    found["BT*"] = {}
    return found


def limits(scale: Scale) -> dict[str, Any]:
    """Return folds and numbers of records."""
    return {
        "folds": range(scale.pick(2, FOLDS)),
        "max_train": scale.pick(3000, None),
        "max_test": scale.pick(150, None),
    }


def settings(scale: Scale) -> dict[str, str]:
    """Return the settings of a run."""
    limit = limits(scale)
    return {
        "published": "BayesTreeClassifier.bt_star(): EMTopDown on all records, f0.05, ensemble, fanout 7, "
        "k = min(2, log2 L); the baselines R and EM with langley and the mixture decision",
        "default": "BayesTreeClassifier()",
        "evaluation": f"{len(limit['folds'])} of {FOLDS} stratified folds (seed 1), {measures.STEPS} refinements",
        "training records": f"at most {limit['max_train']} per fold" if limit["max_train"] else "all",
        "test records": f"at most {limit['max_test']} per fold" if limit["max_test"] else "all",
        "mon": "normalised by the range of the curve: differences in the paper's tables are larger than its printed "
        "formula can give; that formula's value stands beside it",
        "BW, BN, MM": "as in the paper, the best of several settings by avg + max + mon on the test records",
    }


def plan(scale: Scale, sources: Mapping[str, str]) -> dict[Any, Cell]:
    """Return the cells of all figures."""
    limit = limits(scale)
    bounds = {"n_folds": FOLDS, "max_train": limit["max_train"], "max_test": limit["max_test"]}
    cells: dict[Any, Cell] = {}

    def add(key: tuple[Any, ...], function: Any, name: str, number: int, cost: float = 1.0, **inputs: Any) -> None:
        source = sources[name]
        given = {"data": source, "number": number, **bounds, **inputs}
        cells[key] = Cell(function, given, (source,), cost * (20.0 if name == "covtype" and not scale.quick else 1.0))

    for name in [name for name in SETS if name in sources]:
        for number in limit["folds"]:
            for variant, changes in variants(scale.quick).items():
                if " MM" in variant and name == "covtype":
                    continue  # nor could the paper: "could not be achieved with 4 GB RAM"
                cost, curve = 10.0 if " MM" in variant else 1.0, ("curve", name, variant, number)
                add(curve, measures.measure_curve, name, number, cost, model="published", changes=changes)
            curve = ("curve", name, "default", number)
            add(curve, measures.measure_curve, name, number, 8.0, model="default", changes={})
            for components in (7, 49):
                static = ("static", name, components, number)
                add(static, measures.measure_static_mixture, name, number, 6.0, components=components)
            if name in ALL_REFINEMENTS:
                add(("all", name, number), measures.measure_all_refinements, name, number, 3.0)
                for rest, share in (("all", 1.0), ("learned", 0.5), ("samples", 0.25)):
                    key = ("partial", name, rest, number)
                    add(key, measures.measure_partial_em, name, number, share=share, rest=rest)
        add(("time", name), measures.measure_step_time, name, 0, 2.0, steps=list(STEP_GRID))
        add(("storage", name), measures.measure_storage, name, 0)
    return cells
