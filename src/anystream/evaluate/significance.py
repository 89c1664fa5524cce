"""Whether methods differ over several data sets: Friedman's test and Nemenyi's critical difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from anystream.evaluate.table import render, text_table


@dataclass(frozen=True, eq=False)
class RankComparison:
    """Ranks of methods over data sets, and how far they must lie apart.

    Parameters
    ----------
    methods : tuple of str
        Their names, for the table.
    ranks : array of shape (n_methods,)
        Mean rank of each method; 1 is best.
    statistic : float
        Friedman's chi-square.
    p_value : float
        The chance of ranks at least so uneven if all methods were alike: Iman and Davenport's F, which is less timid
        than the chi-square.
    critical_difference : float
        Two methods whose mean ranks differ by less are not shown to differ (Nemenyi, at `alpha`).
    pairwise : array of shape (n_methods, n_methods)
        p-values of Nemenyi's test for each pair.
    alpha : float
        The level.
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
        return text_table(title, ("", "rank", "p, against the first"), rows)

    def __str__(self) -> str:
        return render(self)


def compare_ranks(errors: ArrayLike, *, methods: Sequence[str] | None = None, alpha: float = 0.05) -> RankComparison:
    """Compare methods by their ranks over data sets [1]_.

    Parameters
    ----------
    errors : array-like of shape (n_data_sets, n_methods)
        One error of each method on each data set; less is better. At least 2 of each.
    methods : sequence of str, optional
        Their names. Default: their numbers.
    alpha : float, default=0.05
        The level of the critical difference.

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
        raise ValueError("errors hold values that are not finite; leave out methods that did not run on all data sets")
    n, k = table.shape
    names = tuple(map(str, range(k))) if methods is None else tuple(methods)
    if len(names) != k:
        raise ValueError(f"there are {len(names)} names for {k} methods; give one to each")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha!r}; use a number between 0 and 1")
    each = stats.rankdata(table, axis=1)
    ranks = each.mean(axis=0)
    if np.all(each == each[0, 0]):
        statistic, p_value = 0.0, 1.0  # nothing but ties
    else:
        spread = ((each - each.mean(axis=1, keepdims=True)) ** 2).sum()  # less than n k (k^2 - 1) / 12 with ties
        statistic = float(n**2 * (k - 1) * ((ranks - (k + 1) / 2) ** 2).sum() / spread)
        left = n * (k - 1) - statistic
        p_value = 0.0 if left <= 0 else float(stats.f.sf((n - 1) * statistic / left, k - 1, (k - 1) * (n - 1)))
    unit = np.sqrt(k * (k + 1) / (6 * n))
    apart = np.abs(ranks[:, np.newaxis] - ranks) / unit
    return RankComparison(
        methods=names,
        ranks=ranks,
        statistic=statistic,
        p_value=p_value,
        critical_difference=float(stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2) * unit),
        pairwise=np.asarray(stats.studentized_range.sf(apart * np.sqrt(2), k, np.inf)),
        alpha=alpha,
    )
