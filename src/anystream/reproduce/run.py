"""Run of a paper: from the data that is present to the report on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from anystream.plotting import require_matplotlib
from anystream.reproduce.cells import CellCache, run_cells
from anystream.reproduce.data import find_present
from anystream.reproduce.environment import describe_environment
from anystream.reproduce.facts import Facts
from anystream.reproduce.markdown import render_markdown
from anystream.reproduce.page import render_index, render_page
from anystream.reproduce.paper import Paper, Report, Scale

CELLS = "cells"
"""Folder of the results of single cells, below the folder of the reports."""
NOT_ASKED_FOR, NOT_THERE = "not asked for by --sets", "not in the data home"
"""Reasons for a run without a data set."""


def run_paper(
    paper: Paper,
    out: Path,
    scale: Scale,
    *,
    jobs: int = 1,
    observe: Callable[[float, float, str], None] | None = None,
) -> Report:
    """Run the experiments of a paper on the data that is present, and write its report.

    Parameters
    ----------
    paper : Paper
        The paper.
    out : path
        Folder of the report: ``<name>.html``, ``<name>.md`` with pictures in ``<name>/``, and ``<name>.json`` with all
        numbers. Cells are kept in ``cells/``.
    scale : Scale
        All of the experiments, or a part.
    jobs : int, default=1
        Number of processes.
    observe : callable, optional
        See `anystream.reproduce.cells.run_cells`.
    """
    require_matplotlib()
    facts = Facts.load(paper.name)
    sources = {name: source for name, source in find_present(paper.data).items() if scale.wants(name)}
    left_out = {name: NOT_THERE if scale.wants(name) else NOT_ASKED_FOR for name in paper.data if name not in sources}
    computed = run_cells(paper.plan(scale, sources), CellCache(out / CELLS), jobs=jobs, observe=observe)
    results = replace(computed, left_out=left_out)
    report = Report(
        paper=paper,
        reference=facts.reference,
        quick=scale.quick,
        settings=paper.settings(scale),
        environment=describe_environment(),
        missing=_describe_data(left_out, sources),
        sections=paper.sections(results, scale, sources, facts),
        errors=tuple(dict.fromkeys(results.errors.values())),
    )
    write_report(report, out)
    return report


def _describe_data(left_out: Mapping[str, str], sources: Mapping[str, str]) -> list[str]:
    """Return one line per reason for data sets that are left out, and one per data set that stands in for another."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(reason, []).append(name)
    lines = [f"{reason}: {', '.join(names)}" for reason, names in by_reason.items()]
    replaced = {name: source for name, source in sources.items() if name != source}
    return lines + [f"{name}: {source} of scikit-learn instead, a part of it" for name, source in replaced.items()]


def write_report(report: Report, out: Path) -> None:
    """Write a report as HTML, as Markdown with its pictures, and its numbers as JSON."""
    name = report.paper.name
    pictures = out / name
    pictures.mkdir(parents=True, exist_ok=True)
    for section in report.sections:
        for plot in section.plots:
            (pictures / f"{plot.name}.svg").write_bytes(plot.svg)
    (out / f"{name}.html").write_text(render_page(report), encoding="utf-8")
    (out / f"{name}.md").write_text(render_markdown(report, name), encoding="utf-8")
    (out / f"{name}.json").write_text(json.dumps(_to_json(report), indent=1, ensure_ascii=False), encoding="utf-8")


def write_index(reports: Sequence[Report], out: Path) -> None:
    """Write a page that links several reports."""
    (out / "index.html").write_text(render_index(reports), encoding="utf-8")


def _to_json(report: Report) -> dict[str, Any]:
    claims = [
        {
            "section": section.title,
            "where": claim.where,
            "statement": claim.statement,
            "verdict": claim.judgement.verdict.value,
            "why": claim.judgement.why,
            "rule": str(claim.rule),
            "cases": [asdict(case) for case in claim.cases],
        }
        for section in report.sections
        for claim in section.claims
    ]
    tables = [
        {"section": section.title, "header": list(table.header), "rows": [list(row) for row in table.rows]}
        for section in report.sections
        for table in section.tables
    ]
    return {
        "paper": report.paper.name,
        "quick": report.quick,
        "settings": dict(report.settings),
        "environment": dict(report.environment),
        "missing": list(report.missing),
        "errors": list(report.errors),
        "claims": claims,
        "tables": tables,
    }
