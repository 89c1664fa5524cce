"""Certified labels against those of all trees: how many are certified early, after how many nodes, and wrong ones."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from anystream import AnytimeForestClassifier, Budget
from anystream.forest import import_model
from benchmarks.table import machine, print_table

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "forest"))  # the models that the tests import

import catboost_cases
import lightgbm_cases
import sklearn_cases
import xgboost_cases
from forest_cases import Case, fitted, hard_records, installed


def certify(case: Case, n_records: int) -> tuple[int, int, float, int]:
    """Return the numbers of records, of those certified early, the mean share of nodes, and of wrong labels."""
    ensemble = import_model(fitted(case))
    model = AnytimeForestClassifier.from_model(ensemble)
    model.__dict__.pop("feature_names_in_", None)
    total = early = wrong = nodes = nodes_of_all = seed = 0
    while total < n_records:
        records = hard_records(case, ensemble, seed=seed)
        seed += 1
        every = model.classify(records, budget=Budget())
        some = model.classify(records, budget=max(model.max_steps_ - 1, 0))
        total += len(records)
        early += int((some.certified & (some.steps < every.steps)).sum())
        wrong += int((some.labels[some.certified] != every.labels[some.certified]).sum())
        nodes, nodes_of_all = nodes + int(some.steps.sum()), nodes_of_all + int(every.steps.sum())
    return total, early, nodes / max(nodes_of_all, 1), wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000, help="records in all")
    n_records = parser.parse_args().records
    rows, notes = [], [f"records at and beside thresholds, seeds from 0; {machine()}"]
    frameworks = [module.CASES for module in (sklearn_cases, lightgbm_cases, xgboost_cases, catboost_cases)]
    for cases in frameworks:
        framework = cases[0].framework
        if not installed(framework):
            notes.append(f"{framework} is not installed and left out")
            continue
        objects = [case for case in cases if framework != "catboost" or case.category_values is None]
        each = n_records // (len(frameworks) * len(objects)) + 1
        found = [certify(case, each) for case in objects if fitted(case) is not None]
        total, early, shares, wrong = zip(*found, strict=True)
        share = f"{sum(early) / sum(total):.1%}"
        rows.append([framework, len(found), sum(total), share, f"{np.mean(shares):.1%}", sum(wrong)])
    header = ["framework", "models", "records", "certified early", "nodes read", "wrong certificates"]
    print_table("Certified labels against those of all trees", header, rows, notes)


if __name__ == "__main__":
    main()
