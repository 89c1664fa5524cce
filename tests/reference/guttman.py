"""Guttman's R-tree, insertion and quadratic split, on boxes in units of the class's bounding box."""

import numpy as np

from reference.tree_shape import number_breadth_first


class Node:
    """Node; its entries are records (int) in a leaf, else nodes."""

    def __init__(self, entries):
        self.entries = entries


def guttman(points, fanout):
    """Insert the points in order; return the shape of the tree."""
    if len(points) == 1:
        return number_breadth_first(0)
    low, high = points.min(axis=0), points.max(axis=0)
    varies = high > low
    units = (points[:, varies] - low[varies]) / (high[varies] - low[varies]) if varies.any() else points * 0

    def box(entry):
        if isinstance(entry, Node):
            boxes = [box(e) for e in entry.entries]
            return np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)
        return units[entry], units[entry]

    def volume(a, b=None):
        b = a if b is None else b
        product = 1.0
        for side in np.maximum(a[1], b[1]) - np.minimum(a[0], b[0]):
            product *= float(side)
        return product

    def growth(own, other):
        return volume(own, other) - volume(own)

    def insert(node, i):  # returns the node and, after a split, its sibling
        if isinstance(node.entries[0], Node):
            keys = [(growth(box(e), box(i)), volume(box(e)), k) for k, e in enumerate(node.entries)]
            k = min(keys)[2]
            node.entries += insert(node.entries[k], i)
        else:
            node.entries.append(i)
        return split(node) if len(node.entries) > fanout else []

    def split(node):
        rest = node.entries
        pairs = [(a, b) for a in range(len(rest)) for b in range(a + 1, len(rest))]

        def waste(pair):
            x, y = box(rest[pair[0]]), box(rest[pair[1]])
            return volume(x, y) - volume(x) - volume(y)

        a, b = max(pairs, key=waste)  # the first of equal pairs
        sides = [Node([rest[a]]), Node([rest[b]])]
        rest = [e for k, e in enumerate(rest) if k not in (a, b)]
        while rest:
            needy = [s for s in sides if len(s.entries) + len(rest) <= 2]
            if needy:
                needy[0].entries += rest
                break
            grown = [[growth(box(s), box(e)) for s in sides] for e in rest]
            k = max(range(len(rest)), key=lambda r: abs(grown[r][0] - grown[r][1]))
            winner = min((0, 1), key=lambda s: (grown[k][s], volume(box(sides[s])), len(sides[s].entries), s))
            sides[winner].entries.append(rest.pop(k))
        node.entries = sides[0].entries
        return [sides[1]]

    def nested(entry):
        return [nested(e) for e in entry.entries] if isinstance(entry, Node) else entry

    root = Node([0])
    for i in range(1, len(points)):
        sibling = insert(root, i)
        if sibling:
            root = Node([root, *sibling])
    return number_breadth_first(nested(root))
