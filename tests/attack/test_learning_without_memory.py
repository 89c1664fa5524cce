"""Learning without memory changes a model entirely or not at all."""

import os
from pathlib import Path

import pytest

from attack.failing_allocations import run_with_failing_allocations
from attack.learning_without_memory import LEARNED
from attack.preload import compiler

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="needs Linux and a C++ compiler"),
    pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="has its own malloc"),
]


@pytest.mark.parametrize("kind", LEARNED)
def test_a_failed_allocation_leaves_a_model_as_it_was(kind):
    done = run_with_failing_allocations(Path(__file__).with_name("learning_without_memory.py"), kind)
    assert (done.returncode, done.stdout) == (0, f"{kind} ok\n"), done.stderr
