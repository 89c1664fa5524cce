"""Probabilities are the same bits on every ISA level that the machine has."""

import os
import subprocess
import sys

import pytest

from anystream import _native

LEVELS = ["baseline", "avx2", "avx512"]
SCRIPT = """
import hashlib
import numpy as np
from anystream.microclusters import MicroClusterClassifier
from anystream.subspace import BlockLocustClassifier, LocustClassifier
random = np.random.default_rng(0)
y = random.integers(0, 3, 1500)
X = random.normal(size=(1500, 20)) + y[:, None] * random.normal(size=20)
X[random.random(X.shape) < 0.05] = np.nan
answers = hashlib.sha256()
for model in (LocustClassifier(level_size=256), BlockLocustClassifier(block_size=700), MicroClusterClassifier()):
    answers.update(model.fit(X, y).predict_proba(X).tobytes())
print(answers.hexdigest())
"""


@pytest.mark.skipif(_native.isa == "baseline", reason="this machine has one level only")
def test_probabilities_do_not_depend_on_the_instruction_set():
    found = set()
    for level in LEVELS[: LEVELS.index(_native.isa) + 1]:
        environment = os.environ | {"ANYSTREAM_ISA": level}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        found.add(run.stdout)
    assert len(found) == 1
