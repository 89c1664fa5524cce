"""``anystream compare``: our classifiers beside those of other libraries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Options of the command as they were given."""

    data: Annotated[
        list[str] | None,
        typer.Argument(
            help="Data sets or generated streams (SEA, Sine, Gauss); default: SEA, Sine, digits, pendigits, letter, "
            "covtype and elec2, as far as the data directory has them."
        ),
    ] = None
    libraries: Annotated[
        str | None,
        typer.Option(
            help="Libraries to compare, separated by commas: anystream, river, capymoa, samlb, scikit-learn, lightgbm, "
            "onnxruntime; default: those that are installed."
        ),
    ] = None
    methods: Annotated[
        str | None,
        typer.Option(help="Methods to compare, as parts of their names separated by commas; default: all."),
    ] = None
    out: Annotated[
        str | None,
        typer.Option(
            help="Folder for report.md, results.csv, budgets.csv, the plot of accuracy over latency, and finished "
            "cells, so that a run can be continued."
        ),
    ] = None
    finished: Annotated[
        bool, typer.Option("--finished", help="Report the finished cells in the folder of --out; measure no others.")
    ] = False
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer records and shorter streams: a few seconds for each method.")
    ] = False
    train: Annotated[int | None, typer.Option(help="Maximum number of training records.")] = None
    test: Annotated[int | None, typer.Option(help="Maximum number of test records.")] = None
    limit: Annotated[
        str | None, typer.Option(help="Processor time after which a pass over the training records ends, such as 30s.")
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of streams, order, arrivals and methods.")] = 0
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Also repeat published accuracies of river and CapyMOA, as a check of the measurement; with --quick "
            "only those that take seconds.",
        ),
    ] = False


def compare(options: CompareOptions) -> None:
    """Compare our classifiers with other libraries on the same records: accuracy, latency, memory, deadlines.

    Libraries that are not installed are left out; install them with the dependency group compare.

    Example: [bold]anystream compare SEA digits --quick --out comparison[/bold]
    """
    from pathlib import Path

    from anystream.compare import find_methods, load_tasks, run_comparison
    from anystream.compare.report import Report
    from anystream.compare.tasks import DEFAULT_TASKS
    from anystream.plotting import require_matplotlib

    if options.finished and options.out is None:
        raise ValueError("--finished needs the folder of finished cells; give it with --out")
    if options.out is not None:
        require_matplotlib()
        Path(options.out).mkdir(parents=True, exist_ok=True)
    settings = _make_settings(options)
    methods, notes = find_methods(_split(options.libraries), _split(options.methods))
    for note in notes:
        _log(note)
    tasks = load_tasks(options.data or DEFAULT_TASKS, settings, _log)
    if not tasks:
        raise ValueError("no data set is left to compare on; name one, such as SEA or digits")
    folder = None if options.out is None else Path(options.out)
    results = run_comparison(tasks, methods, settings, folder=folder, measure=not options.finished, log=_log)
    if not results:
        raise ValueError(
            "no cell is finished with these settings; leave out --finished"
            if options.finished
            else "every method failed; see the messages above"
        )
    checks = _run_checks(quick=options.quick) if options.published else []
    report = Report(results, settings, checks)
    typer.echo(str(report))
    if folder is not None:
        typer.echo("\n" + "\n".join(f"written: {path}" for path in report.save(folder)))


def _make_settings(options: CompareOptions) -> Any:
    from anystream.cli.durations import parse_duration
    from anystream.compare import Settings
    from anystream.streams.parameters import check_int

    settings = Settings.quick(seed=options.seed) if options.quick else Settings(seed=options.seed)
    if options.train is not None:
        settings = replace(settings, max_train=check_int("--train", options.train, min_value=100))
    if options.test is not None:
        settings = replace(settings, max_test=check_int("--test", options.test, min_value=20))
    if options.limit is not None:
        settings = replace(settings, max_pass_s=parse_duration(options.limit))
    return settings


def _run_checks(*, quick: bool) -> list[Any]:
    from anystream.compare.published import find_checks, run_check
    from anystream.compare.run import run_isolated

    checks = []
    for published, reason in find_checks(quick=quick):
        if reason is not None:
            _log(f"{published.stream}, {published.library} {published.method} is not checked: {reason}")
            continue
        _log(f"published: {published.stream}, {published.library} {published.method}")
        checks.append(run_isolated(run_check, published))
    return checks


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _log(message: str) -> None:
    typer.echo(message, err=True)
