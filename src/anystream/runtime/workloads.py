"""Workloads: arrival times of records. Workloads A and B of the LOCUST paper, and traffic of any piecewise rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def draw_arrivals(rates_per_s: NDArray[np.float64], piece_s: float, *, seed: int | None = 0) -> NDArray[np.float64]:
    """Return ascending arrival times in seconds for a rate that is constant over pieces of `piece_s` seconds.

    Parameters
    ----------
    rates_per_s : array of shape (n_pieces,)
        Records per second in each piece.
    piece_s : float
        Length of a piece in seconds.
    seed : int or None, default=0
        Arrivals are random and independent (a Poisson process); with None they are evenly spaced instead.
    """
    rates = np.asarray(rates_per_s, dtype=np.float64)
    if rates.ndim != 1 or len(rates) == 0 or not np.all(rates >= 0.0):
        raise ValueError("rates_per_s must be one sequence of numbers of 0 or more, with at least one number")
    if not piece_s > 0.0:
        raise ValueError(f"piece_s is {piece_s}; use a positive number of seconds")
    expected = np.concatenate([[0.0], np.cumsum(rates * piece_s)])  # arrivals up to the end of each piece
    ends_s = np.arange(len(expected)) * piece_s
    total = expected[-1]
    if seed is None:
        marks = np.arange(0.5, total)
    else:
        rng = np.random.default_rng(seed)
        marks = np.sort(rng.uniform(0.0, total, rng.poisson(total)))
    return np.asarray(np.interp(marks, expected, ends_s))


def workload_a(
    duration_s: float = 60.0,
    *,
    base_rate: float = 400.0,
    peak_rate: float = 12_000.0,
    spike_s: float = 1.0,
    period_s: float = 10.0,
    seed: int | None = 0,
) -> NDArray[np.float64]:
    """Return arrival times of workload A: little traffic most of the time, and sudden spikes far beyond capacity.

    Parameters
    ----------
    duration_s : float, default=60.0
        Length of the workload.
    base_rate, peak_rate : float
        Records per second between and during the spikes.
    spike_s, period_s : float
        Length of a spike, and the time from one to the next.
    seed : int or None, default=0
        See `draw_arrivals`.

    Notes
    -----
    The paper gives no table of its workloads; the figures are read from its plots: spikes several times above a
    capacity of 4000 records per second, and some 400 in between.
    """
    rates, piece_s = spike_rates(
        duration_s, base_rate=base_rate, peak_rate=peak_rate, spike_s=spike_s, period_s=period_s
    )
    return draw_arrivals(rates, piece_s, seed=seed)


def spike_rates(
    duration_s: float, *, base_rate: float, peak_rate: float, spike_s: float, period_s: float
) -> tuple[NDArray[np.float64], float]:
    """Return the records per second in each piece of `workload_a`, and the length of a piece in seconds."""
    piece_s = _piece_length(duration_s, spike_s)
    starts_s = np.arange(round(duration_s / piece_s)) * piece_s
    in_spike = (starts_s % period_s) >= period_s - spike_s - 1e-9
    return np.where(in_spike, peak_rate, base_rate), piece_s


def workload_b(
    duration_s: float = 60.0,
    *,
    min_rate: float = 0.0,
    max_rate: float = 4_000.0,
    step_s: float = 2.0,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return arrival times of workload B: a rate that jumps to a random height at regular intervals.

    Parameters
    ----------
    duration_s : float, default=60.0
        Length of the workload.
    min_rate, max_rate : float
        Bounds of the heights, in records per second.
    step_s : float
        Time between two jumps.
    seed : int, default=0
        Seed of heights and arrivals.
    """
    rates = step_rates(duration_s, min_rate=min_rate, max_rate=max_rate, step_s=step_s, seed=seed)
    return draw_arrivals(rates, step_s, seed=seed + 1)


def step_rates(duration_s: float, *, min_rate: float, max_rate: float, step_s: float, seed: int) -> NDArray[np.float64]:
    """Return the records per second in each piece, `step_s` long, of `workload_b`."""
    return np.random.default_rng(seed).uniform(min_rate, max_rate, max(round(duration_s / step_s), 1))


def _piece_length(duration_s: float, spike_s: float) -> float:
    if not duration_s > 0.0 or not spike_s > 0.0:
        raise ValueError(f"duration_s is {duration_s} and spike_s {spike_s}; use positive numbers of seconds")
    return duration_s / max(int(np.ceil(duration_s / min(spike_s, duration_s) * 4)), 1)
