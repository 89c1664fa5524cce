"""Arrays of LOCUST models, as model files store them."""

from anystream.model_file import ArraySpec

LEVEL_ARRAYS = {
    "value": ArraySpec("float32", ("points", "d")),
    "point_class": ArraySpec("int32", ("points",), low=0, high="classes-1"),
    "arrival": ArraySpec("int64", ("points",), low=0),
    "level_state": ArraySpec("int64", ("levels", 4), low=0),
    "constant": ArraySpec("float32", ("levels", "d")),
    "cut": ArraySpec("float32", ("cuts",), finite=True),
    "cut_end": ArraySpec("int64", ("levels", "d"), low=0, high="cuts"),
    "regret": ArraySpec("float64", ("weighed",), low=0, finite=True),
    "class_seen": ArraySpec("int64", ("classes",), low=0),
    "seen": ArraySpec("int64", (1,), low=0),
}
"""Points of the levels and their ranges; loading rebuilds the inverted lists from them."""

BLOCK_ARRAYS = {
    "code": ArraySpec("uint8", ("points", "d")),
    "point_class": ArraySpec("int32", ("points",), low=0, high="classes-1"),
    "block_size": ArraySpec("int64", ("blocks",), low=1),
    "middle": ArraySpec("float32", ("ranges",)),
    "cut": ArraySpec("float32", ("cuts",), finite=True),
    "cut_end": ArraySpec("int64", ("blocks", "d"), low=0, high="cuts"),
    "open_value": ArraySpec("float32", ("open", "d")),
    "open_class": ArraySpec("int32", ("open",), low=0, high="classes-1"),
    "full_value": ArraySpec("float32", ("full", "d")),
    "full_class": ArraySpec("int32", ("full",), low=0, high="classes-1"),
    "state": ArraySpec("int64", (5,), low=0),
    "first_seen": ArraySpec("int64", ("classes",), low=0),
}
"""Ranges of the blocks, the range of each point, the block being filled, and a full block that is being built."""
