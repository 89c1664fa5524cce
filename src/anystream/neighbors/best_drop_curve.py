"""BestDrop as the paper plots it: at each size the best of DROP1, DROP2 and DROP3, on the test records themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from anystream.anytime.curve import AnytimeCurve, anytime_curve
from anystream.neighbors.classifier import AnytimeNeighborsClassifier


def best_drop_curve(
    X: Any, y: ArrayLike, X_test: Any, y_test: ArrayLike, *, stages: Sequence[int], **parameters: Any
) -> AnytimeCurve:
    """Return the curve of BestDrop in [1]_: after each number of steps, the highest accuracy of DROP1 to 3.

    No classifier has this curve: which order is best at a size is read off the test records. It is the baseline of the
    paper's figures; ``AnytimeNeighborsClassifier(ordering="best_drop")`` chooses one order on the training records.

    Parameters
    ----------
    X, y : array-like
        Training records and their classes.
    X_test, y_test : array-like
        Records that the curve is measured on.
    stages : sequence of int
        Ascending numbers of steps.
    **parameters
        Parameters of `AnytimeNeighborsClassifier` other than `ordering`.

    References
    ----------
    .. [1] Ueno, Xi, Keogh, Lee, "Anytime classification using the nearest neighbor algorithm with applications to
       stream mining", ICDM 2006, section 5.
    """
    if "ordering" in parameters:
        raise ValueError(f"ordering is {parameters['ordering']!r}; best_drop_curve always takes drop1, drop2 and drop3")
    curves = [
        anytime_curve(
            AnytimeNeighborsClassifier(ordering=ordering, **parameters).fit(X, y), X_test, y_test, stages=stages
        )
        for ordering in ("drop1", "drop2", "drop3")
    ]
    best = np.max([curve.accuracy for curve in curves], axis=0)
    return AnytimeCurve(curves[0].stages, best, curves[0].n_records)
