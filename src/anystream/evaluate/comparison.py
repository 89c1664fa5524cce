"""Comparison of many runs: means, standard errors, ranks, curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.evaluate.recovery import Recovery, measure_recoveries
from anystream.evaluate.run import Run
from anystream.evaluate.significance import RankComparison, compare_ranks
from anystream.evaluate.table import build_table, render_text


def mean_and_standard_error(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean and its standard error, which is NaN for a single value.

    Examples
    --------
    >>> mean_and_standard_error([1.0, 2.0, 3.0])
    (2.0, 0.57735...)
    """
    given = np.fromiter(values, dtype=np.float64)
    if len(given) == 0:
        return math.nan, math.nan
    spread = float(given.std(ddof=1) / math.sqrt(len(given))) if len(given) > 1 else math.nan
    return float(given.mean()), spread


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs of several methods on several streams, each with several seeds.

    Parameters
    ----------
    runs : tuple of Run
        In any order; they are grouped by their `method` and `stream`.
    """

    runs: tuple[Run, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, in order of appearance."""
        return tuple(dict.fromkeys(run.method for run in self.runs))

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams, in order of appearance."""
        return tuple(dict.fromkeys(run.stream for run in self.runs))

    def runs_of(self, method: str, stream: str) -> tuple[Run, ...]:
        """Return the runs of one method on one stream."""
        return tuple(run for run in self.runs if run.method == method and run.stream == stream)

    def mean_error(self, method: str, stream: str) -> tuple[float, float]:
        """Return the mean error and its standard error over the seeds; NaN if there is no run."""
        return mean_and_standard_error(run.error for run in self.runs_of(method, stream))

    def mean_error_curve(self, method: str, stream: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean error curve and its standard error at each point, which is 0 for a single run."""
        runs = self.runs_of(method, stream)
        if not runs:
            raise ValueError(
                f"there is no run of {method!r} on {stream!r}; the methods are {self.methods}, "
                f"the streams {self.streams}"
            )
        curves = np.array([run.error_curve() for run in runs])
        spread = curves.std(axis=0, ddof=1) / math.sqrt(len(curves)) if len(curves) > 1 else np.zeros(curves.shape[1])
        return curves.mean(axis=0), spread

    def recoveries(self, method: str, stream: str, **options: Any) -> dict[int, Recovery]:
        """Return the effect of each drift on the mean error curve; parameters as in `measure_recoveries`."""
        mean, _ = self.mean_error_curve(method, stream)
        first = self.runs_of(method, stream)[0]
        return measure_recoveries(mean, first.drifts, first.window, **options)

    def compare_ranks(self, *, alpha: float = 0.05) -> RankComparison:
        """Return Friedman's test and Nemenyi's critical difference over the streams; printed as a table."""
        errors = [[self.mean_error(method, stream)[0] for method in self.methods] for stream in self.streams]
        return compare_ranks(errors, methods=self.methods, alpha=alpha)

    def plot(self, stream: str, methods: Iterable[str] | None = None, ax: Any = None) -> Any:
        """Plot the mean error over time with the drifts marked, and return the axes; needs matplotlib."""
        from anystream.evaluate.plot import plot_errors

        if stream not in self.streams:
            raise ValueError(f"there is no run on {stream!r}; the streams are {', '.join(map(repr, self.streams))}")
        chosen = [m for m in self.methods if self.runs_of(m, stream)] if methods is None else list(methods)
        curves = {method: self.mean_error_curve(method, stream) for method in chosen}
        first = next(run for run in self.runs if run.stream == stream)
        return plot_errors(
            {method: mean for method, (mean, _) in curves.items()},
            first.window,
            first.drifts,
            spread={method: spread for method, (_, spread) in curves.items()},
            ax=ax,
            title=stream,
        )

    def __rich__(self) -> Any:
        rows = [[method, *(self._cell(method, stream) for stream in self.streams)] for method in self.methods]
        return build_table("error in %, mean ± standard error (recovery at each drift)", ("", *self.streams), rows)

    def __str__(self) -> str:
        return render_text(self)

    def _cell(self, method: str, stream: str) -> str:
        if not self.runs_of(method, stream):
            return "-"
        mean, spread = (100 * value for value in self.mean_error(method, stream))
        error = f"{mean:.2f}" if math.isnan(spread) else f"{mean:.2f} ± {spread:.2f}"
        recoveries = self.recoveries(method, stream).values()
        times = ",".join(str(recovery.n_points) if recovery.recovered else "-" for recovery in recoveries)
        return f"{error} ({times})" if times else error


def compare(
    methods: Mapping[str, Callable[[], Any]],
    streams: Mapping[str, Callable[[int], Any]],
    *,
    seeds: Iterable[int],
    protocol: Callable[..., Run],
) -> Comparison:
    """Run every method on every stream with every seed.

    Parameters
    ----------
    methods : mapping of str to callable
        Functions that create an unfitted classifier, by name.
    streams : mapping of str to callable
        Functions that create the stream with a given seed, by name.
    seeds : iterable of int
        Seeds of the streams; one run for each.
    protocol : callable
        `run_prequential` or `run_interleaved`, with parameters set by ``functools.partial``; called with a model, a
        stream and ``method=``.

    Examples
    --------
    >>> from functools import partial
    >>> from anystream.drift import GaussianNaiveBayes, DynamicWeightedMajority
    >>> from anystream.evaluate import run_prequential
    >>> from anystream.streams import SEA
    >>> result = compare(
    ...     {"NB": GaussianNaiveBayes, "DWM-NB": DynamicWeightedMajority},
    ...     {"SEA": lambda seed: SEA(concepts=(7, 9), drifts=(500,), seed=seed, n_records=1000)},
    ...     seeds=range(3),
    ...     protocol=partial(run_prequential, batch_size=20, window=20),
    ... )
    >>> result.methods, result.streams, len(result.runs)
    (('NB', 'DWM-NB'), ('SEA',), 6)
    """
    seeds = list(seeds)
    runs = [
        replace(protocol(make_model(), make_stream(seed), method=method), stream=stream)
        for method, make_model in methods.items()
        for stream, make_stream in streams.items()
        for seed in seeds
    ]
    return Comparison(tuple(runs))
