"""``anystream reproduce``: a paper's experiments, its numbers and ours side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from anystream.reproduce import Report


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions:
    """Options of the command as they were given."""

    papers: Annotated[
        list[str],
        typer.Argument(
            metavar="PAPER...", help="bt-star, bulk-loading, anytime-neighbours, kaoginc, locust, or all of them: all."
        ),
    ]
    quick: Annotated[
        bool, typer.Option("--quick", help="A part of the records, folds and seeds: minutes instead of hours.")
    ] = False
    out: Annotated[
        str, typer.Option(help="Folder of the reports. Results of a run that was ended are found there and used.")
    ] = "reproduction"
    sets: Annotated[
        str | None,
        typer.Option("--sets", help="Only these data sets, such as letter,vowel; default: all."),
    ] = None
    jobs: Annotated[int, typer.Option(help="Processes; 0 for one per core.")] = 0


def reproduce(options: ReproduceOptions) -> None:
    """Run a paper's experiments and write a report: its numbers beside ours, and a verdict on each of its claims.

    Data sets are read from the data home (ANYSTREAM_DATA); what is missing is named and left out.

    Example: [bold]anystream reproduce bt-star --quick[/bold]
    """
    from pathlib import Path

    from anystream.cli.output import console
    from anystream.plotting import require_matplotlib
    from anystream.reproduce import PAPERS, Scale, load_paper, run_paper, write_index

    names = list(PAPERS) if "all" in options.papers else list(dict.fromkeys(options.papers))
    papers = [load_paper(name) for name in names]
    sets = None if options.sets is None else tuple(part.strip() for part in options.sets.split(","))
    known = {name for paper in papers for name in paper.data}
    if sets is not None and (unknown := sorted(set(sets) - known)):
        raise ValueError(f"--sets names {', '.join(unknown)}; the data sets are {', '.join(sorted(known))}")
    if options.jobs < 0:
        raise ValueError(f"--jobs is {options.jobs}; use 0 for one per core, or the number of processes")
    jobs = options.jobs or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    require_matplotlib()
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    reports = []
    for paper in papers:
        with _progress(paper.name) as observe:
            reports.append(run_paper(paper, out, Scale(options.quick, sets), jobs=jobs, observe=observe))
        _print_report(console(), reports[-1], out)
    if len(reports) > 1:
        write_index(reports, out)
        typer.echo(f"overview: {out / 'index.html'}")
    if any(report.errors for report in reports):
        raise typer.Exit(1)


def _print_report(out_console: Console, report: Report, out: Path) -> None:
    from rich.table import Table

    from anystream.reproduce.markdown import SIGNS, summarise

    table = Table("where", "the paper says", "here", title=report.paper.title, title_justify="left")
    for section in report.sections:
        for claim in section.claims:
            verdict = claim.judgement.verdict
            table.add_row(claim.where, claim.statement, f"{SIGNS[verdict]} {verdict.value}")
    out_console.print(table)
    typer.echo(f"{summarise(report)}; {'quick' if report.quick else 'full'} run")
    for line in report.missing:
        typer.echo(f"left out: {line}")
    for line in report.errors:
        print(f"failed: {line}", file=sys.stderr)
    typer.echo(f"report: {out / report.paper.name}.html and .md")


@contextmanager
def _progress(name: str) -> Iterator[Callable[[float, float, str], None]]:
    """Show a bar with the time left on a terminal; elsewhere one line now and then, on standard error."""
    from anystream.cli.output import console

    if not sys.stderr.isatty():
        yield _LineProgress(name)
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("left:"), TimeRemainingColumn(), console=console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total, _cell: bar.update(task, completed=done, total=max(total, 1e-9))


class _LineProgress:
    """Lines of progress for logs: at the start, and at every tenth."""

    def __init__(self, name: str) -> None:
        self.name, self.printed = name, -1

    def __call__(self, done: float, total: float, cell: str) -> None:
        tenth = int(10 * done / total) if total else 10
        if tenth > self.printed:
            self.printed = tenth
            note = f": {cell}" if done == 0.0 else ""
            print(f"{self.name}: {10 * tenth} % of the cells{note}", file=sys.stderr, flush=True)
