"""``anystream inspect``: the content of a model file."""

from __future__ import annotations

import os
import reprlib
from typing import Annotated, Any

import typer

from anystream.cli.options import AsJson, ModelPath

_MAX_CLASSES = 12  # more are not printed
_MAX_COLUMNS = 20


def inspect(
    model: ModelPath,
    show_all: Annotated[
        bool, typer.Option("--all", help="Also show default parameters, all columns and the arrays.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the content of a model file: parameters, classes, columns.

    Example: [bold]anystream inspect model.safetensors[/bold]
    """
    from rich.table import Table

    from anystream.cli.output import console, list_names, print_json, schema_table
    from anystream.connectors.saved_model import open_model

    file, classifier, notes, schema = open_model(model, mmap=True, verify=False)  # of a large file little is read
    parameters = classifier.get_params()
    content = {
        "file": model,
        "kind": file.kind,
        "version": file.version,
        "bytes": os.path.getsize(model),
        "parameters": parameters,
        "chosen": _find_choices(parameters, file.metadata.get("recipe", {})),
        "classes": classifier.classes_.tolist(),
        "features": int(classifier.n_features_in_),
        "gain_table": "gain_table" in notes,
        "profile": "performance_profile" in notes,
        "arrays": {name: [str(array.dtype), list(array.shape)] for name, array in file.arrays.items()},
    }
    if as_json:
        print_json(content | {"schema": schema.to_json()})
        return
    out = console()
    out.print(f"{model}: {file.kind}, version {file.version}, {content['bytes'] / 1e6:.2f} MB", style="bold")
    shown = parameters if show_all else _find_choices(type(classifier)().get_params(), parameters)
    out.print("parameters: " + (_format_assignments(shown) or "all by default (--all shows them)"))
    if content["chosen"]:
        out.print("chosen by fit: " + _format_assignments(content["chosen"]))
    classes = content["classes"]
    out.print(f"classes ({len(classes)}): {list_names(classes, _MAX_CLASSES)}")
    out.print(f"gain table: {'yes' if content['gain_table'] else 'no (fit with --gain-table)'}")
    out.print(f"profile: {'yes' if content['profile'] else 'no (fit with --profile)'}")
    out.print(schema_table(schema, None if show_all else _MAX_COLUMNS))
    if not show_all:
        return
    arrays = Table("array", "type", "shape", title="arrays", title_justify="left")
    for name, (dtype, shape) in content["arrays"].items():
        arrays.add_row(list_names([name], 1), dtype, " x ".join(map(str, shape)))
    out.print(arrays)


def _find_choices(parameters: dict[str, Any], recipe: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a recipe that `fit` has chosen: those that differ from the parameters."""
    return {name: value for name, value in recipe.items() if name not in parameters or parameters[name] != value}


def _format_assignments(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={reprlib.repr(value)}" for name, value in values.items())
