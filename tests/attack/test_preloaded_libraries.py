"""The preloaded libraries make the calls fail that they are told to, and no others."""

import os

import pytest

from attack.failing_allocations import each_failing_allocation, run_with_failing_allocations
from attack.preload import compiler

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="needs Linux and a C++ compiler"),
    pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="has its own malloc"),
]


def test_every_allocation_of_the_native_core_can_be_made_to_fail():
    done = run_with_failing_allocations(__file__)
    assert done.returncode == 0, done.stderr
    made, raised, learned = map(int, done.stdout.split())
    assert made > 10
    assert raised > 0.9 * made  # work that can be postponed may swallow the error
    assert raised + learned == made + 1


def fit_with_failing_allocations() -> None:
    """Print how many allocations a fit makes, and how many fits raised MemoryError and how many did not."""
    import numpy as np

    from anystream.subspace import LocustClassifier

    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    cases = []
    for case in each_failing_allocation():
        cases.append(case)
        with case:
            LocustClassifier().fit(X, y)
    raised = sum(case.raised is not None for case in cases)
    print(cases[0].made, raised, len(cases) - raised)


if __name__ == "__main__":
    fit_with_failing_allocations()
