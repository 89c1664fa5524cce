"""Every kernel equals NumPy."""

import math

import numpy as np
import pytest
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


@given(values=st.lists(st.floats() | st.floats(width=32) | st.sampled_from([-0.0, 1e39, -1e39, 3.4028235677973366e38])))
def test_floats_are_clamped_and_have_one_zero(values):
    out = np.empty(len(values), np.float32)
    assert _native.locust_floats(np.array(values), out) is (not np.isinf(values).any())
    largest = float(np.finfo(np.float32).max)
    expected = [
        np.float32(min(max(value, -largest), largest)) if value == value else np.float32(np.nan) for value in values
    ]
    np.testing.assert_array_equal(out, np.array(expected, np.float32))
    assert not np.signbit(out[out == 0]).any()


@given(seed=st.integers(0, 10_000), blocks=st.integers(1, 5), rows=st.integers(0, 30))
def test_codes_count_the_limits_below_that_are_in_use(seed, blocks, rows):
    random = np.random.default_rng(seed)
    x = random.choice(np.array([-1.0, -0.0, 0.0, 0.5, 2.0, 1e30, np.nan], np.float32), 16 * blocks)
    used = random.integers(0, rows + 1, blocks).astype(np.uint8)
    limits = random.choice(np.array([-1.0, 0.0, 0.5, 3.0], np.float32), (rows, 16 * blocks))
    for block, count in enumerate(used.tolist()):
        limits[count:, 16 * block : 16 * block + 16] = np.inf
    out = np.empty(16 * blocks, np.uint8)
    _native.locust_codes(x, limits, used, out)
    expected = [MISSING if value != value else sum(limits[:, j] < value) for j, value in enumerate(x)]
    assert out.tolist() == expected


@given(seed=st.integers(0, 10_000), rows=st.integers(0, 12), columns=st.integers(1, 40))
def test_extremes_and_what_lies_between_them(seed, rows, columns):
    random = np.random.default_rng(seed)
    values = random.choice(np.array([-3.0, -0.0, 0.0, 1.0, 7.5, np.nan], np.float32), (rows, columns))
    before = random.choice(np.array([np.inf, 0.0, 2.0], np.float32), columns)
    lowest, highest, inner = before.copy(), -before, np.zeros(columns, np.int32)
    _native.locust_extremes(values, lowest, highest, inner)
    for j in range(columns):
        known = [value for value in values[:, j].tolist() if value == value]
        assert lowest[j] == min([*known, before[j]])
        assert highest[j] == max([*known, -before[j]])
        assert bool(inner[j]) == any(lowest[j] < value < highest[j] for value in known)


@given(
    seed=st.integers(0, 10_000),
    places=st.integers(1, 64),
    d=st.integers(1, 70),
    slots=st.integers(1, 6),
    replaced=st.sampled_from([0.0, 0.1, 0.6, 1.0]),
)
def test_a_word_of_all_lists_is_brought_up_to_date(seed, places, d, slots, replaced):
    random = np.random.default_rng(seed)
    ranges = random.choice([1, 2, 5, 30], d)
    first = np.cumsum([0, *np.where(ranges > 1, ranges, 0)]).astype(np.uint32)
    stored = random.random(places) < 0.8  # the other places are empty before
    old = random_points(random, places, ranges, slots)
    new = random_points(random, places, ranges, slots)
    kept = (random.random(places) >= replaced) & stored
    new["codes"][kept], new["slots"][kept] = old["codes"][kept], old["slots"][kept]
    bits, count, class_count = lists_of_points(old, first, ranges, slots, stored)
    before, after = np.zeros(slots, np.uint64), np.zeros(slots, np.uint64)
    for p in np.flatnonzero(~kept).tolist():
        if stored[p]:
            before[old["slots"][p]] |= np.uint64(1 << p)
        after[new["slots"][p]] |= np.uint64(1 << p)
    rows = np.full((places, -(-d // 64) * 64), MISSING, np.uint8)
    rows[:, :d] = new["codes"]
    _native.locust_renew_word(rows, first, bits, count, class_count, before, after)
    expected = lists_of_points(new, first, ranges, slots, np.ones(places, bool))
    for found, wanted in zip((bits, count, class_count), expected, strict=True):
        assert found.tolist() == wanted.tolist()


def random_points(random, places, ranges, slots):
    """Return codes and slots of random points."""
    codes = np.array([[random.integers(n) for n in ranges] for _ in range(places)], np.uint8)
    codes[random.random(codes.shape) < 0.1] = MISSING
    return {"codes": codes, "slots": random.integers(0, slots, places)}


def lists_of_points(points, first, ranges, slots, stored):
    """Return the bits, counts and class counts of the lists, point by point."""
    bits, count = np.zeros(first[-1], np.uint64), np.zeros(first[-1], np.uint16)
    class_count = np.zeros((first[-1], slots), np.uint16)
    for p in np.flatnonzero(stored).tolist():
        for j, code in enumerate(points["codes"][p].tolist()):
            if ranges[j] > 1 and code != MISSING:
                list_ = int(first[j]) + code
                bits[list_] |= np.uint64(1 << p)
                count[list_] += 1
                class_count[list_, points["slots"][p]] += 1
    return bits, count, class_count


@given(
    seed=st.integers(0, 10_000),
    stride=st.sampled_from([4, 8, 16, 64]),
    lists=st.integers(1, 20),
    largest=st.sampled_from([0, 1, 30, 900]),
)
def test_weights_of_lists(seed, stride, lists, largest):
    random = np.random.default_rng(seed)
    present = random.permutation(stride)[: random.integers(1, stride + 1)]
    class_count = np.zeros((lists, stride), np.uint16)
    class_count[:, present] = random.integers(0, largest + 1, (lists, len(present))) * (
        random.random((lists, len(present))) < 0.7
    )
    sizes = class_count.sum(axis=0, dtype=int) + 1
    n = int(sizes[present].sum())
    share = np.ones(max(stride, 8))
    share[present] = sizes[present] / n
    count = class_count.sum(axis=1).astype(np.uint16)
    chosen = random.integers(0, lists, 2 * lists).astype(np.uint32)
    out = np.empty(len(chosen), np.float32)
    _native.locust_weights(count, class_count, share, present.astype(np.uint32), float(n), chosen, out)
    for list_, weight in zip(chosen.tolist(), out.tolist(), strict=True):
        n_v = int(count[list_])
        f = (class_count[list_, present] + share[present]) / (n_v + 1)
        divergence = max(0.0, sum(p * math.log(p / q) for p, q in zip(f, share[present], strict=True)))
        selectivity = 1 - n_v / n
        expected = divergence * selectivity + 0.01 * selectivity + 1e-6 if n_v else 0.0
        assert weight == pytest.approx(expected, rel=1e-6, abs=1e-12)


@given(
    values=st.lists(st.sampled_from([0.0, 1e-6, 0.3, 0.5, 2.0]), max_size=40), at=st.sampled_from([0.0, 0.3, 0.4, 9])
)
def test_rank_counts_the_values_up_to_one(values, at):
    padded = np.array(values + [np.inf] * (-len(values) % 8))
    assert _native.locust_rank(padded, at) == sum(value <= at for value in values)


@given(seed=st.integers(0, 10_000), blocks=st.integers(1, 5), expected_everywhere=st.booleans())
def test_a_value_differs_if_it_is_known_and_not_the_expected_one(seed, blocks, expected_everywhere):
    random = np.random.default_rng(seed)
    expected = random.choice(np.array([-np.inf, -1.0, 0.0, 3.0, np.nan], np.float32), 16 * blocks)
    x = random.choice(np.array([-1.0, 0.0, 3.0, np.nan], np.float32), 16 * blocks)
    if expected_everywhere:  # but for one value
        x = np.where(np.isfinite(expected), expected, np.float32(np.nan))
        x[random.integers(len(x))] = random.choice(np.array([0.0, np.nan], np.float32))
    differ = [value == value and known != -np.inf and value != known for value, known in zip(x, expected, strict=True)]
    assert _native.locust_differs(x, expected) == any(differ)


@given(seed=st.integers(0, 10_000), equal=st.sampled_from([0.0, 0.5, 0.99, 1.0]))
def test_differing_codes(seed, equal):
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 256, (2, 64)).astype(np.uint8)
    b = np.where(random.random(64) < equal, a, b)
    assert _native.locust_differing(a, b) == sum(1 << j for j in range(64) if a[j] != b[j])


def test_many_values_are_sorted_by_their_bits():
    column = np.random.default_rng(0).normal(size=5000).astype(np.float32) * np.float32(1e20)
    cuts, codes = _native.locust_ranges(column, 100, False)
    assert np.array_equal(cuts, np.array(Ranges(column[:, None], 100).cuts[0]))
    assert np.bincount(codes).tolist() == [50] * 100
