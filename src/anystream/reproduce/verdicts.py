"""Verdicts on the claims of a paper, computed from numbers by rules whose text stands in the report.

A claim lists cases: what was measured here, and what it is compared with, either the paper's number or another
measurement of this run. A rule looks at each case that has all its numbers and returns a verdict on the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """Result of comparing a claim with the numbers of a run."""

    REPRODUCED = "reproduced"
    PARTLY = "partly reproduced"
    NOT = "not reproduced"
    UNTESTED = "cannot be tested here"


@dataclass(frozen=True)
class Case:
    """One comparison of a claim.

    Parameters
    ----------
    name : str
        Data set, cell or pair that is compared.
    ours : float or None
        Measured here; None if it could not be measured.
    other : float or None
        What the claim compares it with: the paper's number, or another measurement of this run.
    why_missing : str, default=""
        Why the data set of a case was not measured, if that is so.
    """

    name: str
    ours: float | None
    other: float | None = None
    why_missing: str = ""


@dataclass(frozen=True)
class Judgement:
    """A verdict and the numbers that led to it, in one sentence."""

    verdict: Verdict
    why: str


@dataclass(frozen=True)
class Rule:
    """Share of the cases in which a condition holds, and the shares that make a claim reproduced or partly so.

    Parameters
    ----------
    text : str
        The condition, for the report.
    holds : callable
        Whether a case fulfils it.
    needs_other : bool, default=True
        Whether a case without something to compare with is left out.
    reproduced, partly : float, default=1.0 and 0.5
        Least share of the cases for these verdicts.
    """

    text: str
    holds: Callable[[Case], bool]
    needs_other: bool = True
    reproduced: float = 1.0
    partly: float = 0.5

    def __str__(self) -> str:
        whole = "all cases" if self.reproduced == 1.0 else f"at least {self.reproduced:.0%} of the cases"
        return f"{self.text}; reproduced: in {whole}, partly: in at least {self.partly:.0%}, of those that are here"

    def judge(self, cases: Sequence[Case]) -> Judgement:
        """Return the verdict on a claim with these cases; those that lack a number are left out and named.

        A claim is not tested if fewer than half of its cases can be.
        """
        usable = [case for case in cases if _is_complete(case, self.needs_other)]
        missing = _name_missing([case for case in cases if not _is_complete(case, self.needs_other)])
        if not usable:
            return Judgement(Verdict.UNTESTED, missing or "there is nothing to compare")
        if 2 * len(usable) < len(cases):
            return Judgement(
                Verdict.UNTESTED, f"{len(usable)} of {len(cases)} cases are here, fewer than half; {missing}"
            )
        failed = [case for case in usable if not self.holds(case)]
        share = 1.0 - len(failed) / len(usable)
        if share >= self.reproduced:
            verdict = Verdict.REPRODUCED
        else:
            verdict = Verdict.PARTLY if share >= self.partly else Verdict.NOT
        why = f"holds in {len(usable) - len(failed)} of {len(usable)}"
        if len(usable) == 1:
            why = f"{'holds' if not failed else 'does not hold'}: {_show(usable[0])}"
        elif failed:
            why += f"; not for {_list([_show(case) for case in failed])}"
        return Judgement(verdict, f"{why}; {missing}" if missing else why)


@dataclass(frozen=True)
class CountRule:
    """A claim about how many cases fulfil a condition, such as "on 8 of 10 data sets".

    Parameters
    ----------
    text : str
        The condition, for the report.
    holds : callable
        Whether a case fulfils it.
    printed : tuple of int
        Number of cases in which it held in the paper, and number of all its cases.
    slack : float, default=0.1
        The claim is reproduced if our share is within this of the paper's, and partly so within twice of it.
    needs_other : bool, default=True
        Whether a case without something to compare with is left out.
    """

    text: str
    holds: Callable[[Case], bool]
    printed: tuple[int, int]
    slack: float = 0.1
    needs_other: bool = True

    def __str__(self) -> str:
        count, total = self.printed
        return (
            f"{self.text}: {count} of {total} in the paper; reproduced: our share differs by at most "
            f"{self.slack:.0%}, partly: by at most {2 * self.slack:.0%}; not tested on fewer than half of the cases"
        )

    def judge(self, cases: Sequence[Case]) -> Judgement:
        """Return the verdict on a claim with these cases; those that lack a number are left out and named."""
        complete = [
            case for case in cases if case.ours is not None and (case.other is not None or not self.needs_other)
        ]
        missing = _name_missing([case for case in cases if case not in complete])
        if 2 * len(complete) < self.printed[1]:
            few = f"{len(complete)} of the paper's {self.printed[1]} cases are here, fewer than half"
            return Judgement(Verdict.UNTESTED, f"{few}; {missing}" if missing else few)
        count = sum(self.holds(case) for case in complete)
        distance = abs(count / len(complete) - self.printed[0] / self.printed[1])
        if distance <= self.slack + 1e-9:
            verdict = Verdict.REPRODUCED
        else:
            verdict = Verdict.PARTLY if distance <= 2 * self.slack + 1e-9 else Verdict.NOT
        why = f"{count} of {len(complete)} here, {self.printed[0]} of {self.printed[1]} in the paper"
        return Judgement(verdict, f"{why}; {missing}" if missing else why)


AnyRule = Rule | CountRule


def near(tolerance: float, *, unit: str = "points", reproduced: float = 1.0, partly: float = 0.5) -> Rule:
    """Return the rule that our number is within `tolerance` of the paper's."""
    text = f"our number is within {tolerance:g} {unit} of the paper's"
    return Rule(text, lambda case: abs(_ours(case) - _other(case)) <= tolerance, True, reproduced, partly)


def same_direction(dead_zone: float = 0.5, *, reproduced: float = 0.8, partly: float = 0.5) -> Rule:
    """Return the rule that our difference has the sign of the paper's; small ones count as no difference."""

    def sign(value: float) -> int:
        return 0 if abs(value) < dead_zone else (1 if value > 0 else -1)

    def holds(case: Case) -> bool:
        ours, other = sign(_ours(case)), sign(_other(case))
        return ours == other or abs(_ours(case) - _other(case)) <= 2 * dead_zone

    text = (
        f"our difference has the direction of the paper's (below {dead_zone:g} points is no difference), "
        f"or is within {2 * dead_zone:g} points of it"
    )
    return Rule(text, holds, True, reproduced, partly)


def higher(
    margin: float = 0.0, *, unit: str = "points", reproduced: float = 1.0, partly: float = 0.5, what: str = ""
) -> Rule:
    """Return the rule that the first of two measurements is the higher one; `margin` is the noise that is allowed."""
    return _ordered("higher", margin, unit, reproduced, partly, what, sign=1.0)


def lower(
    margin: float = 0.0, *, unit: str = "points", reproduced: float = 1.0, partly: float = 0.5, what: str = ""
) -> Rule:
    """Return the rule that the first of two measurements is the lower one; `margin` is the noise that is allowed."""
    return _ordered("lower", margin, unit, reproduced, partly, what, sign=-1.0)


def _ordered(word: str, margin: float, unit: str, reproduced: float, partly: float, what: str, sign: float) -> Rule:
    allowed = f", or at most {margin:g} {unit} short of it" if margin else ""
    text = f"{what or 'the first number'} is {word} than the second{allowed}"

    def holds(case: Case) -> bool:
        difference = sign * (_ours(case) - _other(case))
        return difference >= -margin if margin else difference > 0.0

    return Rule(text, holds, True, reproduced, partly)


def at_least(bound: float, *, unit: str = "", reproduced: float = 1.0, partly: float = 0.5) -> Rule:
    """Return the rule that our number is at least `bound`."""
    return Rule(f"our number is at least {bound:g}{unit}", lambda c: _ours(c) >= bound, False, reproduced, partly)


def at_most(bound: float, *, unit: str = "", reproduced: float = 1.0, partly: float = 0.5) -> Rule:
    """Return the rule that our number is at most `bound`."""
    return Rule(f"our number is at most {bound:g}{unit}", lambda c: _ours(c) <= bound, False, reproduced, partly)


def _ours(case: Case) -> float:
    assert case.ours is not None  # rules look at complete cases only
    return case.ours


def _other(case: Case) -> float:
    assert case.other is not None
    return case.other


def _show(case: Case) -> str:
    values = " against ".join(f"{value:.4g}" for value in (case.ours, case.other) if value is not None)
    return f"{case.name} ({values})"


def _list(names: Sequence[str], limit: int = 6) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _is_complete(case: Case, needs_other: bool) -> bool:
    return case.ours is not None and (case.other is not None or not needs_other)


def _name_missing(cases: Sequence[Case]) -> str:
    """Return the reasons for missing numbers, each once; a case without a reason is named."""
    reasons = list(dict.fromkeys(case.why_missing or _describe_gap(case) for case in cases))
    return f"left out: {_list(reasons)}" if reasons else ""


def _describe_gap(case: Case) -> str:
    return f"{case.name} (not measured)" if case.ours is None else f"{case.name} (nothing to compare it with)"
