"""Structure of the trees of a native forest."""

import numpy as np


def children_and_roots(forest):
    """Return the children of every node and the root of every class; a child below 0 is the record ~child."""
    entries = forest.entries()
    children = np.split(entries["child"], entries["first"][1:-1])
    return [each.tolist() for each in children if len(each)], forest.arrays()["class_root"].tolist()


def records_below(children, entry):
    """Return the records below an entry."""
    return [~entry] if entry < 0 else [record for child in children[entry] for record in records_below(children, child)]
