"""``anystream fit``: a model from a table."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anystream.cli.models import MAIN_KINDS, OTHER_KINDS
from anystream.cli.options import AsJson, Delimiter, NWorkers, TableFormat, TimeColumn, WorkersOn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from anystream.connectors.file_formats import Table
    from anystream.connectors.schema import Schema

_LARGE_BYTES = 100e6  # size of a model file from which on it is explained
_HELD_OUT_EVERY = 10  # every tenth record is held out to measure the gain table and the profile
_MIN_HELD_OUT = 20


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Options of the command as they were given."""

    data: Annotated[
        str,
        typer.Argument(
            help="Table of labelled records: CSV, JSON lines, Parquet or Arrow, compressed or not; - is standard input."
        ),
    ]
    label_column: Annotated[str, typer.Option("--label", help="Column of the class label.")]
    output_path: Annotated[str, typer.Option("--output", "-o", help="Output file for the model.")] = "model.safetensors"
    model: Annotated[
        str,
        typer.Option(help=f"One of {', '.join(MAIN_KINDS)}; for comparison, one of {', '.join(OTHER_KINDS)}."),
    ] = "bayes-tree"
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Parameter of the model, as name=value; repeatable.")
    ] = None
    key_column: Annotated[str | None, typer.Option("--key", help="Column of the record key.")] = None
    time_column: TimeColumn = None
    ignore: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")] = None
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            help="Column whose values are categories; of more than 100, all but the 99 most frequent are one category. "
            "Repeatable."
        ),
    ] = None
    numeric: Annotated[list[str] | None, typer.Option(help="Column of numbers; repeatable.")] = None
    sample: Annotated[
        int | None, typer.Option(help="Fit on this many records, drawn at random: less memory, a smaller model.")
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of --sample.")] = 0
    table_format: TableFormat = None
    delimiter: Delimiter = None
    gain_table: Annotated[
        bool,
        typer.Option(
            help="Also measure, with a tenth of the data held out, how much accuracy more steps gain; the "
            "marginal-gain scheduler needs it.",
        ),
    ] = False
    profile: Annotated[
        bool,
        typer.Option(
            "--profile",
            help="Also measure, with a tenth of the data held out, the accuracy after each number of steps; the "
            "dashboard of the server shows it.",
        ),
    ] = False
    workers: NWorkers = None
    on: WorkersOn = "local"
    skip_unreadable: Annotated[
        bool, typer.Option(help="With --workers: leave out files that cannot be read, instead of stopping.")
    ] = False
    as_json: AsJson = False


def fit(options: FitOptions) -> None:
    """Fit a model to a table of labelled records.

    A column is numeric if all of its cells are numbers, otherwise its values are categories; the result is printed.
    LOCUST, and neighbours with the metric gower, compare categories as such; for other models each becomes a feature.
    With --workers, the files of a pattern are fitted by parts and merged.

    Example: [bold]anystream fit train.csv --label class -o model.safetensors --set metric=auto[/bold]
    """
    from anystream.cli.models import compare_categories, make_model
    from anystream.cli.paths import check_distinct_files, check_writable
    from anystream.cli.progress_bar import show_progress
    from anystream.connectors.encode_table import encode_table
    from anystream.connectors.file_formats import Table

    check_distinct_files({"the data": options.data}, {"--output": options.output_path})
    check_writable({"--output": options.output_path})
    if options.sample is not None and options.sample < 1:
        raise ValueError(f"--sample is {options.sample}; use 1 record or more")
    estimator = make_model(options.model, options.settings or [])
    if options.workers is not None or options.on != "local" or options.skip_unreadable:
        from anystream.cli.fit_parts import fit_files

        fit_files(options, estimator)
        return
    table = Table(options.data, options.table_format, options.delimiter)
    schema, n_records = _infer_schema(options, table, coded=compare_categories(estimator, None))
    compare_categories(estimator, schema)
    rows = None if options.sample is None else _draw_rows(n_records, options.sample, options.seed)
    with show_progress(table):
        features, labels, _, _ = encode_table(schema, table, labelled=True, rows=rows)
    assert labels is not None  # they were required
    notes: dict[str, Any] = {"schema": schema.to_json()}
    if options.gain_table or options.profile:
        notes |= _measure_held_out(estimator, features, labels, options)
    started = time.perf_counter()
    estimator.fit(features, labels)
    seconds = time.perf_counter() - started
    estimator.save(options.output_path, notes=notes)
    report_fit(options, estimator, schema, len(labels), seconds)


def report_fit(options: FitOptions, estimator: Any, schema: Schema, n_records: int, seconds: float) -> None:
    """Print what was fitted."""
    from anystream.cli.output import console, print_json, schema_table

    n_bytes = os.path.getsize(options.output_path)
    if options.as_json:
        print_json(
            {
                "model": options.output_path,
                "kind": options.model,
                "records": n_records,
                "bytes": n_bytes,
                "features": schema.n_features,
                "classes": [str(label) for label in estimator.classes_.tolist()],
                "seconds": round(seconds, 3),
                "schema": schema.to_json(),
            }
        )
        return
    console().print(schema_table(schema))
    console().print(
        f"{n_records} records, {schema.n_features} features, {len(estimator.classes_)} classes: "
        f"fitted {options.model} in {seconds:.2f} s, written to {options.output_path} ({n_bytes / 1e6:.1f} MB)"
    )
    if n_bytes > _LARGE_BYTES:
        console().print(
            f"the model has {n_bytes / n_records:,.0f} bytes per record, because it keeps all of them; --sample "
            f"{n_records // 10} fits on a tenth"
        )


def _infer_schema(options: FitOptions, table: Table, *, coded: bool) -> tuple[Schema, int]:
    """Return the schema of the table, and the number of its records."""
    from anystream.cli.progress_bar import show_progress
    from anystream.connectors.schema import SchemaError
    from anystream.connectors.schema_inference import SchemaInference

    inference = SchemaInference(
        label=options.label_column,
        key=options.key_column,
        time=options.time_column,
        ignore=options.ignore or [],
        categorical=options.categorical or [],
        numeric=options.numeric or [],
        unit=table.unit,
        coded=coded,
    )
    with show_progress(table):
        for columns, places in table.chunks():
            inference.update(columns, places)
    if inference.n_records == 0:
        raise SchemaError(f"{table.name}: there are no records")
    try:
        return inference.finish(), inference.n_records
    except SchemaError as error:
        raise SchemaError(f"{table.name}: {error}") from None


def _draw_rows(n_records: int, n_wanted: int, seed: int) -> NDArray[np.bool_]:
    """Return which records are used."""
    import numpy as np

    rows = np.zeros(n_records, dtype=np.bool_)
    rows[np.random.default_rng(seed).choice(n_records, min(n_wanted, n_records), replace=False)] = True
    return rows


def _measure_held_out(
    estimator: Any, features: NDArray[np.float64], labels: list[Any], options: FitOptions
) -> dict[str, Any]:
    """Return the gain table and the profile of a model of nine tenths of the records, measured on the last tenth."""
    import numpy as np
    from sklearn.base import clone

    from anystream.anytime.curve import anytime_curve
    from anystream.anytime.profile import PerformanceProfile
    from anystream.runtime.gain_table import GainTable

    truth = np.array(labels)
    held_out = np.arange(len(truth)) % _HELD_OUT_EVERY == _HELD_OUT_EVERY - 1
    if held_out.sum() < _MIN_HELD_OUT:
        needed = _HELD_OUT_EVERY * _MIN_HELD_OUT
        option = "--gain-table" if options.gain_table else "--profile"
        raise ValueError(f"{option} needs at least {needed} records, there are {len(truth)}; leave it out")
    twin = clone(estimator).fit(features[~held_out], truth[~held_out])
    notes: dict[str, Any] = {}
    if options.gain_table:
        notes["gain_table"] = GainTable.measure(twin, features[held_out], truth[held_out]).to_json()
    if options.profile:
        curve = anytime_curve(twin, features[held_out], truth[held_out])
        notes["performance_profile"] = PerformanceProfile(curve.stages, curve.accuracy, curve.n_records).to_json()
    return notes
