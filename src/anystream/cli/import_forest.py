"""``anystream import``: a model file of another framework as an anytime model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anystream.cli.options import AsJson, Delimiter, TableFormat

if TYPE_CHECKING:
    from anystream.forest import TreeEnsemble


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Options of the command as they were given."""

    model: Annotated[str, typer.Argument(help="Model of LightGBM (text), XGBoost (JSON, UBJSON) or CatBoost (JSON).")]
    output_path: Annotated[str, typer.Option("--output", "-o", help="Output file for the model.")] = "model.safetensors"
    classes: Annotated[
        str | None, typer.Option(help="Class labels in their order, such as no,yes; default: those of the file.")
    ] = None
    features: Annotated[
        str | None, typer.Option(help="Columns in their order, such as size,age; default: the names in the file.")
    ] = None
    order_on: Annotated[
        str | None,
        typer.Option("--order-on", help="Table of labelled records, not those of the training, to order the trees by."),
    ] = None
    label_column: Annotated[str | None, typer.Option("--label", help="Column of the class label of --order-on.")] = None
    order: Annotated[str, typer.Option(help="Order that --order-on computes: auto, gain or squirrel.")] = "auto"
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Share of answers, such as 0.99, that must have the label of all trees; work ends once a class leads "
            "clearly, by how much is chosen on half of --order-on."
        ),
    ] = None
    table_format: TableFormat = None
    delimiter: Delimiter = None
    as_json: AsJson = False


def import_forest(options: ImportOptions) -> None:
    """Make an anytime model of a tree ensemble that another framework trained.

    The content of the file decides which framework wrote it. No code from the file is run, and the framework need not
    be installed. With all steps the model answers as its framework does.

    Example: [bold]anystream import lightgbm.txt -o model.safetensors --classes no,yes[/bold]
    """
    import numpy as np

    from anystream import AnytimeForestClassifier
    from anystream.cli.output import console, list_names, print_json, schema_table
    from anystream.cli.paths import check_distinct_files
    from anystream.cli.progress_bar import show_progress
    from anystream.connectors.encode_table import encode_table
    from anystream.connectors.file_formats import Table
    from anystream.connectors.saved_model import read_schema
    from anystream.forest import read_ensemble

    check_distinct_files(
        {"the model": options.model, "--order-on": options.order_on}, {"--output": options.output_path}
    )
    _check_order(options)
    ensemble = _rename(read_ensemble(options.model), options)
    classifier = AnytimeForestClassifier.from_model(
        ensemble, order="auto" if options.order_on is None else options.order, confidence=options.confidence
    )
    schema = replace(read_schema({}, classifier), label=options.label_column)
    if hasattr(classifier, "feature_names_in_"):
        del classifier.feature_names_in_  # the schema matches columns, so arrays without names need no warning
    if options.order_on is not None:
        table = Table(options.order_on, options.table_format, options.delimiter)
        with show_progress(table):
            found = encode_table(schema, table, labelled=True)
        classifier.order_on(found.features, np.array(found.labels))
    classifier.save(options.output_path, notes={"schema": schema.to_json()})

    if options.as_json:
        print_json(
            {
                "model": options.output_path,
                "source": ensemble.source,
                "trees": ensemble.n_trees,
                "nodes": ensemble.n_nodes,
                "max_steps": classifier.max_steps_,
                "order": classifier.order,
                "confidence": classifier.confidence,
                "classes": classifier.classes_.tolist(),
                "schema": schema.to_json(),
            }
        )
        return
    out = console()
    out.print(schema_table(schema))
    out.print(f"classes ({len(classifier.classes_)}): {list_names(classifier.classes_.tolist(), 12)}")
    out.print(
        f"{ensemble.source}: {ensemble.n_trees} trees with {ensemble.n_nodes} nodes, {ensemble.n_features} features; "
        f"at most {classifier.max_steps_} steps in the order {classifier.order}, written to {options.output_path}"
    )
    if classifier.confidence is not None:
        out.print(
            f"work ends once a class leads clearly; {classifier.confidence:.1%} of the labels are those of all trees"
        )


def _check_order(options: ImportOptions) -> None:
    """Raise ValueError if the options of the order are wrong."""
    if options.order not in ("auto", "gain", "squirrel"):
        raise ValueError(f"--order is {options.order!r}; choose auto, gain or squirrel")
    given = options.order != "auto" or options.label_column is not None or options.confidence is not None
    if options.order_on is None and given:
        raise ValueError(
            "--order, --confidence and --label belong to --order-on; name a table with it, or leave them out"
        )


def _rename(ensemble: TreeEnsemble, options: ImportOptions) -> TreeEnsemble:
    """Return an ensemble with the classes and columns of the options."""
    changes: dict[str, Any] = {}
    if options.classes is not None:
        changes["classes"] = _parse_classes(options.classes, len(ensemble.classes))
    if options.features is not None:
        changes["feature_names"] = _parse_names("--features", options.features, ensemble.n_features, "features")
    return replace(ensemble, **changes) if changes else ensemble


def _parse_classes(text: str, expected: int) -> Any:
    """Return labels as an array: whole numbers if all of them are."""
    import numpy as np

    names = _parse_names("--classes", text, expected, "classes")
    try:
        return np.array([int(name) for name in names])
    except ValueError:
        return np.array(names)


def _parse_names(option: str, text: str, expected: int, what: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if len(names) != expected:
        raise ValueError(f"{option} has {len(names)} names, the model has {expected} {what}; name each of them once")
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None or "" in names:
        raise ValueError(f"{option} has the name {twice or ''!r} twice or empty; name each of the {what} once")
    return names
