"""``anystream fit --workers``: a model of many files, fitted by parts."""

from __future__ import annotations

import time
from typing import Any

from anystream.cli.fit import FitOptions, report_fit
from anystream.cli.models import compare_categories
from anystream.connectors.schema import Schema
from anystream.distributed.fit import fit_parts
from anystream.distributed.parts import ColumnRoles


def fit_files(options: FitOptions, estimator: Any) -> None:
    """Fit on the files of a pattern in many processes, and save the merged model."""
    for name, value in (
        ("sample", options.sample),
        ("gain-table", options.gain_table),
        ("profile", options.profile),
    ):
        if value:
            raise ValueError(f"--{name} needs all records in one process; leave it out, or leave --workers out")
    if options.data == "-":
        raise ValueError("--workers fits files, not standard input; name them with a pattern such as 'parts/*.csv'")
    roles = ColumnRoles(
        label=options.label_column,
        key=options.key_column,
        time=options.time_column,
        ignore=options.ignore or (),
        categorical=options.categorical or (),
        numeric=options.numeric or (),
        coded=compare_categories(estimator, None),
        table_format=options.table_format,
        delimiter=options.delimiter,
    )

    def set_categories(schema: Schema) -> None:
        compare_categories(estimator, schema)

    started = time.perf_counter()
    fitted = fit_parts(
        estimator,
        options.data,
        roles=roles,
        workers=options.workers,
        on=options.on,
        unreadable="skip" if options.skip_unreadable else "raise",
        on_schema=set_categories,
    )
    seconds = time.perf_counter() - started
    fitted.save(options.output_path)
    assert fitted.schema is not None  # files have one
    report_fit(options, fitted.model, fitted.schema, fitted.n_records, seconds)
