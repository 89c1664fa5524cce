import csv
import math

import pytest

from anystream.compare.pareto import pareto_front
from anystream.compare.plot import front_of
from anystream.compare.published import CheckResult
from anystream.compare.report import Report
from compare.tiny import TINY, make_anytime_result, make_result


@pytest.fixture
def report():
    results = [
        make_anytime_result(latency_us=20.0),
        make_result(),
        make_result("scikit-learn", "RandomForest(100)", latency_us=5_000.0, prequential=math.nan, learn=None),
    ]
    check = CheckResult(
        library="river",
        version="1.0",
        stream="ImageSegments",
        method="m",
        published=0.7319,
        ours=0.7319,
        own=0.7319,
        verdict="reproduced",
    )
    return Report(results, TINY, [check])


def test_the_front_holds_budgets_and_methods_that_nothing_beats(report):
    front = front_of(report.results)
    assert [point.label for point in front] == [
        "anystream bayes-tree, budget 0",
        "river HoeffdingTree",
        "anystream bayes-tree",
    ]


def test_of_equal_points_the_first_is_on_the_front():
    assert pareto_front([1.0, 1.0], [0.5, 0.5]) == [0]


def test_the_text_names_machine_versions_seed_and_what_a_method_cannot_do(report):
    text = str(report)
    assert "scikit-learn RandomForest(100)" in text
    assert "seed 1" in text
    assert "numpy" in text
    assert "abc1234" in text
    assert "reproduced" in text
    (line,) = [line for line in text.splitlines() if line.strip().startswith("scikit-learn RandomForest")]
    assert line.count(" - ") >= 3


def test_a_pass_that_reached_its_limit_is_marked():
    (line,) = [
        line
        for line in str(Report([make_result(n_trained=90, n_prequential=90)], TINY)).splitlines()
        if "Hoeffding" in line
    ]
    assert line.strip().startswith("river HoeffdingTree*")


def test_the_folder_gets_markdown_raw_figures_and_the_plot(report, tmp_path):
    pytest.importorskip("matplotlib")
    paths = report.save(tmp_path / "out")
    assert [path.name for path in paths] == [
        *("report.md", "results.csv", "budgets.csv", "accuracy-over-latency.png", "published.csv"),
    ]
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").open()))
    assert [row["method"] for row in rows] == ["bayes-tree", "HoeffdingTree", "RandomForest(100)"]
    assert rows[1]["predict_cpu_p99_us"] == "20.0"
    assert rows[1]["on_time_500_per_s"] == "0.7"
    assert rows[2]["learn_p50_us"] == ""
    assert rows[0]["setting_seed"] == "1"
    assert "Python" in rows[0]["machine"]
    assert "Pareto front" in (tmp_path / "out" / "report.md").read_text()
    assert (tmp_path / "out" / "accuracy-over-latency.png").read_bytes().startswith(b"\x89PNG")
