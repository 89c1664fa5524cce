"""Bulk loading by packing: along a curve, and sort-tile-recursive."""

import math

import numpy as np

from reference.hilbert import cells, hilbert_key, z_key
from reference.tree_shape import build_bottom_up


def means_of(level):
    """Return the means of the entries of a level, one row each."""
    return np.array([mean for _, _, mean, _ in level])


def pack(points, fanout, key):
    """Fill one node after another in the order of key(cell)."""

    def group(level):
        keys = [key(cell) for cell in cells(means_of(level))]
        order = sorted(range(len(level)), key=lambda i: (keys[i], i))
        return [order[i : i + fanout] for i in range(0, len(order), fanout)]

    return build_bottom_up(points, fanout, group)


def hilbert(points, fanout):
    """Pack along the Hilbert curve."""
    return pack(points, fanout, hilbert_key)


def z_curve(points, fanout):
    """Pack along the z-curve."""
    return pack(points, fanout, z_key)


def str_packing(points, fanout):
    """Pack by sort-tile-recursive: slabs of M ceil(P^((k - 1) / k)) entries, P tiles, k dimensions left."""

    def group(level):
        return tile(means_of(level), list(range(len(level))), 0)

    def tile(means, positions, dimension):
        tiles = math.ceil(len(positions) / fanout)
        if tiles == 1:
            return [positions]
        left = means.shape[1] - dimension
        slab = fanout * smallest_root(tiles, left)
        if slab < len(positions):
            positions = sorted(positions, key=lambda i: (means[i, dimension], i))
        cuts = range(0, len(positions), slab)
        return [group for at in cuts for group in tile(means, positions[at : at + slab], dimension + 1)]

    return build_bottom_up(points, fanout, group)


def smallest_root(tiles, left):
    """Return the ceiling of tiles^((left - 1) / left), in whole numbers."""
    s = 1
    while s**left < tiles ** (left - 1):
        s += 1
    return s
