"""Trees as nested lists: functions that the references of all constructions share.

A node is a list of at least two entries; an entry is a node or the index of a record.
"""

import numpy as np


def number_breadth_first(root):
    """Return the arrays (first_entry, entry) of a root node; a single record has no node."""
    first_entry, entry = [0], []
    nodes = [root] if isinstance(root, list) else []
    for node in nodes:  # it grows during the loop
        for child in node:
            if isinstance(child, list):
                entry.append(len(nodes))
                nodes.append(child)
            else:
                entry.append(~child)
        first_entry.append(len(entry))
    return np.array(first_entry, np.int32), np.array(entry, np.int32)


def records_below(first_entry, entry, node):
    """Return the records in the subtree of a node, ascending."""
    found, pending = [], [node]
    while pending:
        at = pending.pop()
        for e in entry[first_entry[at] : first_entry[at + 1]]:
            pending.append(e) if e >= 0 else found.append(~e)
    return sorted(found)


def root_clusters(first_entry, entry):
    """Return the records below each entry of the root node."""
    return [records_below(first_entry, entry, e) if e >= 0 else [~e] for e in entry[: first_entry[1]]]


def build_bottom_up(points, fanout, group, kernel_variance=None):
    """Group the entries of a level into nodes until one node holds all; group(level) returns lists of positions.

    A level is a list of (entry, weight, mean, variance).
    """
    variance = np.zeros(points.shape[1]) if kernel_variance is None else kernel_variance
    level = [(i, 1.0, row, variance) for i, row in enumerate(points)]
    while len(level) > fanout:
        level = [
            (level[g[0]][0] if len(g) == 1 else [level[i][0] for i in g], *moments([level[i] for i in g]))
            for g in group(level)
        ]
    return number_breadth_first([e[0] for e in level] if len(level) > 1 else level[0][0])


def moments(entries):
    """Return weight, mean and variance of a mixture of entries."""
    weight, mean, variance = 0.0, 0.0, 0.0
    for _, w, m, _ in entries:
        weight += w
        mean = mean + w * m
    mean = mean / weight
    for _, w, m, v in entries:
        variance = variance + w * ((m - mean) * (m - mean) + v)
    return weight, mean, variance / weight
