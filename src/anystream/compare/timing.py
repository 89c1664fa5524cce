"""Times of single calls and of batches, in real time and in processor time of all threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

_WARM_UP = 20  # calls before the timed ones
_REPEATS = 3


class Times(NamedTuple):
    """Quantiles of the times of single calls, in microseconds."""

    p50_us: float
    p99_us: float
    cpu_p50_us: float
    cpu_p99_us: float


class Throughput(NamedTuple):
    """Records per second of a batch."""

    rows_per_s: float
    rows_per_cpu_s: float


def time_calls(call: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Times:
    """Return the times of calls with each of the arguments; a share of them is called before, to warm up.

    Examples
    --------
    >>> times = time_calls(lambda value: value, [(1,), (2,), (3,)])
    >>> 0.0 <= times.p50_us <= times.p99_us
    True
    """
    warm_up = arguments[: min(_WARM_UP, len(arguments) // 4)]
    for given in warm_up:
        call(*given)
    real_ns, cpu_ns = [], []
    for given in arguments[len(warm_up) :]:
        cpu, real = time.process_time_ns(), time.perf_counter_ns()
        call(*given)
        real_ns.append(time.perf_counter_ns() - real)
        cpu_ns.append(time.process_time_ns() - cpu)
    quantiles = [float(np.quantile(times, q)) / 1e3 for times in (real_ns, cpu_ns) for q in (0.5, 0.99)]
    return Times(*quantiles)


def time_batch(predict: Callable[[Any], Any], X: Any, *, max_s: float) -> Throughput:
    """Return the best throughput of several repeats, or of those that began before `max_s` seconds."""
    best_real, best_cpu = np.inf, np.inf
    began = time.perf_counter()
    for _ in range(_REPEATS):
        cpu, real = time.process_time(), time.perf_counter()
        predict(X)
        best_real = min(best_real, time.perf_counter() - real)
        best_cpu = min(best_cpu, time.process_time() - cpu)
        if time.perf_counter() - began > max_s:
            break
    return Throughput(len(X) / max(best_real, 1e-9), len(X) / max(best_cpu, 1e-9))
