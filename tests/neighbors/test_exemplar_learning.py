"""Learning further records: the exemplars stay ordered, windows evict the oldest, and exhausted results stay exact."""

import resource
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbors_cases import make_stream, squared_distances

from anystream.neighbors import AnytimeNeighborsClassifier, classifier

STATM = Path("/proc/self/statm")


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    first=st.integers(1, 60),
    more=st.integers(0, 120),
    window=st.sampled_from([None, 1, 7, 50]),
    search=st.sampled_from(["ordered", "inverted"]),
)
def test_exemplars_are_the_records_learned_and_exhausted_results_are_exact(seed, first, more, window, search):
    X, y = make_stream(seed, first + more)
    model = AnytimeNeighborsClassifier(window=window, search=search, ordering="simple_rank").fit(X[:first], y[:first])
    if more:
        model.partial_fit(X[first:], y[first:])
    records, labels, serials = model.exemplars_.export()
    size = len(X) if window is None else min(window, len(X))
    kept = np.sort(serials)
    assert len(kept) == size
    assert np.array_equal(np.diff(kept), np.ones(size - 1))  # the newest, without a gap
    shift = len(X) - 1 - kept[-1]  # fit drops records beyond the window before they get a serial
    assert np.array_equal(records, X[serials + shift])
    assert np.array_equal(model.classes_[labels], y[serials + shift])
    setup = model.exemplars_.setup
    assert sorted(labels[:setup]) == sorted(set(labels.tolist()))  # one of each class in front
    Q, _ = make_stream(seed + 1, 20)
    newest = X[len(X) - size :]
    plain = squared_distances(Q, newest).argmin(axis=1)
    assert np.array_equal(model.predict(Q, budget=10**6), y[len(X) - size :][plain])


def test_a_new_exemplar_is_inserted_early_if_it_helps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 5).astype(int)
    X[:4], y[:4] = [[30.0, 0.0], [31.0, 0.0], [0.0, 0.0], [0.1, 0.0]], [1, 1, 0, 0]
    model = AnytimeNeighborsClassifier(ordering="simple_rank").fit(X, y)
    island = np.array([[9.0, 9.0], [9.1, 9.0], [9.0, 9.1], [9.1, 9.1], [9.2, 9.0], [9.0, 9.2]])
    model.partial_fit(island, np.ones(6, int))
    serials = model.exemplars_.export().serials.tolist()
    assert min(serials.index(400 + i) for i in range(6)) < 40  # not behind all 400
    assert model.predict([[9.05, 9.05]], budget=40).tolist() == [1]


def test_a_growing_stream_is_ordered_again_whatever_its_batches():
    X, y = make_stream(3, 700, classes=8)
    Q, truth = make_stream(3, 3000, classes=8)
    early = {}
    for ordering in ("simple_rank", "random"):
        model = AnytimeNeighborsClassifier(ordering=ordering)
        for first in range(0, 700, 100):
            model.partial_fit(X[first : first + 100], y[first : first + 100])
        early[ordering] = (model.predict(Q, budget=16) == truth).mean()
        at_once = AnytimeNeighborsClassifier(ordering=ordering).partial_fit(X, y)
        for mine, other in zip(model.exemplars_.export(), at_once.exemplars_.export(), strict=True):
            assert np.array_equal(mine, other)  # whatever the batches
    assert early["simple_rank"] > early["random"] + 0.02


@pytest.mark.parametrize("parameters", [{}, {"metric": "rotation"}, {"search": "inverted"}])
def test_memory_stays_within_max_bytes(parameters):
    model = AnytimeNeighborsClassifier(max_bytes=200_000, **parameters)
    for seed in range(6):
        model.partial_fit(*make_stream(seed, 400, d=4))
        assert model.memory_bytes_ <= 200_000
    assert len(model.exemplars_) > 150


def test_a_class_that_is_learned_between_two_reads_of_a_call_does_not_disturb_it(monkeypatch):
    from anystream.neighbors import exemplars

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    model = AnytimeNeighborsClassifier(search="inverted", window=50).fit(X, y)
    expected = model.predict_proba(X)
    fill_batch = exemplars.fill_batch

    def learn_before(*arguments):
        model.partial_fit(X[:3], [7, 8, 9])
        return fill_batch(*arguments)

    monkeypatch.setattr(exemplars, "fill_batch", learn_before)
    assert np.array_equal(model.predict_proba(X), expected)


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_THREAD"), reason="counts page faults of a thread on Linux")
@pytest.mark.parametrize("search", ["ordered", "inverted"])
def test_no_record_waits_until_all_others_are_written_again(search):
    X, y = make_stream(0, 36_000, d=16)
    model = AnytimeNeighborsClassifier(search=search).partial_fit(X[:30_000], y[:30_000])
    faults = []
    for x, label in zip(X[30_000:].tolist(), y[30_000:].tolist(), strict=True):  # 32,768 is twice the size of a frame
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        model.learn_one(dict(enumerate(x)), label)
        faults.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)
    # A copy of the records writes all their pages, 937 of 4 kB; what allocators do beside learning stays far below.
    assert max(faults) < X[:30_000].nbytes / resource.getpagesize() / 2


@pytest.mark.skipif(not STATM.exists(), reason="reads the pages of a process on Linux")
def test_memory_of_replaced_lists_is_freed_in_portions():
    X, y = make_stream(0, 14_000, d=128)
    model = AnytimeNeighborsClassifier(search="inverted").partial_fit(X[:12_000], y[:12_000])
    pages = []
    for x, label in zip(X[12_000:].tolist(), y[12_000:].tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), label)
        pages.append(int(STATM.read_text().split()[1]))
    freed = -np.diff(pages) * resource.getpagesize()
    # Others free memory meanwhile, an allocator of a sanitizer for example: only the portions of 1 MB are counted.
    portions = np.count_nonzero((freed > 0.9e6) & (freed < 1.2e6))
    assert portions * 2**20 > 0.6 * X[:12_000].nbytes  # of new lists that replaced the first ones; 0 if freed at once


def test_learning_without_a_bound_warns_once(monkeypatch):
    monkeypatch.setattr(classifier, "MANY_EXEMPLARS", 50)
    X, y = make_stream(0, 120)
    model = AnytimeNeighborsClassifier().fit(X[:40], y[:40])
    records = [dict(enumerate(x)) for x in X]
    for record, label in zip(records[40:49], y[40:49], strict=True):
        model.learn_one(record, label)
    with pytest.warns(UserWarning, match=r"holds 50 exemplars .* use window=… or max_bytes=…"):
        model.learn_one(records[49], y[49])
    with warnings.catch_warnings(action="error"):
        model.partial_fit(X[50:], y[50:])


def test_learning_within_a_bound_does_not_warn(monkeypatch, recwarn):
    monkeypatch.setattr(classifier, "MANY_EXEMPLARS", 50)
    X, y = make_stream(0, 120)
    AnytimeNeighborsClassifier(window=60).fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    assert not [warning for warning in recwarn if "exemplars" in str(warning.message)]
