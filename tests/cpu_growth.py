"""How the CPU time of some work grows with its size: a ratio, which does not depend on the speed of the machine."""

import time


def cpu_growth(work, small, large, repeats=3):
    """Return the CPU time of ``work(large)`` divided by that of ``work(small)``, the lowest of several runs each."""
    lowest = {}
    for size in (small, large):
        durations = []
        for _ in range(repeats):
            started = time.process_time()
            work(size)
            durations.append(time.process_time() - started)
        lowest[size] = min(durations)
    return lowest[large] / lowest[small]
