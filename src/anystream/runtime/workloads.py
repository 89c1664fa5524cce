"""Traffic: when records arrive. Workloads A and B of the LOCUST paper, and steady traffic with bursts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def arrivals(rates: NDArray[np.float64], piece_s: float, *, seed: int | None = 0) -> NDArray[np.float64]:
    """Ascending arrival times in seconds for a rate that is constant over pieces of `piece_s` seconds.

    Parameters
    ----------
    rates : array of shape (n_pieces,)
        Records per second in each piece.
    piece_s : float
        Length of a piece.
    seed : int or None, default=0
        Arrivals are random and independent (a Poisson process); with None they come at even distances instead.
    """
    rates = np.asarray(rates, dtype=np.float64)
    if rates.ndim != 1 or len(rates) == 0 or not np.all(rates >= 0.0) or not piece_s > 0.0:
        raise ValueError("rates must be one sequence of numbers from 0 on, and piece_s positive")
    work = np.concatenate([[0.0], np.cumsum(rates * piece_s)])  # expected arrivals up to the end of each piece
    ends = np.arange(len(work)) * piece_s
    total = work[-1]
    if seed is None:
        marks = np.arange(0.5, total)
    else:
        rng = np.random.default_rng(seed)
        marks = np.sort(rng.uniform(0.0, total, rng.poisson(total)))
    return np.asarray(np.interp(marks, work, ends))


def workload_a(
    seconds: float = 60.0,
    *,
    base: float = 400.0,
    peak: float = 12_000.0,
    spike_s: float = 1.0,
    every_s: float = 10.0,
    seed: int | None = 0,
) -> NDArray[np.float64]:
    """Workload A: little traffic most of the time, and sudden spikes far beyond what the machine can do.

    Parameters
    ----------
    seconds : float, default=60.0
        How long it lasts.
    base, peak : float
        Records per second between and during the spikes.
    spike_s, every_s : float
        How long a spike lasts, and the time from one to the next.
    seed : int or None, default=0
        See `arrivals`.

    Notes
    -----
    The paper gives no table of its workloads; the figures are read from its plots: spikes several times above a
    capacity of 4000 records per second, and some 400 in between.
    """
    piece = _piece(seconds, spike_s)
    starts = np.arange(round(seconds / piece)) * piece
    in_spike = (starts % every_s) >= every_s - spike_s - 1e-9
    return arrivals(np.where(in_spike, peak, base), piece, seed=seed)


def workload_b(
    seconds: float = 60.0,
    *,
    low: float = 0.0,
    high: float = 4_000.0,
    step_s: float = 2.0,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Workload B: a rate that jumps to a random height every so often.

    Parameters
    ----------
    seconds : float, default=60.0
        How long it lasts.
    low, high : float
        Bounds of the heights, in records per second.
    step_s : float
        How long each height holds.
    seed : int, default=0
        Of heights and arrivals.
    """
    heights = np.random.default_rng(seed).uniform(low, high, max(round(seconds / step_s), 1))
    return arrivals(heights, step_s, seed=seed + 1)


def _piece(seconds: float, longest: float) -> float:
    if not seconds > 0.0 or not longest > 0.0:
        raise ValueError("a workload and its spikes must last longer than 0 seconds")
    return seconds / max(int(np.ceil(seconds / min(longest, seconds) * 4)), 1)
