import json

import pytest

from anystream.connectors.schema import Column, Schema, SchemaError
from anystream.connectors.schema_inference import infer_schema


def test_a_schema_is_inferred_and_survives_json():
    table = {
        "n": ["1", "2.5", ""],
        "c": ["u", "v", "?"],
        "k": ["a", "b", "c"],
        "t": ["1", "2", "3"],
        "y": ["0", "1", "1"],
    }
    schema = infer_schema(table, label="y", key="k", ignore=["t"])
    assert schema.columns == (Column("n"), Column("c", ("u", "v")))
    assert (schema.label_type, schema.feature_names) == ("int", ["n", "c=u", "c=v"])
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def test_an_impossible_schema_is_refused():
    with pytest.raises(SchemaError, match="there is no column 'z'; the table has x"):
        infer_schema({"x": ["1"]}, label="z")
    with pytest.raises(SchemaError, match="leave them out with --ignore id"):
        infer_schema({"id": [f"r{i}" for i in range(500)], "x": ["1"] * 500})
    with pytest.raises(SchemaError, match="no column is left"):
        infer_schema({"x": ["1"]}, label="x")
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.from_json({"columns": [], "label": None, "key": None, "time": None, "label_type": "colour"})
