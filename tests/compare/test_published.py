import pytest

from anystream.compare.published import PUBLISHED, find_checks, run_check


def test_our_prequential_run_equals_rivers_own_evaluation():
    pytest.importorskip("river")
    (published,) = [p for p in PUBLISHED if p.stream == "ImageSegments" and "GaussianNB" in p.method]
    check = run_check(published)
    assert check.ours == pytest.approx(check.own, abs=1e-12)
    assert check.verdict in ("reproduced", "library changed")
    assert abs(check.ours - check.published) < 0.01


def test_our_prequential_run_equals_capymoas_own_evaluation():
    pytest.importorskip("capymoa")
    checks = [
        published
        for published, reason in find_checks(quick=True)
        if reason is None and published.method == "NaiveBayes"
    ]
    if not checks:
        pytest.skip("elec2 is not in the data directory")
    check = run_check(checks[0])
    assert check.verdict == "reproduced"


def test_without_the_data_a_published_figure_is_named_with_the_reason(monkeypatch):
    monkeypatch.setattr("anystream.compare.published.available_datasets", tuple)
    reasons = {published.stream: reason for published, reason in find_checks(quick=False)}
    assert reasons["electricity_tiny"] is not None
    assert reasons["elec2"] is not None


def test_quick_leaves_out_what_takes_minutes():
    assert {published.stream for published, _ in find_checks(quick=True)} == {"ImageSegments", "electricity_tiny"}
