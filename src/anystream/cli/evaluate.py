"""``anystream evaluate``: accuracy over budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

_BUDGETS = "0,1,2,5,10,20,50,100,200"


def evaluate(
    model: Annotated[str, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="Table of labelled records that the model has not seen.")],
    label: Annotated[str | None, typer.Option(help="Column that holds the class; by default that of the fit.")] = None,
    budgets: Annotated[str, typer.Option(help="Ascending numbers of steps.")] = _BUDGETS,
    plot: Annotated[str | None, typer.Option(help="Also draw the curve into this file (.png, .svg, .pdf).")] = None,
    format_: Annotated[str | None, typer.Option("--format", help="csv, jsonl or arrow; by default by name.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="What stands between the cells of a CSV file.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show how accuracy grows with the budget.

    Example: [bold]anystream evaluate model.safetensors test.csv --plot curve.png[/bold]
    """
    import numpy as np
    from rich.table import Table

    from anystream.cli.output import console, print_json, sparkline
    from anystream.cli.tables import absent_columns, labelled_rows, read_columns, schema_of_model
    from anystream.connectors.schema import SchemaError
    from anystream.saved_models import load

    stages = _parse_budgets(budgets)
    estimator = load(model, mmap=True)
    schema = schema_of_model(model, estimator)
    schema = replace(schema, label=label or schema.label)
    columns = read_columns(data, format_, delimiter)
    if absent := absent_columns(schema, list(columns)):
        raise SchemaError(f"{data}: there is no column {absent[0]!r}, which the model was fitted on")
    features, labels = labelled_rows(schema, columns, data)
    truth = np.array(labels)
    accuracy = [float((found == truth).mean()) for found in estimator.staged_predict(features, stages=stages)]
    if plot is not None:
        _draw(plot, stages, accuracy)
    if json_:
        print_json({"records": len(labels), "budgets": stages, "accuracy": accuracy, "mean": float(np.mean(accuracy))})
        return
    table = Table("steps", "accuracy", "", title=f"{len(labels)} records of {data}", title_justify="left")
    for steps, share in zip(stages, accuracy, strict=True):
        table.add_row(str(steps), f"{share:.4f}", "█" * round(share * 30))
    console().print(table)
    console().print(
        f"{sparkline(accuracy, min(accuracy), max(accuracy))}  from {accuracy[0]:.4f} to {accuracy[-1]:.4f}"
    )


def _parse_budgets(text: str) -> list[int]:
    from anystream.anytime.stages import check_stages

    try:
        return [int(stage) for stage in check_stages([int(part) for part in text.split(",")])]
    except ValueError as error:
        raise ValueError(
            f"--budgets is {text!r}; write ascending whole numbers, such as {_BUDGETS} ({error})"
        ) from None


def _draw(path: str, stages: list[int], accuracy: list[float]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("--plot needs matplotlib; install anystream[report]") from None
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(stages, accuracy, marker="o")
    axes.set(xlabel="steps per record", ylabel="accuracy", xscale="symlog")
    axes.grid(alpha=0.3)
    figure.savefig(path)
