"""Imported models with all steps against their frameworks: different labels, and the largest relative difference of probabilities."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.table import machine, print_table

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "forest"))  # the models that the tests import

import catboost_cases
import lightgbm_cases
import sklearn_cases
import xgboost_cases
from forest_cases import (
    Case,
    differences,
    fitted,
    framework_version,
    hard_records,
    import_all_ways,
    installed,
    native_answer,
)


def compare(case: Case) -> tuple[int, int, float]:
    """Return the number of records compared, of different labels, and the largest difference of probabilities."""
    model = fitted(case)
    n_records, n_wrong, largest = 0, 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for ensemble in import_all_ways(case, model, Path(folder)):
            records = hard_records(case, ensemble)
            wrong, difference = differences(case, model, ensemble, records, native_answer)
            n_records, n_wrong, largest = n_records + len(records), n_wrong + wrong, max(largest, difference)
    return n_records, n_wrong, largest


def main() -> None:
    rows, notes = [], [f"seed 1; {machine()}"]
    for cases in (sklearn_cases.CASES, lightgbm_cases.CASES, xgboost_cases.CASES, catboost_cases.CASES):
        framework = cases[0].framework
        if not installed(framework):
            notes.append(f"{framework} is not installed and left out")
            continue
        records, wrong, largest = zip(*map(compare, cases), strict=True)
        cells = [len(cases), sum(records), sum(wrong), f"{max(largest):.1e}"]
        rows.append([framework, framework_version(framework), *cells])
    header = ["framework", "version", "models", "records", "different labels", "largest relative difference"]
    print_table("Imported models against their frameworks, records at and beside thresholds", header, rows, notes)


if __name__ == "__main__":
    main()
