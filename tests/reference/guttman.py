"""Guttman's R-tree, insertion and quadratic split, on boxes in units of the class's bounding box."""

import numpy as np

from reference.tree_shape import number_breadth_first


class Node:
    """Node; its entries are records (int) or nodes."""

    def __init__(self, entries):
        self.entries = entries


class RTree:
    """R-tree of numbered records; each insertion is told where the records lie, in any units."""

    def __init__(self, fanout, root=None):
        self.fanout = fanout
        self.root = root

    @classmethod
    def from_nested(cls, fanout, nested):
        """Return the tree of nested lists, of a single record or of None."""

        def tree(entry):
            return Node([tree(e) for e in entry]) if isinstance(entry, list) else entry

        return cls(fanout, tree(nested))

    def nested(self):
        """Return the tree as nested lists, a single record or None."""

        def lists(entry):
            return [lists(e) for e in entry.entries] if isinstance(entry, Node) else entry

        return lists(self.root)

    def insert(self, i, units):
        """Insert record i; `units` holds the coordinates of all records by number, NaN where a value is missing."""
        if not isinstance(self.root, Node):
            self.root = i if self.root is None else Node([self.root, i])
            return
        sibling = _Insertion(self.fanout, units).insert(self.root, i)
        if sibling:
            self.root = Node([self.root, *sibling])

    def remove(self, i):
        """Remove record i; a node that is left with one entry gives its place to it."""

        def without(entry):
            if not isinstance(entry, Node):
                return None if entry == i else entry
            entry.entries = [e for e in map(without, entry.entries) if e is not None]
            return entry.entries[0] if len(entry.entries) == 1 else entry

        self.root = without(self.root)


class _Insertion:
    def __init__(self, fanout, units):
        self.fanout = fanout
        self.units = units

    def box(self, entry):
        if isinstance(entry, Node):
            boxes = [self.box(e) for e in entry.entries]
            return np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)
        at = self.units[entry]
        return np.where(np.isnan(at), np.inf, at), np.where(np.isnan(at), -np.inf, at)

    def volume(self, a, b=None):
        b = a if b is None else b
        product = 1.0
        for side in np.maximum(a[1], b[1]) - np.minimum(a[0], b[0]):
            product *= max(0.0, float(side))  # without any value there is no side
        return product

    def growth(self, own, other):
        return self.volume(own, other) - self.volume(own)

    def insert(self, node, i):  # returns the sibling of the node after a split
        key = None
        if any(isinstance(e, Node) for e in node.entries):
            boxes = [self.box(e) for e in node.entries]
            key = min((self.growth(b, self.box(i)), self.volume(b), k) for k, b in enumerate(boxes))
        if key is not None and isinstance(node.entries[key[2]], Node):
            node.entries += self.insert(node.entries[key[2]], i)
        else:
            node.entries.append(i)
        return self.split(node) if len(node.entries) > self.fanout else []

    def split(self, node):
        rest = node.entries
        pairs = [(a, b) for a in range(len(rest)) for b in range(a + 1, len(rest))]

        def waste(pair):
            x, y = self.box(rest[pair[0]]), self.box(rest[pair[1]])
            return self.volume(x, y) - self.volume(x) - self.volume(y)

        a, b = max(pairs, key=waste)  # the first of equal pairs
        sides = [Node([rest[a]]), Node([rest[b]])]
        rest = [e for k, e in enumerate(rest) if k not in (a, b)]
        while rest:
            needy = [s for s in sides if len(s.entries) + len(rest) <= 2]
            if needy:
                needy[0].entries += rest
                break
            grown = [[self.growth(self.box(s), self.box(e)) for s in sides] for e in rest]
            k = max(range(len(rest)), key=lambda r: abs(grown[r][0] - grown[r][1]))
            winner = min((0, 1), key=lambda s: (grown[k][s], self.volume(self.box(sides[s])), len(sides[s].entries), s))
            sides[winner].entries.append(rest.pop(k))
        node.entries = sides[0].entries
        return [sides[1]]


def in_class_units(points):
    """Return the points in units of their bounding box, without the dimensions in which they do not vary."""
    low, high = np.fmin.reduce(points, axis=0), np.fmax.reduce(points, axis=0)
    varies = high > low  # not where all values are missing
    return (
        (points[:, varies] - low[varies]) / (high[varies] - low[varies]) if varies.any() else np.zeros((len(points), 1))
    )


def guttman(points, fanout):
    """Insert the points in order, in units of the box of all; return the shape of the tree."""
    units, tree = in_class_units(points), RTree(fanout)
    for i in range(len(points)):
        tree.insert(i, units)
    return number_breadth_first(tree.nested())
