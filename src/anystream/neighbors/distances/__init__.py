"""Distances by name: the records they accept, what they learn, and the native metric that compares encoded records.

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
rotation            series    Euclidean, minimum over all circular shifts (closed contours)
edit                texts     insertions, deletions and replacements
any callable        any       what it returns
==================  ========  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anystream.neighbors.distances.angle import AngleDistance
from anystream.neighbors.distances.base import Distance
from anystream.neighbors.distances.mahalanobis import MahalanobisDistance
from anystream.neighbors.distances.mixed import MixedDistance
from anystream.neighbors.distances.norm import NormDistance
from anystream.neighbors.distances.series import RotationDistance, TimeWarpingDistance
from anystream.neighbors.distances.text import EditDistance

__all__ = ["DISTANCES", "Distance", "MixedDistance", "get_distance_class", "make_distance"]

DISTANCES: dict[str, tuple[type[Distance], dict[str, Any]]] = {
    "euclidean": (NormDistance, {"norm": "euclidean"}),
    "manhattan": (NormDistance, {"norm": "manhattan"}),
    "chebyshev": (NormDistance, {"norm": "chebyshev"}),
    "cosine": (AngleDistance, {"centred": False}),
    "correlation": (AngleDistance, {"centred": True}),
    "mahalanobis": (MahalanobisDistance, {}),
    "hamming": (MixedDistance, {"categorical": "all"}),
    "gower": (MixedDistance, {}),
    "dtw": (TimeWarpingDistance, {}),
    "rotation": (RotationDistance, {}),
    "edit": (EditDistance, {}),
}
"""Class of each named distance, and the arguments that the name stands for."""


def get_distance_class(metric: object) -> type[Distance]:
    """Return the class of a named distance; ValueError if there is no distance of that name."""
    if not isinstance(metric, str) or metric not in DISTANCES:
        known = ", ".join(DISTANCES)
        raise ValueError(f"metric is {metric!r}; use one of {known}, or a callable of two records")
    return DISTANCES[metric][0]


def make_distance(metric: object, params: Mapping[str, Any] | None = None, scaling: object = None) -> Distance:
    """Return a named distance, not yet fitted.

    Parameters
    ----------
    metric : str
        One of `DISTANCES`.
    params : mapping, optional
        Parameters of the distance: ``VI`` (mahalanobis), ``categorical`` (gower), ``band`` (dtw).
    scaling : {None, "minmax", "standard"}
        How features are brought to one scale before they are compared.
    """
    cls = get_distance_class(metric)
    try:
        distance = cls(**DISTANCES[str(metric)][1], **(params or {}))
    except TypeError:
        raise ValueError(
            f"metric_params are {params!r}; the distance {metric!r} takes other parameters, or none"
        ) from None
    return distance.set_scaling(scaling)
