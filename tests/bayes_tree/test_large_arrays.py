"""Arrays of several huge pages keep what they hold while they grow."""

import numpy as np
from safetensors.numpy import load_file

from anystream import BayesTreeClassifier


def test_records_learned_behind_several_megabytes_leave_the_others_as_they_were(tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(12_000, 64)), random.integers(0, 3, 12_000)
    model = BayesTreeClassifier(metric=None, root_model=None).fit(X[:9_000], y[:9_000])  # 4.6 MB of records
    model.partial_fit(X[9_000:], y[9_000:])
    model.save(tmp_path / "model.safetensors")
    stored = load_file(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(stored["points"].reshape(-1, 64), X)
    together = BayesTreeClassifier(metric=None, root_model=None).fit(X, y)
    assert model.memory_bytes_ < 2 * together.memory_bytes_
