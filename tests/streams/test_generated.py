"""Properties that every generator inherits from `GeneratedStream`."""

import pickle
from dataclasses import FrozenInstanceError, replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.streams import SEA, RandomRBF, Sine
from anystream.streams.generated import BLOCK_SIZE
from streams.drawn_streams import N, equal, segments, streams


@given(stream=streams(), size=st.integers(1, N + 10), start=st.integers(0, N - 1))
def test_the_content_depends_neither_on_the_size_of_the_batches_nor_on_the_start(stream, size, start):
    size = max(size, N // 50)
    X, y = stream.take(N)
    batches = list(stream.batches(size, start=start))
    assert all(len(y) == size for _, y in batches[:-1])
    assert 1 <= len(batches[-1][1]) <= size
    joined = tuple(np.concatenate(part) for part in zip(*batches, strict=True))
    assert equal(joined, (X[start:], y[start:]))
    assert equal(stream.take(N - start, start=start), (X[start:], y[start:]))


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
    assert equal(joined, stream.take(200))


@given(stream=streams())
def test_shapes_types_and_labels_are_as_documented(stream):
    X, y = next(stream.batches(50))
    assert X.shape == (50, stream.n_features)
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert y.shape == (50,)
    assert y.dtype == np.int64
    assert np.isin(stream.take(N)[1], stream.classes).all()
    assert stream.classes.tolist() == list(range(stream.n_classes))


@given(stream=streams(), other=st.integers(1, 2**70))
def test_the_seed_determines_the_stream(stream, other):
    restored = pickle.loads(pickle.dumps(stream))
    assert restored == stream
    assert hash(restored) == hash(stream)
    assert equal(restored.take(100, start=BLOCK_SIZE - 50), stream.take(100, start=BLOCK_SIZE - 50))
    different = replace(stream, seed=stream.seed + other)
    assert not np.array_equal(different.take(10)[0], stream.take(10)[0])


@given(stream=streams(), n_records=st.integers(1, N))
def test_a_finite_stream_is_the_beginning_of_the_endless_one(stream, n_records):
    kept = [at for at in stream.drifts if at < n_records]
    finite = replace(stream, n_records=n_records, drifts=kept, concepts=stream.concepts[: len(kept) + 1])
    endless = replace(stream, n_records=None)
    assert equal(finite.take(n_records), endless.take(n_records))
    assert sum(1 for _ in finite.records()) == n_records
    assert sum(len(y) for _, y in finite.batches(777)) == n_records


def test_an_endless_stream_can_be_read_anywhere():
    stream = Sine(seed=1)
    assert len(list(islice(stream.batches(3000), 10))) == 10
    assert len(list(islice(stream.records(start=10**12), 10))) == 10


@given(stream=streams())
def test_each_concept_holds_from_its_drift_to_the_next(stream):
    X, y = stream.take(N)
    for concept, first, last in segments(stream):
        only = replace(stream, concepts=[concept], drifts=())
        assert equal(only.take(last - first, start=first), (X[first:last], y[first:last]))
        assert stream.concept_at(first) == stream.concept_at(last - 1) == concept


@given(stream=streams(noise=st.just(0.0)), noise=st.sampled_from([0.05, 0.3, 1.0]))
def test_noise_changes_its_share_of_the_labels_and_nothing_else(stream, noise):
    X, y = stream.take(N)
    noisy_X, noisy_y = replace(stream, noise=noise).take(N)
    assert np.array_equal(noisy_X, X)
    wrong = noisy_y != y
    assert abs(wrong.mean() - noise) <= 6 * np.sqrt(noise * (1 - noise) / N)


def test_a_wrong_label_is_any_other_class_with_equal_probability():
    stream = RandomRBF(n_classes=4, noise=1.0, seed=2, n_records=N)
    _, y = replace(stream, noise=0.0).take(N)
    _, noisy = stream.take(N)
    shift = np.bincount((noisy - y) % 4, minlength=4)
    assert shift[0] == 0
    assert shift[1:].min() > 0.9 * N / 3


def test_changing_a_batch_changes_no_other_batch():
    stream = RandomRBF(seed=3, n_records=1000)
    whole = stream.take(1000)
    batches = stream.batches(100)
    X, y = next(batches)
    X[:], y[:] = -1.0, -1
    assert equal(next(batches), (whole[0][100:200], whole[1][100:200]))
    assert equal(stream.take(1000), whole)


def test_streams_are_frozen_and_copy_their_parameters_into_tuples():
    drifts = [10]
    stream = SEA(concepts=np.array([7, 9]), drifts=drifts, seed=np.int64(3))
    drifts.append(20)
    assert stream == SEA(concepts=(7.0, 9.0), drifts=(10,), seed=3)
    with pytest.raises(FrozenInstanceError):
        stream.seed = 4
