"""Keys along the z-curve and the Hilbert curve as Python integers of any length."""

import numpy as np

BITS = 16


def cells(means, bits=BITS):
    """Return the cell of each mean when the range of each dimension is divided into 2^bits cells of equal width."""
    low, high = means.min(axis=0), means.max(axis=0)
    extent = np.where(high > low, high - low, 1.0)
    return np.minimum((means - low) / extent * 2**bits, 2**bits - 1).astype(int).tolist()


def interleave(cell, bits=BITS):
    """Return the highest bit of every dimension, then the second highest, and so on, as one number."""
    return int("".join(f"{c >> b & 1}" for b in reversed(range(bits)) for c in cell), 2)


def hilbert_axes(cell, bits=BITS):
    """Return the Hilbert index of a cell, its bits spread over the dimensions.

    Skilling, "Programming the Hilbert curve", 2004: AxestoTranspose.
    """
    x = list(cell)
    for level in reversed(range(1, bits)):
        bit, lower = 2**level, 2**level - 1
        for i in range(len(x)):
            if x[i] & bit:
                x[0] ^= lower
            else:
                swapped = (x[0] ^ x[i]) & lower
                x[0], x[i] = x[0] ^ swapped, x[i] ^ swapped
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    flips = 0
    for level in reversed(range(1, bits)):
        if x[-1] >> level & 1:
            flips ^= 2**level - 1
    return [c ^ flips for c in x]


def z_key(cell, bits=BITS):
    """Return the position of a cell along the z-curve."""
    return interleave(cell, bits)


def hilbert_key(cell, bits=BITS):
    """Return the position of a cell along the Hilbert curve."""
    return interleave(hilbert_axes(cell, bits), bits)
