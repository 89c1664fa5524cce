import numpy as np
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier

from anystream import AnytimeForestClassifier, load


def test_a_mapped_forest_answers_alike_and_its_arrays_do_not_count_as_memory(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 3)) + y[:, None]
    forest = RandomForestClassifier(20, random_state=0, n_jobs=1).fit(X, y)
    model = AnytimeForestClassifier.from_model(forest, n_jobs=1)
    model.save(tmp_path / "model.safetensors")
    read, mapped = (load(tmp_path / "model.safetensors", mmap=mmap) for mmap in (False, True))
    assert_array_equal(mapped.predict_proba(X), model.predict_proba(X))
    assert_array_equal(mapped.predict_proba(X, budget=40), read.predict_proba(X, budget=40))
    assert mapped.ensemble_.nbytes < 0.05 * read.ensemble_.nbytes
    assert mapped.memory_bytes_ < 0.7 * read.memory_bytes_
