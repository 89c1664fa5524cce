"""The table of models serves loading, the public names and the command line."""

import re
from pathlib import Path

import pytest

import anystream
from anystream import ModelFileError, load
from anystream.estimators.saving import SaveableMixin
from anystream.model_file import write_model
from anystream.models import MODELS


@pytest.mark.parametrize("entry", MODELS.values(), ids=MODELS.keys())
def test_every_entry_names_a_class_of_its_kind(entry):
    found = entry.load_class()
    assert issubclass(found, SaveableMixin)
    assert found.kind == entry.kind
    assert entry.main == (entry.class_name in anystream.__all__)


def test_the_readme_lists_the_main_classifiers():
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    table = "".join(line for line in readme.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`(\w+Classifier)`", table)) == {entry.class_name for entry in MODELS.values() if entry.main}


def test_a_file_of_an_unknown_kind_is_rejected_with_the_known_ones(tmp_path):
    path = tmp_path / "model.safetensors"
    write_model(path, kind="oracle", version=1, metadata={}, arrays={})
    with pytest.raises(ModelFileError, match=r"holds a model of kind 'oracle', this anystream has bayes-tree, .*wcea"):
        load(path)
