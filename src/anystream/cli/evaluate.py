"""``anystream evaluate``: accuracy over budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from anystream.cli.options import AsJson, Delimiter, LabelColumn, MapModel, ModelPath, TableFormat, VerifyModel
from anystream.cli.visible_text import visible

if TYPE_CHECKING:
    from anystream.anytime.curve import AnytimeCurve

_BUDGETS = "0,1,2,5,10,20,50,100,200"


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of the command as they were given."""

    model: ModelPath
    data: Annotated[str, typer.Argument(help="Table of labelled records that the model was not fitted on.")]
    label_column: LabelColumn = None
    budgets: Annotated[str, typer.Option(help="Ascending numbers of steps.")] = _BUDGETS
    plot: Annotated[str | None, typer.Option(help="Output file for a plot of the curve (.png, .svg or .pdf).")] = None
    table_format: TableFormat = None
    delimiter: Delimiter = None
    mmap: MapModel = False
    verify: VerifyModel = True
    as_json: AsJson = False


def evaluate(options: EvaluateOptions) -> None:
    """Show how accuracy grows with the budget.

    Example: [bold]anystream evaluate model.safetensors test.csv --plot curve.png[/bold]
    """
    import numpy as np

    from anystream.anytime.curve import anytime_curve
    from anystream.cli.encode_table import encode_labelled_table
    from anystream.cli.file_formats import read_columns
    from anystream.cli.output import print_json
    from anystream.cli.saved_model import open_model
    from anystream.plotting import require_matplotlib

    stages = _parse_budgets(options.budgets)
    if options.plot is not None:
        require_matplotlib()
    saved = open_model(options.model, mmap=options.mmap, verify=options.verify)
    schema = replace(saved.schema, label=options.label_column or saved.schema.label)
    columns = read_columns(options.data, options.table_format, options.delimiter)
    features, labels = encode_labelled_table(schema, columns, options.data)
    curve = anytime_curve(saved.classifier, features, np.array(labels), stages=stages)
    if options.plot is not None:
        _save_plot(curve, options.plot)
    if options.as_json:
        accuracy = curve.accuracy.tolist()
        print_json(
            {"records": curve.n_records, "budgets": stages, "accuracy": accuracy, "mean": float(np.mean(accuracy))}
        )
        return
    typer.echo(f"{curve.n_records} records of {visible(options.data)}\n{curve}")


def _parse_budgets(text: str) -> list[int]:
    from anystream.anytime.stages import check_stages

    try:
        return [int(stage) for stage in check_stages([int(part) for part in text.split(",")])]
    except ValueError as error:
        raise ValueError(
            f"--budgets is {text!r}; write ascending whole numbers, such as {_BUDGETS} ({error})"
        ) from None


def _save_plot(curve: AnytimeCurve, path: str) -> None:
    from anystream.plotting import new_figure

    figure = new_figure(6.0, 4.0)
    curve.plot(figure.subplots())
    figure.savefig(path)
