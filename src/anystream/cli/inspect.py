"""``anystream inspect``: what a model file holds."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer


def inspect(
    model: Annotated[str, typer.Argument(help="A model file.")],
    json_: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show what a model file holds: parameters, columns, classes, arrays.

    Example: [bold]anystream inspect model.safetensors[/bold]
    """
    from rich.table import Table

    from anystream.cli.output import console, print_json, schema_table
    from anystream.cli.tables import schema_of_model
    from anystream.model_file import read_model
    from anystream.saved_models import load

    file = read_model(model, mmap=True)
    estimator = load(model, mmap=True)
    schema = schema_of_model(model, estimator)
    notes = file.metadata.get("notes") or {}
    found = {
        "file": model,
        "kind": file.kind,
        "version": file.version,
        "bytes": os.path.getsize(model),
        "parameters": estimator.get_params(),
        "chosen": file.metadata.get("plan"),
        "classes": estimator.classes_.tolist(),
        "features": int(estimator.n_features_in_),
        "profile": "profile" in notes,
        "arrays": {name: [str(array.dtype), list(array.shape)] for name, array in file.arrays.items()},
    }
    if json_:
        print_json(found | {"schema": schema.to_json()})
        return
    out = console()
    out.print(f"[bold]{model}[/bold]: {file.kind}, version {file.version}, {found['bytes'] / 1e6:.2f} MB")
    out.print("parameters: " + _assignments(found["parameters"]))
    if found["chosen"] is not None:
        out.print("chosen by fit: " + _assignments(found["chosen"]))
    shown = ", ".join(map(str, found["classes"][:12])) + (", ..." if len(found["classes"]) > 12 else "")
    out.print(f"classes ({len(found['classes'])}): {shown}")
    out.print(f"performance profile: {'yes' if found['profile'] else 'no (fit with --profile)'}")
    out.print(schema_table(schema))
    arrays = Table("array", "type", "shape", title="arrays", title_justify="left")
    for name, (dtype, shape) in found["arrays"].items():
        arrays.add_row(name, dtype, " x ".join(map(str, shape)))
    out.print(arrays)


def _assignments(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
