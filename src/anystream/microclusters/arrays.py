"""Arrays of micro-cluster models, as model files store them."""

from anystream.model_file import ArraySpec

CLUSTER_ARRAYS = {
    "cluster_id": ArraySpec("int64", ("clusters",), low=0),
    "cluster_class": ArraySpec("int32", ("clusters",), low=0, high="classes-1"),
    "cluster_moments": ArraySpec("float64", ("clusters", 3), finite=True),
    "cluster_observed": ArraySpec("float64", ("clusters", "d"), low=0, finite=True),
    "cluster_mean": ArraySpec("float64", ("clusters", "d"), finite=True),
    "cluster_scatter": ArraySpec("float64", ("clusters", "d"), low=0, finite=True),
    "snapshot": ArraySpec("int64", ("snapshots", 2), low=0),
    "past_id": ArraySpec("int64", ("past",), low=-1),
    "past_count": ArraySpec("float64", ("past",), low=0, finite=True),
    "past_observed": ArraySpec("float64", ("past", "d"), low=0, finite=True),
    "past_mean": ArraySpec("float64", ("past", "d"), finite=True),
    "held_value": ArraySpec("float64", ("held", "d")),
    "held_class": ArraySpec("int32", ("held",), low=0, high="classes-1"),
    "moments": ArraySpec("float64", (5, "d"), finite=True),
    "state": ArraySpec("int64", (7,), low=-1),
}
"""Clusters, those of the snapshots, the points held out, the moments of all points, and counters."""
