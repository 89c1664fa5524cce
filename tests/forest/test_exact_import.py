"""Imported models answer as their framework does: every label, and probabilities up to rounding."""

import catboost_cases
import lightgbm_cases
import pytest
import sklearn_cases
import xgboost_cases
from forest_cases import differences, fitted, hard_records, import_all_ways, installed, native_answer, numpy_answer

CASES = sklearn_cases.CASES + lightgbm_cases.CASES + xgboost_cases.CASES + catboost_cases.CASES


@pytest.mark.parametrize("answer", [numpy_answer, native_answer])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_imported_model_answers_as_its_framework(case, answer, tmp_path):
    if not installed(case.framework):
        pytest.skip(f"{case.framework} is not installed")
    model = fitted(case)
    for ensemble in import_all_ways(case, model, tmp_path):
        wrong_labels, difference = differences(case, model, ensemble, hard_records(case, ensemble), answer)
        assert wrong_labels == 0
        assert difference <= (1e-6 if case.single else 1e-12)
