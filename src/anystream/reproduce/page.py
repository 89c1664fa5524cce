"""Report as one HTML page that needs no other file: pictures and style are inside."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from anystream.reproduce.markdown import SIGNS, describe_run, summarise
from anystream.reproduce.paper import Claim, Plot, Report, Section, Table
from anystream.reproduce.verdicts import Verdict

_CLASSES = {Verdict.REPRODUCED: "yes", Verdict.PARTLY: "partly", Verdict.NOT: "no", Verdict.UNTESTED: "untested"}
_STYLE = Path(__file__).with_name("page.css")


def render_page(report: Report) -> str:
    """Return the page of a report."""
    links = "".join(f'<li><a href="#s{i}">{escape(s.title)}</a></li>' for i, s in enumerate(report.sections))
    left_out = _render_list("Left out", report.missing) + _render_list("Failed cells", report.errors)
    sections = "".join(_render_section(i, section) for i, section in enumerate(report.sections))
    body = (
        f'<header><p class="kind">{"Quick" if report.quick else "Full"} run</p><h1>{escape(report.paper.title)}</h1>'
        f'<p class="reference">{escape(report.reference)}</p>{_render_counts(report)}'
        f"<p>{escape(describe_run(report)).replace('`--quick`', '<code>--quick</code>')} Every verdict is computed "
        "from the numbers of this run by the rule that stands beside it. <em>Published</em> is the method as printed; "
        "<em>default</em> is what this library does by default.</p></header>"
        f"<nav><h2>Contents</h2><ul>{links}<li><a href='#setting'>Setting of this run</a></li></ul></nav>"
        f"<main><section><h2>Verdicts</h2>{_render_overview(report)}</section>{left_out}{sections}"
        f'<section id="setting"><h2>Setting of this run</h2>{_render_pairs({**report.settings, **report.environment})}'
        "</section></main>"
    )
    return _wrap(report.paper.title, body)


def render_index(reports: Sequence[Report]) -> str:
    """Return a page that links the reports of several papers."""
    rows = "".join(
        f'<tr><th><a href="{escape(r.paper.name)}.html">{escape(r.paper.title)}</a></th>'
        f"<td>{'quick' if r.quick else 'full'}</td>"
        + "".join(f'<td class="number">{count}</td>' for count in r.counts().values())
        + "</tr>"
        for r in reports
    )
    heads = "".join(f"<th>{escape(verdict.value)}</th>" for verdict in Verdict)
    head = f"<thead><tr><th>paper</th><th>run</th>{heads}</tr></thead>"
    table = f'<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>'
    title = "The papers, reproduced"
    return _wrap(title, f"<header><h1>{title}</h1></header><main><section>{table}</section></main>")


def _wrap(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE.read_text()}</style></head><body>{body}</body></html>\n"
    )


def _render_counts(report: Report) -> str:
    pills = "".join(
        f'<li class="{_CLASSES[verdict]}"><b>{count}</b> {escape(verdict.value)}</li>'
        for verdict, count in report.counts().items()
    )
    return f'<ul class="counts" aria-label="{escape(summarise(report))}">{pills}</ul>'


def _badge(verdict: Verdict) -> str:
    return f'<span class="badge {_CLASSES[verdict]}">{SIGNS[verdict]} {escape(verdict.value)}</span>'


def _render_overview(report: Report) -> str:
    rows = "".join(
        f'<tr><td>{escape(claim.where)}</td><td><a href="#s{i}">{escape(claim.statement)}</a></td>'
        f"<td>{_badge(claim.judgement.verdict)}</td></tr>"
        for i, section in enumerate(report.sections)
        for claim in section.claims
    )
    head = "<thead><tr><th>where</th><th>the paper says</th><th>here</th></tr></thead>"
    return f'<div class="wide"><table class="claims">{head}<tbody>{rows}</tbody></table></div>'


def _render_section(number: int, section: Section) -> str:
    parts = [f'<section id="s{number}"><h2>{escape(section.title)}</h2><p>{escape(section.text)}</p>']
    parts += [_render_plot(plot) for plot in section.plots]
    parts += [_render_table(table) for table in section.tables]
    parts += [_render_claim(claim) for claim in section.claims]
    return "".join(parts) + "</section>"


def _render_plot(plot: Plot) -> str:
    data = base64.b64encode(plot.svg).decode()
    caption = escape(plot.caption)
    image = f'<img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _render_table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    cells = [[f'<td class="number">{escape(cell)}</td>' for cell in row[1:]] for row in table.rows]
    names = [f"<th>{escape(row[0])}</th>" for row in table.rows]
    rows = "".join(f"<tr>{name}{''.join(of)}</tr>" for name, of in zip(names, cells, strict=True))
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}'


def _render_claim(claim: Claim) -> str:
    judgement = claim.judgement
    default = f"<dt>our default</dt><dd>{escape(claim.default)}</dd>" if claim.default else ""
    return (
        f'<article class="claim {_CLASSES[judgement.verdict]}"><p>{_badge(judgement.verdict)} '
        f"{escape(claim.statement)} <span class='where'>{escape(claim.where)}</span></p>"
        f"<dl><dt>why</dt><dd>{escape(judgement.why)}</dd><dt>rule</dt><dd>{escape(str(claim.rule))}</dd>{default}</dl>"
        "</article>"
    )


def _render_list(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    return f"<section><h2>{title}</h2><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul></section>"


def _render_pairs(pairs: Mapping[str, str]) -> str:
    return (
        "<dl class='pairs'>"
        + "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs.items())
        + "</dl>"
    )
