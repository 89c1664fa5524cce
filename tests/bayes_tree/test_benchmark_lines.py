"""Lines under the tables of benchmarks are computed from the run."""

import numpy as np
from benchmarks.bayes_tree.variants import compare_rows


def test_the_lines_under_the_table_follow_the_figures_of_the_run():
    baseline = np.array([[80.0, 70.0, 90.0], [60.0, 50.0, 70.0]])  # avg, at 0, at 200 of two sets
    change = np.array([[2.0, 0.0, 1.0], [-1.0, 0.0, 3.0]])
    (line,) = compare_rows({"EM baseline": baseline, "EM + ENS": baseline + change})
    assert line == (
        "EM + ENS against EM baseline: avg +0.50, at 0 +0.00, at 200 +2.00 on average; "
        "avg higher on 1 and lower on 1 of 2 sets"
    )
    (line,) = compare_rows({"EM baseline": baseline, "EM + ENS": baseline - change})
    assert "avg -0.50" in line
    assert "at 200 -2.00" in line


def test_a_row_whose_baseline_was_not_run_has_no_line():
    assert compare_rows({"R + ENS": np.ones((2, 3))}) == []
