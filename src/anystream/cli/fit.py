"""``anystream fit``: a model from a table."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anystream.cli.models import MAIN_KINDS
from anystream.cli.options import AsJson, Delimiter, TableFormat, TimeColumn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HELD_OUT_EVERY = 10  # every tenth record is held out to measure the gain table
_MIN_HELD_OUT = 20


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Options of the command as they were given."""

    data: Annotated[str, typer.Argument(help="Table of labelled records: .csv, .jsonl, .parquet or .arrow.")]
    label_column: Annotated[str, typer.Option("--label", help="Column of the class label.")]
    output_path: Annotated[str, typer.Option("--output", "-o", help="Output file for the model.")] = "model.safetensors"
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MAIN_KINDS)}.")] = "bayes-tree"
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Parameter of the model, as name=value; repeatable.")
    ] = None
    key_column: Annotated[str | None, typer.Option("--key", help="Column of the record key.")] = None
    time_column: TimeColumn = None
    ignore: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")] = None
    table_format: TableFormat = None
    delimiter: Delimiter = None
    gain_table: Annotated[
        bool,
        typer.Option(
            help="Also measure, with a tenth of the data held out, how much accuracy more steps gain; the "
            "marginal-gain scheduler needs it.",
        ),
    ] = False
    as_json: AsJson = False


def fit(options: FitOptions) -> None:
    """Fit a model to a table of labelled records.

    A column is numeric if all of its cells are numbers, otherwise its values are categories; the result is printed.

    Example: [bold]anystream fit train.csv --label class -o model.safetensors --set metric=auto[/bold]
    """
    from anystream.cli.encode_table import encode_labelled_table
    from anystream.cli.file_formats import read_columns
    from anystream.cli.models import make_model
    from anystream.cli.output import console, print_json, schema_table
    from anystream.cli.paths import check_distinct_files
    from anystream.connectors.schema import Schema

    check_distinct_files({"the data": options.data}, {"--output": options.output_path})
    estimator = make_model(options.model, options.settings or [])
    columns = read_columns(options.data, options.table_format, options.delimiter)
    schema = Schema.infer(
        columns,
        label=options.label_column,
        key=options.key_column,
        time=options.time_column,
        ignore=options.ignore or [],
    )
    features, labels = encode_labelled_table(schema, columns, options.data)
    notes: dict[str, Any] = {"schema": schema.to_json()}
    if options.gain_table:
        notes["gain_table"] = _measure_gain_table(estimator, features, labels)
    started = time.perf_counter()
    estimator.fit(features, labels)
    seconds = time.perf_counter() - started
    estimator.save(options.output_path, notes=notes)

    if options.as_json:
        print_json(
            {
                "model": options.output_path,
                "kind": options.model,
                "records": len(labels),
                "features": schema.n_features,
                "classes": [str(label) for label in estimator.classes_.tolist()],
                "seconds": round(seconds, 3),
                "schema": schema.to_json(),
            }
        )
        return
    console().print(schema_table(schema))
    console().print(
        f"{len(labels)} records, {schema.n_features} features, {len(estimator.classes_)} classes: "
        f"fitted {options.model} in {seconds:.2f} s, written to {options.output_path}"
    )


def _measure_gain_table(estimator: Any, features: NDArray[np.float64], labels: list[Any]) -> dict[str, Any]:
    """Return the gain table of a model of nine tenths of the records, measured on the last tenth."""
    import numpy as np
    from sklearn.base import clone

    from anystream.runtime.gain_table import GainTable

    truth = np.array(labels)
    held_out = np.arange(len(truth)) % _HELD_OUT_EVERY == _HELD_OUT_EVERY - 1
    if held_out.sum() < _MIN_HELD_OUT:
        needed = _HELD_OUT_EVERY * _MIN_HELD_OUT
        raise ValueError(f"--gain-table needs at least {needed} records, there are {len(truth)}; leave it out")
    twin = clone(estimator).fit(features[~held_out], truth[~held_out])
    return GainTable.measure(twin, features[held_out], truth[held_out]).to_json()
