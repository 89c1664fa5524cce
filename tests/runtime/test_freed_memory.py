"""That the pages of a batch are used again: page faults of a fresh process, counted by the system."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
from anystream.runtime.freed_memory import keep_freed_memory
{setting}
def count_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
batches = [np.ones(2**18) for _ in range(4)]  # 2 MB each
del batches
before = count_faults()
for _ in range(20):
    batches = [np.ones(2**18) for _ in range(4)]
    del batches
print(count_faults() - before)
"""


def faults(setting):
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(setting=setting)], capture_output=True, text=True, check=True
    )
    return int(result.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is not glibc's")
def test_the_pages_of_a_batch_are_used_again_by_the_next():
    assert 10 * faults("keep_freed_memory()") < faults("")
