"""Paper, scale and report: what an experiment declares, and what a run of it results in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anystream.reproduce.cells import Cell, Results
from anystream.reproduce.facts import Facts
from anystream.reproduce.verdicts import AnyRule, Case, Judgement, Verdict


@dataclass(frozen=True)
class Scale:
    """How much of a paper's experiments is run: all of it, or a part that takes minutes.

    Parameters
    ----------
    quick : bool
        Whether only a part is run.
    sets : tuple of str, optional
        Data sets to run on; default: all of the paper.
    """

    quick: bool
    sets: tuple[str, ...] | None = None

    def pick(self, quick: Any, full: Any) -> Any:
        """Return the first value for a quick run and the second for a full one."""
        return quick if self.quick else full

    def wants(self, name: str) -> bool:
        """Whether a data set belongs to the run."""
        return self.sets is None or name in self.sets


@dataclass(frozen=True)
class Table:
    """Table of a report; the first column names the rows."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Plot:
    """Picture of a report, as SVG."""

    name: str
    svg: bytes
    caption: str


@dataclass(frozen=True)
class Claim:
    """A statement of the paper with the cases and the rule that it is judged by."""

    where: str
    statement: str
    rule: AnyRule
    cases: Sequence[Case]
    default: str = ""
    """What our default does in the same place, in one sentence; it has no effect on the verdict."""

    @classmethod
    def of(cls, facts: Facts, name: str, rule: AnyRule, cases: Sequence[Case], default: str = "") -> Claim:
        """Return the claim of this name in the facts."""
        fact = facts.claims[name]
        return cls(fact["where"], fact["says"], rule, cases, default)

    @property
    def judgement(self) -> Judgement:
        """Verdict and reason."""
        return self.rule.judge(self.cases)


@dataclass(frozen=True)
class Section:
    """Figure, table or passage of the paper: what it shows, our numbers, and the verdicts."""

    title: str
    text: str
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()
    claims: Sequence[Claim] = ()


@dataclass(frozen=True)
class Paper:
    """A paper whose experiments can be run.

    Parameters
    ----------
    name : str
        Name of the command.
    title : str
        Heading of the report.
    data : tuple of str
        Data sets of the paper, by the names of `load_dataset` or, if there is no such data set, by the paper's.
    plan : callable
        Returns the cells of a run, by any key, for a scale and the data sets that are present, each with the name that
        `load_dataset` knows it by.
    sections : callable
        Returns the sections of the report for the results and the same arguments.
    settings : callable
        Returns the settings of a run by name, for the scale.
    """

    name: str
    title: str
    data: tuple[str, ...]
    plan: Callable[[Scale, Mapping[str, str]], Mapping[Any, Cell]]
    sections: Callable[[Results, Scale, Mapping[str, str], Facts], Sequence[Section]]
    settings: Callable[[Scale], Mapping[str, str]]


@dataclass(frozen=True)
class Report:
    """Everything that stands in a report, before it is written as Markdown or HTML."""

    paper: Paper
    reference: str
    quick: bool
    settings: Mapping[str, str]
    environment: Mapping[str, str]
    missing: Sequence[str]
    sections: Sequence[Section]
    errors: Sequence[str] = field(default_factory=tuple)

    def counts(self) -> dict[Verdict, int]:
        """Return the number of claims by verdict."""
        found = [claim.judgement.verdict for section in self.sections for claim in section.claims]
        return {verdict: found.count(verdict) for verdict in Verdict}
