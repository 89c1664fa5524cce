"""Distances by name: what they accept, what they learn, and the native distance that they come down to.

==================  ========  ===========================================================================
name                records   distance of x and e
==================  ========  ===========================================================================
euclidean           vectors   sqrt(sum_j (x_j - e_j)^2)
manhattan           vectors   sum_j |x_j - e_j|
chebyshev           vectors   max_j |x_j - e_j|
cosine              vectors   1 - cos(x, e)
correlation         vectors   1 - Pearson's correlation of x and e
mahalanobis         vectors   sqrt((x - e)^T VI (x - e)); VI is given or the inverse of the covariance
hamming             vectors   share of the features that differ
gower               vectors   mean over features: differs (categorical), or |x_j - e_j| / range_j
dtw                 series    dynamic time warping within a band, sqrt of the sum of squares
rotation            series    Euclidean, least over all circular shifts (closed contours)
edit                texts     insertions, deletions and replacements
any callable        objects   what it returns
==================  ========  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from anystream.neighbors.distances.angle import Angle
from anystream.neighbors.distances.base import Distance
from anystream.neighbors.distances.mahalanobis import Mahalanobis
from anystream.neighbors.distances.mixed import Mixed
from anystream.neighbors.distances.norm import NormDistance
from anystream.neighbors.distances.series import TimeWarping, Turning
from anystream.neighbors.distances.text import Edit

__all__ = ["DISTANCES", "Distance", "make_distance"]

DISTANCES: dict[str, Callable[..., Distance]] = {
    "euclidean": lambda **params: NormDistance("euclidean", **params),
    "manhattan": lambda **params: NormDistance("manhattan", **params),
    "chebyshev": lambda **params: NormDistance("chebyshev", **params),
    "cosine": lambda **params: Angle(centred=False, **params),
    "correlation": lambda **params: Angle(centred=True, **params),
    "mahalanobis": Mahalanobis,
    "hamming": lambda **params: Mixed("all", **params),
    "gower": Mixed,
    "dtw": TimeWarping,
    "rotation": Turning,
    "edit": Edit,
}


def make_distance(metric: object, params: Mapping[str, Any] | None = None, scaling: object = None) -> Distance:
    """A distance by name, not yet fitted.

    Parameters
    ----------
    metric : str
        One of `DISTANCES`.
    params : mapping, optional
        What the distance takes: ``VI`` (mahalanobis), ``categorical`` (gower), ``band`` (dtw).
    scaling : {None, "minmax", "standard"}
        How features are brought to one scale before they are compared.
    """
    if not isinstance(metric, str) or metric not in DISTANCES:
        known = ", ".join(DISTANCES)
        raise ValueError(f"metric is {metric!r}; use one of {known}, or a callable of two objects")
    try:
        distance = DISTANCES[metric](**(params or {}))
    except TypeError:
        raise ValueError(f"metric_params are {params!r}; the distance {metric!r} takes others, or none") from None
    distance.scale_by(scaling)
    return distance
