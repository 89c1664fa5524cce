import numpy as np
import pytest

from anystream.model_file import write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def small(tmp_path):
    """A small model with several dtypes, and the bytes of its file."""
    path = tmp_path / "small.safetensors"
    arrays = {
        "mean": np.array([[1.5, -2.0]], np.float32),
        "first": np.array([0, 1, 3], np.int32),
        "flag": np.array([True, False, True]),
        "count": np.array(7, np.uint64),
    }
    write_model(path, kind="tree", version=3, metadata={"labels": ["a", "ü"], "d": 2}, arrays=arrays)
    return path
