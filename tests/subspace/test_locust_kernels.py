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


@given(
    seed=st.integers(0, 10_000),
    blocks=st.integers(1, 3),
    words=st.integers(1, 3),
    most=st.integers(1, 80),
    largest=st.sampled_from([3, 254]),
)
def test_distances(seed, blocks, words, most, largest):
    random = np.random.default_rng(seed)
    size = 64 * blocks
    query, *rows = random.integers(0, largest + 1, size=(1 + 64 * words, size)).astype(np.uint8)
    rows = np.array(rows)
    for codes in (query, rows):
        codes[random.random(codes.shape) < 0.1] = MISSING
    unrelated = np.where(random.random(size) < 0.3, random.integers(1, 86, size), 0).astype(np.uint8)
    members = random.random(64 * words) < 0.4
    points = np.packbits(members, bitorder="little").view(np.uint64)
    first = int(random.integers(words))
    place, distance = _native.locust_distances(query, rows, unrelated, points, first, most)
    order = np.roll(np.arange(64 * words), -64 * first)
    assert place.tolist() == [p for p in order if members[p]][:most]
    apart = np.abs(query.astype(int) - rows.astype(int))
    apart = np.where(unrelated > 0, unrelated * (apart > 0), apart)
    apart[(query == MISSING) | (rows == MISSING)] = 0
    assert distance.tolist() == apart.sum(axis=1)[place].tolist()


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
