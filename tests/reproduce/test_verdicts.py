import pytest

from anystream.reproduce.verdicts import Case, CountRule, Rule, Verdict, at_least, higher, lower, near, same_direction


def verdict(rule, *cases):
    return rule.judge(cases).verdict


@pytest.mark.parametrize(
    ("ours", "expected"), [(92.0, Verdict.REPRODUCED), (95.3, Verdict.NOT), (None, Verdict.UNTESTED)]
)
def test_a_number_is_reproduced_within_the_tolerance(ours, expected):
    assert verdict(near(3.0), Case("JF", ours, 92.25)) is expected


def test_a_claim_is_partly_reproduced_if_it_holds_in_half_of_the_cases():
    cases = [Case("a", 2.0, 1.0), Case("b", 1.0, 2.0)]
    assert verdict(higher(), *cases) is Verdict.PARTLY
    assert verdict(higher(), *cases, Case("c", 0.0, 1.0)) is Verdict.NOT
    assert verdict(lower(), Case("b", 1.0, 2.0)) is Verdict.REPRODUCED


def test_equal_numbers_are_not_higher_unless_noise_is_allowed():
    assert verdict(higher(), Case("a", 1.0, 1.0)) is Verdict.NOT
    assert verdict(higher(0.5), Case("a", 0.6, 1.0)) is Verdict.REPRODUCED
    assert verdict(higher(0.5), Case("a", 0.4, 1.0)) is Verdict.NOT


@pytest.mark.parametrize(
    ("ours", "paper", "holds"),
    [(4.0, 9.0, True), (-4.0, 9.0, False), (0.2, 0.0, True), (0.9, 0.1, True), (0.2, 5.0, False), (-2.0, -9.0, True)],
)
def test_differences_agree_by_direction(ours, paper, holds):
    assert verdict(same_direction(0.5), Case("a", ours, paper)) is (Verdict.REPRODUCED if holds else Verdict.NOT)


def test_missing_numbers_are_left_out_and_named():
    judged = at_least(1.0).judge([Case("a", 2.0), Case("b", None, None, "b is not here")])
    assert judged.verdict is Verdict.REPRODUCED
    assert "left out: b is not here" in judged.why


def test_a_number_that_is_missing_without_a_reason_is_named_by_its_side():
    judged = near(1.0).judge([Case("a", 2.0, 2.0), Case("b", None, 2.0), Case("c", 2.0, None)])
    assert judged.why.endswith("left out: b (not measured), c (nothing to compare it with)")


def test_a_claim_is_not_tested_on_fewer_than_half_of_its_cases():
    missing = [Case(name, None, None, f"{name} is not here") for name in "bc"]
    judged = at_least(1.0).judge([Case("a", 2.0), *missing])
    assert judged.verdict is Verdict.UNTESTED
    assert "1 of 3 cases are here" in judged.why


def test_a_failed_case_stands_in_the_reason_with_its_numbers():
    assert "not for b (1 against 2)" in higher().judge([Case("a", 2.0, 1.0), Case("b", 1.0, 2.0)]).why


def test_counts_are_compared_with_the_papers_share():
    rule = CountRule("it is above 0", lambda case: case.ours > 0, (8, 10), 0.1, needs_other=False)
    cases = [Case(str(i), 1.0 if i < 8 else -1.0) for i in range(10)]
    assert verdict(rule, *cases) is Verdict.REPRODUCED
    assert verdict(rule, *cases[:8]) is Verdict.PARTLY  # 8 of 8
    assert verdict(rule, *(Case(str(i), -1.0) for i in range(10))) is Verdict.NOT
    assert verdict(rule, *cases[:4]) is Verdict.UNTESTED  # fewer than half of the paper's cases


def test_the_text_of_a_rule_names_its_thresholds():
    text = str(Rule("it holds", lambda case: True, reproduced=0.8, partly=0.4))
    assert "at least 80% of the cases" in text
    assert "at least 40%" in text
