"""Many runs side by side: means, standard errors, ranks, curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.evaluate.recovery import Recovery
from anystream.evaluate.run import Run, recoveries
from anystream.evaluate.significance import RankComparison, compare_ranks
from anystream.evaluate.table import render, text_table


def mean_and_standard_error(values: Iterable[float]) -> tuple[float, float]:
    """The mean, and the standard error of it; NaN for a single value.

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
        In any number and order; they are told apart by their `method` and `stream`.
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

    def of(self, method: str, stream: str) -> tuple[Run, ...]:
        """The runs of one method on one stream."""
        return tuple(run for run in self.runs if run.method == method and run.stream == stream)

    def error(self, method: str, stream: str) -> tuple[float, float]:
        """Mean error and its standard error over the seeds; NaN where nothing ran."""
        return mean_and_standard_error(run.error for run in self.of(method, stream))

    def curve(self, method: str, stream: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean error curve and its standard error at each point."""
        found = self.of(method, stream)
        if not found:
            raise ValueError(f"there is no run of {method!r} on {stream!r}; there are {self.methods} on {self.streams}")
        curves = np.array([run.errors() for run in found])
        spread = curves.std(axis=0, ddof=1) / math.sqrt(len(curves)) if len(curves) > 1 else np.zeros(curves.shape[1])
        return curves.mean(axis=0), spread

    def recoveries(self, method: str, stream: str, **options: Any) -> tuple[Recovery, ...]:
        """What each drift did to the mean error curve; options as in `recovery`."""
        mean, _ = self.curve(method, stream)
        first = self.of(method, stream)[0]
        return recoveries(mean, first.drifts, first.window, **options)

    def ranks(self, *, alpha: float = 0.05) -> RankComparison:
        """Friedman's test and Nemenyi's critical difference over the streams; print it for a table."""
        errors = [[self.error(m, s)[0] for m in self.methods] for s in self.streams]
        return compare_ranks(errors, methods=self.methods, alpha=alpha)

    def plot(self, stream: str, methods: Iterable[str] | None = None, ax: Any = None) -> Any:
        """Mean error over time with the drifts marked; needs matplotlib. Answers the axes."""
        from anystream.evaluate.plot import plot_errors

        if stream not in self.streams:
            raise ValueError(f"nothing ran on {stream!r}; there is {', '.join(map(repr, self.streams))}")
        chosen = [m for m in self.methods if self.of(m, stream)] if methods is None else list(methods)
        curves = {method: self.curve(method, stream) for method in chosen}
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
        return text_table("error in %, mean ± standard error (recovery at each drift)", ("", *self.streams), rows)

    def __str__(self) -> str:
        return render(self)

    def _cell(self, method: str, stream: str) -> str:
        if not self.of(method, stream):
            return "-"
        mean, spread = (100 * value for value in self.error(method, stream))
        text = f"{mean:.2f}" if math.isnan(spread) else f"{mean:.2f} ± {spread:.2f}"
        found = self.recoveries(method, stream)
        return f"{text} ({','.join(str(r.time) if r.recovered else '-' for r in found)})" if found else text


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
        Makes a fresh classifier.
    streams : mapping of str to callable
        Makes the stream of a seed.
    seeds : iterable of int
        One run each.
    protocol : callable
        `prequential` or `interleaved`, with their options set by ``functools.partial``; called with a model, a stream
        and ``method=``.

    Examples
    --------
    >>> from functools import partial
    >>> from anystream.drift import GaussianNaiveBayes, DynamicWeightedMajority
    >>> from anystream.evaluate import prequential
    >>> from anystream.streams import SEA
    >>> result = compare(
    ...     {"NB": GaussianNaiveBayes, "DWM-NB": DynamicWeightedMajority},
    ...     {"SEA": lambda seed: SEA(concepts=(7, 9), drifts=(500,), seed=seed, n_records=1000)},
    ...     seeds=range(3),
    ...     protocol=partial(prequential, batch_size=20, window=20),
    ... )
    >>> result.methods, result.streams, len(result.runs)
    (('NB', 'DWM-NB'), ('SEA',), 6)
    """
    chosen = list(seeds)
    runs = [
        replace(protocol(make_model(), make_stream(seed), method=method), stream=stream)
        for method, make_model in methods.items()
        for stream, make_stream in streams.items()
        for seed in chosen
    ]
    return Comparison(tuple(runs))
