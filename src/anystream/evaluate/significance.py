"""Statistical comparison of methods over several data sets: Friedman's test and Nemenyi's critical difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from anystream.evaluate.table import build_table, render_text


@dataclass(frozen=True, eq=False)
class RankComparison:
    """Mean ranks of methods over data sets, and the difference at which they are significant.

    Parameters
    ----------
    methods : tuple of str
        Names of the methods.
    ranks : array of shape (n_methods,)
        Mean rank of each method; 1 is best.
    statistic : float
        Friedman's chi-square.
    p_value : float
        Probability of ranks that differ at least this much if all methods were equal, by Iman and Davenport's F, which
        is less conservative than the chi-square.
    critical_difference : float
        Methods whose mean ranks differ by less are not significantly different (Nemenyi, at level `alpha`).
    pairwise : array of shape (n_methods, n_methods)
        p-values of Nemenyi's test for each pair.
    alpha : float
        Significance level.
    """

    methods: tuple[str, ...]
    ranks: NDArray[np.float64]
    statistic: float
    p_value: float
    critical_difference: float
    pairwise: NDArray[np.float64]
    alpha: float

    def __rich__(self) -> Any:
        best = self.ranks.argmin()
        title = f"mean rank (Friedman's p = {self.p_value:.3g}; critical difference {self.critical_difference:.2f})"
        rows = [
            (self.methods[i], f"{self.ranks[i]:.2f}", "" if i == best else f"{self.pairwise[i, best]:.3g}")
            for i in np.argsort(self.ranks, kind="stable")
        ]
        return build_table(title, ("", "rank", "p against the best"), rows)

    def __str__(self) -> str:
        return render_text(self)


def compare_ranks(errors: ArrayLike, *, methods: Sequence[str] | None = None, alpha: float = 0.05) -> RankComparison:
    """Compare methods by their ranks over data sets [1]_.

    Parameters
    ----------
    errors : array-like of shape (n_data_sets, n_methods)
        Error of each method on each data set. At least 2 data sets and 2 methods.
    methods : sequence of str, optional
        Names of the methods. Default: their column numbers.
    alpha : float, default=0.05
        Significance level of the critical difference.

    References
    ----------
    .. [1] Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.

    Examples
    --------
    >>> result = compare_ranks([[0.1, 0.2, 0.3], [0.2, 0.3, 0.1], [0.1, 0.3, 0.4], [0.2, 0.4, 0.5]])
    >>> result.ranks
    array([1.25, 2.25, 2.5 ])
    >>> round(result.critical_difference, 3)
    1.657
    """
    table = np.asarray(errors, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2:
        raise ValueError(f"errors have the shape {table.shape}; give at least 2 data sets and 2 methods")
    if not np.isfinite(table).all():
        raise ValueError("errors contain non-finite values; leave out methods that did not run on all data sets")
    n, k = table.shape
    names = tuple(map(str, range(k))) if methods is None else tuple(methods)
    if len(names) != k:
        raise ValueError(f"there are {len(names)} names for {k} methods; give one name per method")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha!r}; use a number between 0 and 1")
    ranks_by_set = stats.rankdata(table, axis=1)
    ranks = ranks_by_set.mean(axis=0)
    statistic, p_value = _friedman_test(ranks_by_set)
    unit = np.sqrt(k * (k + 1) / (6 * n))  # standard error of the difference of two mean ranks
    difference = np.abs(ranks[:, np.newaxis] - ranks) / unit
    return RankComparison(
        methods=names,
        ranks=ranks,
        statistic=statistic,
        p_value=p_value,
        critical_difference=float(stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2) * unit),
        pairwise=np.asarray(stats.studentized_range.sf(difference * np.sqrt(2), k, np.inf)),
        alpha=alpha,
    )


def _friedman_test(ranks_by_set: NDArray[np.float64]) -> tuple[float, float]:
    """Return Friedman's chi-square, corrected for ties, and the p-value of Iman and Davenport's F."""
    n, k = ranks_by_set.shape
    if np.all(ranks_by_set == ranks_by_set[0, 0]):
        return 0.0, 1.0  # all ranks are tied
    ranks = ranks_by_set.mean(axis=0)
    spread = ((ranks_by_set - ranks_by_set.mean(axis=1, keepdims=True)) ** 2).sum()  # n k (k^2 - 1) / 12 without ties
    statistic = float(n**2 * (k - 1) * ((ranks - (k + 1) / 2) ** 2).sum() / spread)
    remainder = n * (k - 1) - statistic
    if remainder <= 0:
        return statistic, 0.0
    return statistic, float(stats.f.sf((n - 1) * statistic / remainder, k - 1, (k - 1) * (n - 1)))
