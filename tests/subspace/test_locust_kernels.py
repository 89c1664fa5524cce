"""Every kernel equals NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anystream import _native
from reference.locust import MISSING, Ranges


@given(seed=st.integers(0, 10_000), words=st.integers(1, 40), density=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_bit_sets(seed, words, density):
    random = np.random.default_rng(seed)
    a, b = (random.random((2, words * 64)) < density).astype(np.uint8)
    packed = [np.packbits(bits, bitorder="little").view(np.uint64) for bits in (a, b)]
    out = np.empty(words, dtype=np.uint64)
    both, again, bits, exceeds = _native.locust_intersect(*packed, out)
    assert both == again == (a & b).sum()
    assert np.array_equal(np.unpackbits(out.view(np.uint8), bitorder="little"), a & b)
    assert bits == a.sum()
    assert exceeds == bool((a & ~b & 1).any())


@given(seed=st.integers(0, 10_000), blocks=st.integers(1, 4))
def test_mismatch(seed, blocks):
    random = np.random.default_rng(seed)
    a, b = random.choice([0, 1, 2, 254, MISSING], size=(2, 64 * blocks)).astype(np.uint8)
    assert _native.locust_mismatch(a, b) == ((a != b) & (a != MISSING) & (b != MISSING)).sum()


@given(
    values=st.lists(
        st.sampled_from([-1e30, -2.5, -1.0, -0.0, 0.0, 1.0, 2.0, 7.0, 1e30, np.nan]) | st.floats(-9, 9, width=32),
        min_size=1,
        max_size=200,
    ),
    n_ranges=st.integers(2, 20),
    categorical=st.booleans(),
)
def test_ranges_and_codes(values, n_ranges, categorical):
    column = np.array(values, dtype=np.float32)
    cuts, codes = _native.locust_ranges(column, n_ranges, categorical)
    plain = Ranges(column[:, None], n_ranges, [0] if categorical else [])
    assert np.array_equal(cuts, np.array(plain.cuts[0], dtype=np.float32))
    assert codes.tolist() == [plain.code([value])[0] for value in column]


def test_many_values_are_sorted_by_their_bits():
    column = np.random.default_rng(0).normal(size=5000).astype(np.float32) * np.float32(1e20)
    cuts, codes = _native.locust_ranges(column, 100, False)
    assert np.array_equal(cuts, np.array(Ranges(column[:, None], 100).cuts[0]))
    assert np.bincount(codes).tolist() == [50] * 100
