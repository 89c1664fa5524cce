import numpy as np
import pytest

from anystream import BayesTreeClassifier
from anystream.connectors.schema import Column, Schema
from anystream.server import model_store
from server.gated import GatedModel
from server.serving import serving


@pytest.fixture(scope="session")
def blobs():
    """Records of four features in three classes, and their labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=600)
    return rng.normal(size=(600, 4)) + 3.0 * labels[:, np.newaxis], labels


@pytest.fixture(scope="session")
def model_files(blobs, tmp_path_factory):
    """A folder with `numbers`, a model of four numbers, and `mixed`, one of a number and a category."""
    folder = tmp_path_factory.mktemp("models")
    X, y = blobs
    BayesTreeClassifier().fit(X, y).save(folder / "numbers.safetensors")
    schema = Schema((Column("size"), Column("colour", ("blue", "red"))), label="kind", key="id", label_type="text")
    rng = np.random.default_rng(1)
    size, red = rng.normal(size=400), rng.integers(2, size=400)
    features = np.column_stack([size, 1 - red, red])
    labels = np.where(size + red > 0.5, "yes", "no")
    BayesTreeClassifier().fit(features, labels).save(folder / "mixed.safetensors", notes={"schema": schema.to_json()})
    return folder


@pytest.fixture(scope="session")
def served(model_files):
    """A server of both models."""
    with serving(model_files, folders=(model_files,)) as found:
        yield found


@pytest.fixture
def gates(monkeypatch):
    """The models that are loaded, each with a gate, in the order of loading."""
    loaded, open_model = [], model_store.open_model

    def open_gated(path):
        saved = open_model(path)
        loaded.append(GatedModel(saved.classifier))
        return saved._replace(classifier=loaded[-1])

    monkeypatch.setattr(model_store, "open_model", open_gated)
    return loaded
