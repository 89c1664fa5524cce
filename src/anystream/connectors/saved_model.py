"""Model files with the schema of their records: classifier, notes and schema, from one read of the file."""

from __future__ import annotations

from typing import Any, NamedTuple

from anystream.connectors.schema import Column, Schema
from anystream.model_file import ModelFile, read_model
from anystream.models import restore_model


class SavedModel(NamedTuple):
    """An open model file.

    Parameters
    ----------
    file : ModelFile
        Content of the file.
    classifier : anytime classifier
        The model.
    notes : dict
        What ``anystream fit`` noted: the schema, and the gain table if there is one.
    schema : Schema
        Columns of the records.
    """

    file: ModelFile
    classifier: Any
    notes: dict[str, Any]
    schema: Schema


def open_model(path: str, *, mmap: bool = False, verify: bool = True) -> SavedModel:
    """Open a model file; parameters as of `anystream.load`."""
    file = read_model(path, mmap=mmap, verify=verify)
    notes, classifier = read_notes(file), restore_model(file, mapped=mmap)
    return SavedModel(file, classifier, notes, read_schema(notes, classifier))


def read_notes(file: ModelFile) -> dict[str, Any]:
    """Return the notes of a model file; empty if it has none."""
    notes = file.metadata.get("notes")
    return notes if isinstance(notes, dict) else {}


def read_schema(notes: dict[str, Any], classifier: Any) -> Schema:
    """Return the schema that ``anystream fit`` noted, otherwise numeric columns with the names of the features."""
    if "schema" in notes:
        return Schema.from_json(notes["schema"])
    kind = classifier.classes_.dtype.kind
    label_type = "int" if kind in "iu" else "float" if kind == "f" else "text"
    return Schema(tuple(Column(str(name)) for name in classifier.columns_), label_type=label_type)
