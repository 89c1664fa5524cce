"""``anystream fit``: a model from a table."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from anystream.cli.models import MODELS


def fit(
    data: Annotated[str, typer.Argument(help="Table of labelled records: .csv, .jsonl, .parquet or .arrow.")],
    label: Annotated[str, typer.Option(help="Column that holds the class.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write the model.")] = "model.safetensors",
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")] = "bayes-tree",
    set_: Annotated[list[str] | None, typer.Option("--set", help="A parameter, as name=value; repeatable.")] = None,
    key: Annotated[str | None, typer.Option(help="Column that names a record.")] = None,
    time_: Annotated[str | None, typer.Option("--time", help="Column with the time of a record, in seconds.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Column that the model shall not see; repeatable.")] = None,
    format_: Annotated[str | None, typer.Option("--format", help="csv, jsonl or arrow; by default by name.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="What stands between the cells of a CSV file.")] = None,
    profile: Annotated[
        bool, typer.Option(help="Also measure on a tenth of the data what more steps bring, for marginal-gain.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Fit a model to a table of labelled records.

    Columns of numbers and of names are told apart by their cells; what was found is printed.

    Example: [bold]anystream fit train.csv --label class -o model.safetensors --set metric=auto[/bold]
    """
    from anystream.cli.models import make_model
    from anystream.cli.output import console, print_json, schema_table
    from anystream.cli.tables import check_apart, labelled_rows, read_columns
    from anystream.connectors.schema import Schema

    check_apart({"the data": data}, {"--output": output})
    estimator = make_model(model, set_ or [])
    columns = read_columns(data, format_, delimiter)
    schema = Schema.infer(columns, label=label, key=key, time=time_, ignore=ignore or [])
    features, labels = labelled_rows(schema, columns, data)
    notes: dict[str, Any] = {"schema": schema.to_json()}
    if profile:
        notes["profile"] = _profile(estimator, features, labels)
    began = time.perf_counter()
    estimator.fit(features, labels)
    seconds = time.perf_counter() - began
    estimator.save(output, notes=notes)
    summary = {
        "model": output,
        "kind": model,
        "records": len(labels),
        "features": schema.n_features,
        "classes": [str(found) for found in estimator.classes_.tolist()],
        "seconds": round(seconds, 3),
    }
    if json_:
        print_json(summary | {"schema": schema.to_json()})
        return
    console().print(schema_table(schema))
    console().print(
        f"{summary['records']} records, {summary['features']} features, {len(estimator.classes_)} classes: "
        f"fitted {model} in {seconds:.2f} s, written to {output}"
    )


def _profile(estimator: Any, features: Any, labels: list[Any]) -> dict[str, Any]:
    """What more steps bring, on every tenth record, for a model of the others."""
    import numpy as np
    from sklearn.base import clone

    from anystream.runtime.gain_table import GainTable

    answers = np.array(labels)
    held = np.arange(len(answers)) % 10 == 9
    if held.sum() < 20:
        raise ValueError(f"--profile needs 200 records or more, there are {len(answers)}; leave it out")
    twin = clone(estimator).fit(features[~held], answers[~held])
    return GainTable.measure(twin, features[held], answers[held]).to_json()
