"""A gain table for tests."""

import numpy as np

from anystream.runtime import GainTable


def table_of_three_levels(rises=(0.5, 0.5, 0.1)):
    """Levels of 0, 4 and 16 steps; the less sure an answer, the more to gain."""
    to_4, to_16, from_4 = (np.linspace(rise, 0.0, 10) for rise in rises)
    gains = np.zeros((2, 3, 10))
    gains[0, 1], gains[0, 2], gains[1, 2] = to_4, to_16, from_4
    edges = np.tile(np.linspace(0.1, 0.9, 9), (2, 1))
    return GainTable((0, 4, 16), edges, gains, 0.6 + np.array([0.0, to_4.mean(), to_16.mean()]))
