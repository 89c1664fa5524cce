"""Importing anystream is quick and imports nothing that is not needed."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import anystream
import anystream.runtime

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


def test_importing_anystream_does_not_import_numpy():
    assert not {"numpy", "sklearn", *HEAVY} & modules_after("import anystream")


def test_a_classifier_imports_nothing_beyond_scikit_learns_base():
    base = modules_after("import sklearn.base, sklearn.utils.validation, sklearn.utils.multiclass")
    ours = modules_after("from anystream import BayesTreeClassifier, Budget, load")
    foreign = {name.partition(".")[0] for name in ours - base} - {"anystream"}
    assert foreign <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("name", anystream.__all__)
def test_every_public_name_can_be_imported(name):
    assert getattr(anystream, name) is not None
    assert name in dir(anystream)


@pytest.mark.parametrize("name", anystream.runtime.__all__)
def test_every_public_name_of_the_runtime_can_be_imported(name):
    assert getattr(anystream.runtime, name) is not None
    assert name in dir(anystream.runtime)


@pytest.mark.parametrize("package", [anystream, anystream.runtime])
def test_the_stub_for_type_checkers_lists_the_same_names(package):
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = {
        alias.name: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert set(imported) == set(package.__all__)
    for name, module in imported.items():
        assert getattr(package, name) is getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("package", [anystream, anystream.runtime])
def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Oracle'"):
        _ = package.Oracle
