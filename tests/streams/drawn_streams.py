"""Strategy that draws generated streams, and helpers to compare their content."""

import numpy as np
from hypothesis import strategies as st

from anystream.streams import SEA, JapaneseFlag, MovingGaussians, RandomRBF, Sine
from anystream.streams.generated import BLOCK_SIZE

N = 2 * BLOCK_SIZE + 100  # three blocks, the last one incomplete

CONCEPTS = {
    SEA: st.floats(0.5, 19.5),
    Sine: st.sampled_from(["sine1", "sine1_reversed", "sine2", "sine2_reversed"]),
    MovingGaussians: st.sampled_from(["plain", "swapped"]),
    JapaneseFlag: st.floats(0.05, 0.7),
    RandomRBF: st.integers(0, 2**40),
}


POSITIONS = st.integers(1, N - 1) | st.sampled_from([BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1, 2 * BLOCK_SIZE])
NOISE = st.sampled_from([0.0, 0.1, 0.5])


@st.composite
def streams(draw, generators=tuple(CONCEPTS), noise=NOISE):
    generator = draw(st.sampled_from(generators))
    drifts = sorted(draw(st.sets(POSITIONS, max_size=4)))
    concepts = draw(st.lists(CONCEPTS[generator], min_size=len(drifts) + 1, max_size=len(drifts) + 1))
    sizes = {}
    if generator is RandomRBF:
        sizes = {
            "n_features": draw(st.integers(1, 5)),
            "n_classes": draw(st.integers(2, 4)),
            "n_centers": draw(st.integers(4, 9)),
            "speed": draw(st.sampled_from([0.0, 0.001, 0.5])),
        }
    seed = draw(st.integers(0, 2**70))
    return generator(concepts=concepts, drifts=drifts, noise=draw(noise), seed=seed, n_records=N, **sizes)


def equal(a, b):
    return all(np.array_equal(left, right) for left, right in zip(a, b, strict=True))


def segments(stream):
    """Return (concept, first record, end) for each concept of a stream of length N."""
    bounds = [0, *stream.drifts, N]
    return zip(stream.concepts, bounds[:-1], bounds[1:], strict=True)
