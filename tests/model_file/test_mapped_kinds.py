"""Which kinds of models read their arrays from a mapped file, and that the others say that they copy."""

import warnings

import pytest

from all_classifiers import INCREMENTAL, clusters
from anystream import AnytimeForestClassifier, BayesTreeClassifier, KAOGClassifier, load
from anystream.drift import WCEA, DynamicWeightedMajority
from anystream.models import MODELS

X, Y = clusters(600, 3)
TREE = BayesTreeClassifier(metric=None, root_model=None, bandwidth="f0.1", n_jobs=1)
UNSAVEABLE = "neighbors, python metric"  # a function is not written to files
MAKERS = {name: make for name, make in INCREMENTAL.items() if name != UNSAVEABLE} | {
    "dynamic-weighted-majority of trees": lambda: DynamicWeightedMajority(TREE),
    "kaog": lambda: KAOGClassifier(n_jobs=1),
    "forest": lambda: AnytimeForestClassifier(n_jobs=1),
    "wcea of trees": lambda: WCEA(TREE, chunk_size=200),
}
MAPPED = {"bayes-tree", "neighbors", "neighbors, inverted", "forest", "dynamic-weighted-majority of trees"}
MAPPED |= {"wcea of trees"}


@pytest.fixture(params=MAKERS)
def saved(request, tmp_path):
    """Name of a case, and the file of a model of its kind."""
    path = tmp_path / "model.safetensors"
    MAKERS[request.param]().fit(X, Y).save(path)
    return request.param, path


def held_bytes(name, model):
    """Return the bytes in memory of a model, or of the trees that are members of an ensemble."""
    if not name.endswith("of trees"):
        return model.memory_bytes_
    members = model.experts_ if hasattr(model, "experts_") else model.committee_.members
    return sum(member.estimator.memory_bytes_ for member in members)


def test_every_kind_is_tested():
    assert {MAKERS[name]().kind for name in MAKERS} == set(MODELS)


def test_a_mapped_model_holds_less_memory_than_a_copied_one_or_a_warning_names_its_kind(saved):
    name, path = saved
    copied = load(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mapped = load(path, mmap=True)
    texts = [str(warning.message) for warning in caught if warning.category is RuntimeWarning]
    if name in MAPPED:
        assert texts == []
        assert held_bytes(name, mapped) < held_bytes(name, copied)
    else:
        (text,) = texts
        assert f"models of kind {copied.kind!r} cannot be mapped, the arrays were read into memory" in text
        assert held_bytes(name, mapped) >= held_bytes(name, copied)
    assert (mapped.predict(X[:20]) == copied.predict(X[:20])).all()
