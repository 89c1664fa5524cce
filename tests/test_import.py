"""Importing anystream is quick and pulls in nothing that is not needed."""

import subprocess
import sys

import pytest

import anystream

HEAVY = [
    "matplotlib",
    "pandas",
    "polars",
    "river",
    "rich",
    "typer",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.datasets",
]


def modules_after(statement):
    code = f"{statement}; import sys; print('\\n'.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_anystream_loads_not_even_numpy():
    assert not {"numpy", "sklearn", *HEAVY} & modules_after("import anystream")


def test_a_classifier_needs_little_beside_scikit_learns_base():
    base = modules_after("import sklearn.base, sklearn.utils.validation, sklearn.utils.multiclass")
    ours = modules_after("from anystream import BayesTreeClassifier, Budget, load")
    foreign = {name.partition(".")[0] for name in ours - base} - {"anystream"}
    assert foreign <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("name", anystream.__all__)
def test_every_public_name_is_there(name):
    assert getattr(anystream, name) is not None
    assert name in dir(anystream)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'anystream' has no attribute 'Oracle'"):
        _ = anystream.Oracle
