"""``anystream evaluate``: accuracy over budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anystream.cli.options import (
    AsJson,
    Delimiter,
    LabelColumn,
    MapModel,
    ModelPath,
    TableFormat,
    UnknownCategories,
    VerifyModel,
)
from anystream.cli.unknown_categories import check_unknown, describe_unknown
from anystream.cli.visible_text import visible

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from anystream.evaluate.run import Run

_BUDGETS = "0,1,2,5,10,20,50,100,200"


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of the command as they were given."""

    model: ModelPath
    data: Annotated[
        str, typer.Argument(help="Table of labelled records that the model was not fitted on; - is standard input.")
    ]
    label_column: LabelColumn = None
    budgets: Annotated[str, typer.Option(help="Ascending numbers of steps.")] = _BUDGETS
    prequential: Annotated[
        bool,
        typer.Option(
            "--prequential",
            help="Classify every record before its label is learned, in the order of the table, and print accuracy and "
            "kappas instead of the curve; the model file stays as it is.",
        ),
    ] = False
    delay: Annotated[
        int, typer.Option(help="With --prequential: records after which a label is learned, 0 for at once.")
    ] = 0
    batch_size: Annotated[
        int, typer.Option(help="With --prequential: records that are classified and then learned together.")
    ] = 1
    window: Annotated[int, typer.Option(help="With --prequential: records per point of the error curve.")] = 500
    budget: Annotated[
        int | None, typer.Option(help="With --prequential: steps per record; default: the budget of the model.")
    ] = None
    plot: Annotated[
        str | None,
        typer.Option(help="Output file for a plot of the curve, or of the error over time (.png, .svg or .pdf)."),
    ] = None
    table_format: TableFormat = None
    delimiter: Delimiter = None
    unknown: UnknownCategories = "missing"
    mmap: MapModel = False
    verify: VerifyModel = True
    as_json: AsJson = False


def evaluate(options: EvaluateOptions) -> None:
    """Show how accuracy grows with the budget, and at the last budget the figures of each class.

    With --prequential: show how accurate the model is while it learns the table, record by record.

    Example: [bold]anystream evaluate model.safetensors test.csv --plot curve.png[/bold]
    """
    import numpy as np

    from anystream.anytime.curve import anytime_curve
    from anystream.cli.class_report import ClassReport
    from anystream.cli.output import console, print_json, report_copied_model
    from anystream.cli.paths import check_writable
    from anystream.cli.progress_bar import show_progress
    from anystream.connectors.encode_table import encode_table
    from anystream.connectors.file_formats import Table
    from anystream.connectors.saved_model import open_model
    from anystream.plotting import require_matplotlib

    stages = _parse_budgets(options.budgets)
    check_writable({"--plot": options.plot})
    if options.plot is not None:
        require_matplotlib()
    saved = open_model(options.model, mmap=options.mmap, verify=options.verify)
    if options.mmap:
        report_copied_model(options.model)
    schema = replace(
        saved.schema, label=options.label_column or saved.schema.label, unknown=check_unknown(options.unknown)
    )
    table = Table(options.data, options.table_format, options.delimiter)
    with show_progress(table):
        features, labels, n_unknown, first_unknown = encode_table(schema, table, labelled=True)
    assert labels is not None  # they were required
    if options.prequential:
        run = _run_prequential(options, saved.classifier, features, np.array(labels))
        _report_run(options, run, n_unknown, first_unknown)
        return
    curve = anytime_curve(saved.classifier, features, np.array(labels), stages=stages)
    report = ClassReport.measure(saved.classifier, features, labels, stages[-1])
    if options.plot is not None:
        _save_plot(curve.plot, options.plot)
    if options.as_json:
        accuracy = curve.accuracy.tolist()
        figures = {
            "records": curve.n_records,
            "budgets": stages,
            "accuracy": accuracy,
            "mean": float(np.mean(accuracy)),
            "avg": curve.avg,
            "max": curve.max,
            "mon": curve.mon,
            "area": curve.area,
        }
        print_json(figures | {"unknown": n_unknown} | report.to_json())
        return
    typer.echo(f"{curve.n_records} records of {visible(options.data)}\n{curve}")
    typer.echo(f"log loss {report.log_loss:.4f} at {report.budget} steps, {report.describe_marks()}")
    if n_unknown:
        typer.echo(describe_unknown(n_unknown, first_unknown))
    out = console()
    out.print(report.class_table())
    confusions = report.confusion_table()
    if confusions is not None:
        out.print(confusions)


def _parse_budgets(text: str) -> list[int]:
    from anystream.anytime.stages import check_stages

    try:
        return [int(stage) for stage in check_stages([int(part) for part in text.split(",")])]
    except ValueError as error:
        raise ValueError(
            f"--budgets is {text!r}; write ascending whole numbers, such as {_BUDGETS} ({error})"
        ) from None


def _run_prequential(
    options: EvaluateOptions, classifier: Any, features: NDArray[np.float64], labels: NDArray[Any]
) -> Run:
    """Return the run of a model that learns the table while it is tested."""
    from anystream.evaluate import run_prequential

    if not hasattr(classifier, "partial_fit"):
        raise ValueError(f"a model of kind {classifier.kind} cannot learn from a stream; leave out --prequential")
    return run_prequential(
        classifier,
        (features, labels),
        batch_size=options.batch_size,
        delay=options.delay,
        window=options.window,
        budget=options.budget,
        note_classified=getattr(classifier, "tau_counts", None) == "classified",
        method=classifier.kind,
    )


def _report_run(options: EvaluateOptions, run: Run, n_unknown: int, first_unknown: str) -> None:
    from anystream.cli.output import console, print_json

    if options.plot is not None:
        _save_plot(run.plot, options.plot)
    if options.as_json:
        print_json(
            {
                "records": len(run.truth),
                "delay": options.delay,
                "accuracy": run.accuracy,
                "kappa": run.kappa,
                "kappa_m": run.kappa_m,
                "kappa_t": run.kappa_t,
                "errors": run.error_curve().tolist(),
                "window": run.window,
                "unknown": n_unknown,
            }
        )
        return
    typer.echo(f"{len(run.truth)} records of {visible(options.data)}, labels after {options.delay} records")
    console().print(run)
    if n_unknown:
        typer.echo(describe_unknown(n_unknown, first_unknown))


def _save_plot(plot: Callable[[Any], Any], path: str) -> None:
    from anystream.plotting import new_figure

    figure = new_figure(6.0, 4.0)
    plot(figure.subplots())
    figure.savefig(path)
