"""Reading a model file of LightGBM, XGBoost or CatBoost, without these packages and without running code."""

from __future__ import annotations

import os
from pathlib import Path

from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.importers.catboost import MAX_JSON_DEPTH, convert_catboost
from anystream.forest.importers.lightgbm import read_lightgbm
from anystream.forest.importers.ubjson import parse_ubjson
from anystream.forest.importers.xgboost import convert_xgboost
from anystream.model_file.container import open_model_file
from anystream.model_file.errors import InvalidContent, short
from anystream.model_file.strict_json import parse_json

MAX_FILE_BYTES = 2**31
_UBJSON_LENGTHS = b"iUIlL"  # types of the length of the first key
_PICKLES = (
    b"\x80",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"\x5d\x00\x00",
    b"x\x01",
    b"x^",
    b"x\x9c",
    b"x\xda",
    b"\x04\x22\x4d\x18",
)
_OTHER_FORMATS = {
    b"PK\x03\x04": ("it is a ZIP archive", "import the model as an object in Python"),
    b"CBM1": ("it is CatBoost's binary format", "export it with model.save_model(path, format='json')"),
    b"binf": ("it is XGBoost's binary format before 2.1", "save it again as .json or .ubj"),
    b"CONFIG-offset:": ("it is a snapshot of XGBoost", "save it again as .json or .ubj"),
}
_LOAD_PICKLE = (
    'if you trust it, run in Python: model = joblib.load("{name}"); '
    'anystream.AnytimeForestClassifier.from_model(model).save("model.safetensors")'
)


def read_ensemble(path: str | os.PathLike[str]) -> TreeEnsemble:
    """Return the ensemble of a file; its content decides which framework wrote it.

    Raises
    ------
    FileNotFoundError
        When the file does not exist.
    ModelFileError
        When it cannot be read, is damaged, or contains what an ensemble cannot represent.
    """
    with open_model_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_FILE_BYTES:
            raise InvalidContent(f"it has {size} bytes, allowed are {MAX_FILE_BYTES}", "use a smaller model")
        return _convert(file.read(), Path(path).name)


def _convert(raw: bytes, name: str) -> TreeEnsemble:
    for start, (fault, remedy) in _OTHER_FORMATS.items():
        if raw.startswith(start):
            raise InvalidContent(fault, remedy)
    if raw.startswith(_PICKLES):
        raise InvalidContent("it is a pickle or joblib file, which can run any code", _LOAD_PICKLE.format(name=name))
    if raw.startswith((b"tree\n", b"tree\r\n")):
        return read_lightgbm(raw)
    if raw.startswith(b"{") and raw[1:2] and raw[1:2] in _UBJSON_LENGTHS:
        content = parse_ubjson(raw)
    elif raw.lstrip(b" \t\r\n").startswith(b"{"):
        content = parse_json(raw, MAX_JSON_DEPTH)
    else:
        raise InvalidContent(
            f"it begins with {short(raw[:8])}, which no known format does",
            "name a model of LightGBM (text), XGBoost (JSON, UBJSON) or CatBoost (JSON)",
        )
    if "learner" in content:
        return convert_xgboost(content)
    if "features_info" in content:
        return convert_catboost(content)
    raise InvalidContent(
        f"its JSON has {short(sorted(content))}, which is no model of XGBoost or CatBoost", "name the model file itself"
    )
