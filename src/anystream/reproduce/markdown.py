"""Report as Markdown, with pictures in files beside it."""

from __future__ import annotations

from collections.abc import Sequence

from anystream.reproduce.paper import Claim, Report, Section, Table
from anystream.reproduce.verdicts import Verdict

SIGNS = {Verdict.REPRODUCED: "✔", Verdict.PARTLY: "◐", Verdict.NOT: "✘", Verdict.UNTESTED: "-"}
"""One character per verdict; the word stands beside it always."""


def summarise(report: Report) -> str:
    """Return the number of claims by verdict in one sentence."""
    counts = report.counts()
    return f"{sum(counts.values())} claims: " + ", ".join(f"{n} {verdict.value}" for verdict, n in counts.items() if n)


def describe_run(report: Report) -> str:
    """Return whether this was a quick or a full run, and what that means."""
    if report.quick:
        return "Quick run: a part of the records, folds and seeds. Without `--quick` all of the paper's are used."
    return "Full run."


def render_markdown(report: Report, pictures: str) -> str:
    """Return the report; `pictures` is the folder of its pictures, relative to the file."""
    parts = [
        f"# {report.paper.title}",
        report.reference,
        f"**{summarise(report)}.** {describe_run(report)}",
        'Every verdict is computed from the numbers of this run by the rule that stands beside it. "Published" is the '
        'method as printed; "default" is what this library does by default.',
        "## Verdicts",
        _overview(report),
    ]
    if report.missing:
        parts += ["## Left out", "\n".join(f"- {line}" for line in report.missing)]
    if report.errors:
        parts += ["## Failed cells", "\n".join(f"- `{_cell(line)}`" for line in report.errors)]
    for section in report.sections:
        parts.append(_render_section(section, pictures))
    parts += [
        "## Setting of this run",
        _render_table(Table(("", ""), [*report.settings.items(), *report.environment.items()])),
    ]
    return "\n\n".join(parts) + "\n"


def _overview(report: Report) -> str:
    rows = [
        (claim.where, claim.statement, f"{SIGNS[claim.judgement.verdict]} {claim.judgement.verdict.value}")
        for section in report.sections
        for claim in section.claims
    ]
    return _render_table(Table(("where", "the paper says", "here"), rows))


def _render_section(section: Section, pictures: str) -> str:
    parts = [f"## {section.title}", section.text]
    parts += [f"![{plot.caption}]({pictures}/{plot.name}.svg)\n\n*{plot.caption}*" for plot in section.plots]
    parts += [_render_table(table) for table in section.tables]
    parts += [_render_claim(claim) for claim in section.claims]
    return "\n\n".join(part for part in parts if part)


def _render_claim(claim: Claim) -> str:
    judgement = claim.judgement
    lines = [
        f"**{SIGNS[judgement.verdict]} {judgement.verdict.value}**: {claim.statement} ({claim.where})",
        f"- why: {judgement.why}",
        f"- rule: {claim.rule}",
    ]
    if claim.default:
        lines.append(f"- our default: {claim.default}")
    return f"{lines[0]}\n\n" + "\n".join(lines[1:])


def _render_table(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(_cell(cell) for cell in cells) + " |"

    rows = [line(table.header), "|" + "---|" * len(table.header), *(line(row) for row in table.rows)]
    return "\n".join(rows) + (f"\n\n{table.note}" if table.note else "")


def _cell(text: str) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")
