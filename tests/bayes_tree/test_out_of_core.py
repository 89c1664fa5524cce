"""Mapped models need less memory than their size: only what queries visit is read."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from anystream import load
from bayes_tree.plain import plain

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, which only Linux has"),
    pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers allocate memory of their own"),
]

CLASSIFY = """
import json, re, resource, sys
import numpy as np
from anystream import BayesTreeClassifier, load  # loaded before the limit, since every process needs it
path, queries, mapped = sys.argv[1], np.load(sys.argv[2]), sys.argv[3] == "mapped"
BayesTreeClassifier(metric=None, root_model=None, n_jobs=1).fit(queries, np.arange(len(queries)) % 2).predict(queries)
used = int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + int(sys.argv[4]),) * 2)
model = load(path, mmap=mapped)
proba = model.set_params(n_jobs=1).predict_proba(queries, budget=20)
blocks = open("/proc/self/smaps").read().split("VmFlags")
resident = sum(int(re.search(r"Rss:\\s+(\\d+)", block)[1]) for block in blocks if path in block) * 1024
print(json.dumps({"proba": proba.tolist(), "resident": resident, "memory": model.memory_bytes_}))
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    random = np.random.default_rng(0)
    y = random.integers(4, size=60_000)
    model = plain().fit(random.normal(size=(60_000, 20)) + y[:, None], y)
    folder = tmp_path_factory.mktemp("large")
    model.save(folder / "model.safetensors")
    queries = random.normal(size=(3, 20)) + 1
    np.save(folder / "queries.npy", queries)
    return model, queries, folder


def classify(folder, how, limit):
    arguments = [str(folder / "model.safetensors"), str(folder / "queries.npy"), how, str(limit)]
    return subprocess.run([sys.executable, "-c", CLASSIFY, *arguments], capture_output=True, text=True, timeout=120)


def test_probabilities_are_correct_under_a_limit_below_the_size_of_the_model(saved):
    model, queries, folder = saved
    size = (folder / "model.safetensors").stat().st_size
    limit = size // 3
    done = classify(folder, "mapped", limit)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    np.testing.assert_array_equal(found["proba"], model.predict_proba(queries, budget=20))
    numbers = sum(array.nbytes for array in model.forest_.arrays().values() if array.dtype.kind in "iu")
    assert found["memory"] < numbers + size / 1000 < size / 25, "only whole numbers are copied"
    assert 0 < found["resident"] < size / 2, "most of the file was never read"


def test_reading_the_whole_model_exceeds_the_same_limit(saved):
    *_, folder = saved
    done = classify(folder, "whole", (folder / "model.safetensors").stat().st_size // 3)
    assert done.returncode != 0
    assert "do not fit in memory" in done.stderr


def test_memory_is_the_size_of_the_arrays(saved):
    model, _, folder = saved
    arrays = sum(array.nbytes for array in model.forest_.arrays().values())
    assert arrays <= model.memory_bytes_ < 2.5 * arrays  # growing arrays have spare capacity
    assert load(folder / "model.safetensors").memory_bytes_ == pytest.approx(arrays, rel=0.01)
