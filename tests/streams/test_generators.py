"""Every generator keeps the promises of `GeneratedStream`; each follows its own rule."""

import pickle
from dataclasses import FrozenInstanceError, replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anystream.streams import SEA, JapaneseFlag, MovingGaussians, RandomRBF, Sine
from anystream.streams.generated import BLOCK

N = 2 * BLOCK + 100  # three blocks, the last one cut

CONCEPTS = {
    SEA: st.floats(0.5, 19.5),
    Sine: st.sampled_from(["sine1", "sine1_reversed", "sine2", "sine2_reversed"]),
    MovingGaussians: st.sampled_from(["plain", "swapped"]),
    JapaneseFlag: st.floats(0.05, 0.7),
    RandomRBF: st.integers(0, 2**40),
}


POSITIONS = st.integers(1, N - 1) | st.sampled_from([BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])
NOISE = st.sampled_from([0.0, 0.1, 0.5])


@st.composite
def streams(draw, kinds=tuple(CONCEPTS), noise=NOISE):
    kind = draw(st.sampled_from(kinds))
    drifts = sorted(draw(st.sets(POSITIONS, max_size=4)))
    concepts = draw(st.lists(CONCEPTS[kind], min_size=len(drifts) + 1, max_size=len(drifts) + 1))
    shape = {}
    if kind is RandomRBF:
        shape = {
            "n_features": draw(st.integers(1, 5)),
            "n_classes": draw(st.integers(2, 4)),
            "n_centers": draw(st.integers(4, 9)),
            "speed": draw(st.sampled_from([0.0, 0.001, 0.5])),
        }
    seed = draw(st.integers(0, 2**70))
    return kind(concepts=concepts, drifts=drifts, noise=draw(noise), seed=seed, n_records=N, **shape)


def same(a, b):
    return all(np.array_equal(left, right) for left, right in zip(a, b, strict=True))


def segments(stream):
    bounds = [0, *stream.drifts, N]
    return zip(stream.concepts, bounds[:-1], bounds[1:], strict=True)


@settings(deadline=None)
@given(stream=streams(), size=st.integers(1, N + 10), start=st.integers(0, N - 1))
def test_the_content_depends_neither_on_the_size_of_the_batches_nor_on_the_start(stream, size, start):
    size = max(size, N // 50)
    X, y = stream.take(N)
    batches = list(stream.batches(size, start=start))
    assert all(len(y) == size for _, y in batches[:-1])
    assert 1 <= len(batches[-1][1]) <= size
    joined = tuple(np.concatenate(part) for part in zip(*batches, strict=True))
    assert same(joined, (X[start:], y[start:]))
    assert same(stream.take(N - start, start=start), (X[start:], y[start:]))


@settings(deadline=None)
@given(stream=streams(), start=st.integers(0, N - 1))
def test_records_are_the_batches_flattened(stream, start):
    X, y = stream.take(N)
    records = list(stream.records(start=start))
    assert np.array_equal([x for x, _ in records], X[start:])
    assert [label for _, label in records] == y[start:].tolist()
    assert all(type(label) is int for _, label in records)


def test_single_record_batches_are_the_stream():
    stream = SEA(seed=4, noise=0.2, n_records=200)
    joined = tuple(np.concatenate(part) for part in zip(*stream.batches(1), strict=True))
    assert same(joined, stream.take(200))


@settings(deadline=None)
@given(stream=streams())
def test_shapes_types_and_labels_are_as_told(stream):
    X, y = next(stream.batches(50))
    assert X.shape == (50, stream.n_features)
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert y.shape == (50,)
    assert y.dtype == np.int64
    assert np.isin(stream.take(N)[1], stream.classes).all()
    assert stream.classes.tolist() == list(range(stream.n_classes))


@settings(deadline=None)
@given(stream=streams(), other=st.integers(1, 2**70))
def test_the_seed_is_the_stream(stream, other):
    again = pickle.loads(pickle.dumps(stream))
    assert again == stream
    assert hash(again) == hash(stream)
    assert same(again.take(100, start=BLOCK - 50), stream.take(100, start=BLOCK - 50))
    different = replace(stream, seed=stream.seed + other)
    assert not np.array_equal(different.take(10)[0], stream.take(10)[0])


@settings(deadline=None)
@given(stream=streams(), n_records=st.integers(1, N))
def test_a_finite_stream_is_the_beginning_of_the_endless_one(stream, n_records):
    kept = [at for at in stream.drifts if at < n_records]
    finite = replace(stream, n_records=n_records, drifts=kept, concepts=stream.concepts[: len(kept) + 1])
    endless = replace(stream, n_records=None)
    assert same(finite.take(n_records), endless.take(n_records))
    assert sum(1 for _ in finite.records()) == n_records
    assert sum(len(y) for _, y in finite.batches(777)) == n_records


def test_an_endless_stream_goes_on():
    stream = Sine(seed=1)
    assert len(list(islice(stream.batches(3000), 10))) == 10
    assert len(list(islice(stream.records(start=10**12), 10))) == 10


@settings(deadline=None)
@given(stream=streams())
def test_each_concept_holds_from_its_drift_to_the_next(stream):
    X, y = stream.take(N)
    for concept, first, last in segments(stream):
        only = replace(stream, concepts=[concept], drifts=())
        assert same(only.take(last - first, start=first), (X[first:last], y[first:last]))
        assert stream.concept_at(first) == stream.concept_at(last - 1) == concept


@settings(deadline=None)
@given(stream=streams(noise=st.just(0.0)), noise=st.sampled_from([0.05, 0.3, 1.0]))
def test_noise_wrongs_its_share_of_the_labels_and_nothing_else(stream, noise):
    X, y = stream.take(N)
    noisy_X, noisy_y = replace(stream, noise=noise).take(N)
    assert np.array_equal(noisy_X, X)
    wrong = noisy_y != y
    assert abs(wrong.mean() - noise) <= 6 * np.sqrt(noise * (1 - noise) / N)


def test_a_wrong_label_is_any_other_class():
    stream = RandomRBF(n_classes=4, noise=1.0, seed=2, n_records=N)
    _, y = replace(stream, noise=0.0).take(N)
    _, noisy = stream.take(N)
    shift = np.bincount((noisy - y) % 4, minlength=4)
    assert shift[0] == 0
    assert shift[1:].min() > 0.9 * N / 3


@settings(deadline=None)
@given(stream=streams(noise=st.just(0.0), kinds=(SEA, Sine, JapaneseFlag)))
def test_labels_follow_the_rule_exactly(stream):
    rules = {
        SEA: lambda X, theta: ~(X[:, 0] + X[:, 1] <= theta),
        JapaneseFlag: lambda X, radius: np.hypot(X[:, 0] - 0.5, X[:, 1] - 0.5) < radius,
        Sine: lambda X, concept: (
            {
                "sine1": X[:, 1] < np.sin(X[:, 0]),
                "sine2": X[:, 1] < 0.5 + 0.3 * np.sin(3 * np.pi * X[:, 0]),
            }[concept.removesuffix("_reversed")]
            ^ concept.endswith("_reversed")
        ),
    }
    X, y = stream.take(N)
    for concept, first, last in segments(stream):
        assert np.array_equal(rules[type(stream)](X[first:last], concept), y[first:last])


@pytest.mark.parametrize(("stream", "top"), [(SEA(), 10.0), (Sine(), 1.0), (JapaneseFlag(), 1.0)])
def test_points_are_spread_evenly(stream, top):
    X, _ = stream.take(50_000)
    assert X.min() >= 0.0
    assert X.max() < top
    for column in X.T:
        counts, _ = np.histogram(column, bins=10, range=(0.0, top))
        assert abs(counts - 5000).max() < 6 * np.sqrt(5000 * 0.9)


def test_gaussians_have_the_means_and_deviations_of_the_paper():
    X, y = MovingGaussians(seed=9).take(200_000)
    narrow, wide = X[y == 1], X[y == 0]
    assert abs(y.mean() - 0.5) < 0.01
    assert np.abs(narrow.mean(axis=0)).max() < 0.02
    assert np.abs(wide.mean(axis=0) - [2.0, 0.0]).max() < 0.06
    assert np.abs(np.cov(narrow.T) - np.eye(2)).max() < 0.03
    assert np.abs(np.cov(wide.T) - 16 * np.eye(2)).max() < 0.4


def test_the_bayes_rule_of_the_gaussians_errs_on_a_tenth():
    X, y = MovingGaussians(seed=10).take(200_000)
    log_narrow = -0.5 * (X**2).sum(axis=1)
    log_wide = -0.5 * (((X - [2.0, 0.0]) / 4.0) ** 2).sum(axis=1) - 2 * np.log(4.0)
    assert abs(((log_narrow > log_wide) != y).mean() - 0.1) < 0.004


@settings(deadline=None)
@given(seed=st.integers(0, 1000))
def test_swapping_exchanges_the_labels_and_moves_no_point(seed):
    X, y = MovingGaussians(seed=seed).take(500)
    swapped_X, swapped_y = MovingGaussians(concepts=["swapped"], seed=seed).take(500)
    assert np.array_equal(X, swapped_X)
    assert np.array_equal(y, 1 - swapped_y)


@settings(deadline=None)
@given(stream=streams(kinds=(RandomRBF,), noise=st.just(0.0)), start=st.integers(0, 10**6))
def test_rbf_records_lie_at_the_centres_of_their_time_when_nothing_spreads(stream, start):
    stream = replace(stream, spread=0.0, n_records=None)
    X, y = stream.take(20, start=start)
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        here = stream.components_at(start + i)
        distance = np.linalg.norm(here.centers - x, axis=1)
        assert distance.min() < 1e-9
        assert label in here.labels[distance < 1e-9]
        assert here.centers.min() >= 0.0
        assert here.centers.max() <= 1.0


def test_rbf_centres_give_their_weight_and_spread_by_their_deviation():
    stream = RandomRBF(concepts=[3], n_features=6, n_centers=4, spread=0.01, seed=1)
    here = stream.components_at(0)
    X, y = stream.take(100_000)
    distance = np.linalg.norm(X[:, np.newaxis] - here.centers, axis=2)
    chosen = distance.argmin(axis=1)
    assert np.abs(np.bincount(chosen, minlength=4) / len(X) - here.weights).max() < 0.01
    assert np.array_equal(here.labels[chosen], y)
    for k in range(4):
        spread = np.sqrt((distance[chosen == k, k] ** 2).mean())
        assert spread == pytest.approx(here.deviations[k], rel=0.05)
    assert here.weights.sum() == pytest.approx(1.0)


def test_rbf_centres_wander_at_their_speed_and_bounce():
    stream = RandomRBF(n_features=3, n_centers=20, speed=0.01)
    here = np.array([stream.components_at(t).centers for t in range(500)])
    step = np.linalg.norm(np.diff(here, axis=0), axis=2)
    assert step.max() <= 0.01 + 1e-12
    inside = (here[:-1] > 0.01).all(axis=2) & (here[:-1] < 0.99).all(axis=2)  # no wall within a step
    assert step[inside] == pytest.approx(0.01)
    assert not inside.all()


def test_rbf_streams_of_one_concept_share_their_centres():
    first, second = RandomRBF(concepts=[5], seed=1), RandomRBF(concepts=[5], seed=2)
    other = RandomRBF(concepts=[6], seed=1)
    assert np.array_equal(first.components_at(0).centers, second.components_at(7).centers)
    assert not np.array_equal(first.components_at(0).centers, other.components_at(0).centers)
    with pytest.raises(ValueError, match="read-only"):
        first.components_at(0).centers[:] = 0.0


def test_changing_a_batch_changes_no_other_batch():
    stream = RandomRBF(seed=3, n_records=1000)
    whole = stream.take(1000)
    batches = stream.batches(100)
    X, y = next(batches)
    X[:], y[:] = -1.0, -1
    assert same(next(batches), (whole[0][100:200], whole[1][100:200]))
    assert same(stream.take(1000), whole)


def test_streams_are_frozen_and_keep_what_they_were_given_as_tuples():
    drifts = [10]
    stream = SEA(concepts=np.array([7, 9]), drifts=drifts, seed=np.int64(3))
    drifts.append(20)
    assert stream == SEA(concepts=(7.0, 9.0), drifts=(10,), seed=3)
    with pytest.raises(FrozenInstanceError):
        stream.seed = 4


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SEA(seed=-1), ValueError, "seed is -1; give a whole number of at least 0"),
        (lambda: SEA(seed=1.5), TypeError, "seed is 1.5"),
        (lambda: SEA(seed=None), TypeError, "seed is None"),
        (lambda: SEA(noise=1.2), ValueError, "noise is 1.2; give the share of wrong labels"),
        (lambda: SEA(noise=float("nan")), ValueError, "noise is nan"),
        (lambda: SEA(noise="0.1"), TypeError, "noise is '0.1'"),
        (lambda: SEA(n_records=0), ValueError, "n_records is 0"),
        (lambda: SEA(n_records=True), TypeError, "n_records is True"),
        (lambda: SEA(concepts=8.0), TypeError, r"concepts is 8.0; give a list or tuple, \(8.0,\)"),
        (lambda: SEA(concepts=(20,)), ValueError, "a SEA concept is 20.0, which leaves one class"),
        (lambda: SEA(concepts=(25,)), ValueError, "a SEA concept is 25; give a threshold between 0 and 20"),
        (lambda: SEA(concepts=("7",)), TypeError, "a SEA concept is '7'"),
        (lambda: SEA(concepts=()), ValueError, "0 concepts and 0 drifts; give one concept more"),
        (lambda: SEA(concepts=(7, 9)), ValueError, "2 concepts and 0 drifts"),
        (lambda: SEA(drifts=(5,)), ValueError, "1 concepts and 1 drifts"),
        (lambda: SEA(concepts=(7, 9), drifts=(0,)), ValueError, "a position in drifts is 0"),
        (lambda: SEA(concepts=(7, 9, 7), drifts=(9, 9)), ValueError, "drifts has 9 after 9"),
        (lambda: SEA(concepts=(7, 9), drifts=(50,), n_records=50), ValueError, "the drift at 50 lies past"),
        (lambda: Sine(concepts="sine1"), TypeError, "concepts is 'sine1'; give a list"),
        (lambda: Sine(concepts=("sine3",)), ValueError, "'sine3'; give one of sine1, sine1_reversed"),
        (lambda: MovingGaussians(concepts=("reversed",)), ValueError, "give one of plain, swapped"),
        (lambda: JapaneseFlag(concepts=(0.8,)), ValueError, "0.8; give a radius above 0 and below 0.7071"),
        (lambda: JapaneseFlag(concepts=(0,)), ValueError, "leaves one class"),
        (lambda: RandomRBF(concepts=(-1,)), ValueError, "a RandomRBF concept is -1"),
        (lambda: RandomRBF(n_classes=1), ValueError, "n_classes is 1"),
        (lambda: RandomRBF(n_features=0), ValueError, "n_features is 0"),
        (lambda: RandomRBF(n_classes=5, n_centers=4), ValueError, "4 centers for 5 classes"),
        (lambda: RandomRBF(spread=-1), ValueError, "spread is -1"),
        (lambda: RandomRBF(speed=2), ValueError, "speed is 2"),
        (lambda: SEA().batches(0), ValueError, "size is 0"),
        (lambda: SEA().batches(10, start=-1), ValueError, "start is -1"),
        (lambda: SEA().records(start=0.5), TypeError, "start is 0.5"),
        (lambda: SEA().take(0), ValueError, "n is 0"),
        (lambda: SEA(n_records=5).take(4, start=2), ValueError, "records 2 to 5 asked of a stream of 5"),
        (lambda: SEA().concept_at(-1), ValueError, "position is -1"),
    ],
)
def test_a_bad_parameter_is_named_with_its_value(make, error, message):
    with pytest.raises(error, match=message):
        make()
