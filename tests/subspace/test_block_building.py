"""Building a block in steps: the same blocks as at once, some records later."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anystream import ModelFileError, load
from anystream.model_file import read_model, write_model
from anystream.subspace import BlockLocustClassifier, LocustClassifier

pytestmark = pytest.mark.filterwarnings("ignore:.*cannot be mapped:RuntimeWarning")


def records(seed, n, d=3, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.normal(size=(n, d)) + y[:, np.newaxis]
    X[:, 0] = np.round(X[:, 0])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def learn_each(model, X, y):
    """Yield the model after each record."""
    for row, label in zip(X, y, strict=True):
        yield model.partial_fit(row[np.newaxis], [label], classes=range(3))


def arrays_equal(left, right):
    ours, theirs = left.model_.arrays(), right.model_.arrays()
    return all(np.array_equal(ours[name], theirs[name], equal_nan=True) for name in ours)


def blocks_of(model):
    """Return what queries read: sizes, cuts, codes, classes and middles of the blocks."""
    arrays = model.model_.arrays()
    return [arrays[name].tobytes() for name in ("block_size", "cut", "cut_end", "code", "point_class", "middle")]


def published_after(block_size, build_within, n):
    """Return the sizes of the blocks after each of n records, without decay: the plain rule, record by record."""
    closed, used, size, built, building, full = [], 0, 0, 0, None, None
    sizes = []
    for _ in range(n):
        if size == block_size and full is None and building is None:  # built at once
            closed.append(used)
            size = used = built = 0
        size += 1
        if building:
            building[1] -= 1
        if building and building[1] == 0:
            if full is not None:
                closed[-1], full = building[0], None
            else:
                used = building[0]
            building = None
        large_enough = (not closed) or 16 * size >= block_size
        if size == block_size or (large_enough and size >= 2 * built):
            steps = max(1, min(build_within, size // 16))
            built, building = size, [size, steps - 1]
            if steps == 1:
                used, building = size, None
            elif size == block_size:
                closed.append(used)
                full, size, used, built = True, 0, 0, 0
        sizes.append([*closed, *([used] if used else [])])
    return sizes


@settings(max_examples=12, deadline=None)
@given(block_size=st.integers(2, 200), build_within=st.integers(0, 20), seed=st.integers(0, 1000))
def test_a_block_is_used_when_its_building_ends(block_size, build_within, seed):
    X, y = records(seed, 450)
    model = BlockLocustClassifier(block_size=block_size, build_within=build_within, decay=0.0, max_blocks=1000)
    found = [list(each.model_.block_sizes) for each in learn_each(model, X, y)]
    assert found == published_after(block_size, build_within, 450)


@settings(max_examples=12, deadline=None)
@given(
    block_size=st.integers(32, 200),
    build_within=st.integers(2, 20),
    n=st.integers(1, 500),
    categorical=st.sampled_from([None, [0]]),
)
def test_a_block_built_in_steps_equals_one_built_at_once(block_size, build_within, n, categorical):
    X, y = records(n, n)
    parameters = {"block_size": block_size, "categorical": categorical}
    spread = BlockLocustClassifier(build_within=build_within, **parameters).partial_fit(X, y, classes=range(3))
    spread.model_.finish_building()
    at_once = BlockLocustClassifier(build_within=0, **parameters).partial_fit(X, y, classes=range(3))
    assert blocks_of(spread) == blocks_of(at_once)
    assert np.array_equal(spread.predict_proba(X), at_once.predict_proba(X))


@pytest.mark.parametrize("categorical", [None, [0]])
def test_a_batch_equals_its_records_one_by_one_in_the_middle_of_buildings(categorical):
    X, y = records(1, 700)
    parameters = {"block_size": 160, "build_within": 8, "categorical": categorical}
    singly, building = BlockLocustClassifier(**parameters), 0
    batches = BlockLocustClassifier(**parameters)
    for first, last in ((0, 1), (1, 162), (162, 325), (325, 326), (326, 483), (483, 700)):
        for _ in learn_each(singly, X[first:last], y[first:last]):
            pass
        batches.partial_fit(X[first:last], y[first:last], classes=range(3))
        building += singly.model_.is_building
        assert arrays_equal(singly, batches)
    assert building > 1


def test_a_model_learns_the_same_after_a_file_or_a_pickle_at_every_step_of_a_building(tmp_path):
    X, y = records(2, 420)
    model = BlockLocustClassifier(block_size=160, build_within=10)
    kinds = set()
    for i, _ in enumerate(learn_each(model, X[:380], y[:380])):
        if not model.model_.is_building:
            continue
        kinds.add(len(model.model_.arrays()["full_class"]) > 0)
        model.save(tmp_path / "model.safetensors")
        reference = pickle.loads(pickle.dumps(model)).partial_fit(X[i + 1 : i + 41], y[i + 1 : i + 41])
        for twin in (load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model)), model.snapshot()):
            assert arrays_equal(twin, model)
            for _ in learn_each(twin, X[i + 1 : i + 41], y[i + 1 : i + 41]):
                pass
            assert arrays_equal(twin, reference)
    assert kinds == {False, True}


def test_fit_ends_with_everything_built():
    X, y = records(3, 163)
    parameters = {"block_size": 160, "calibrate": False}
    spread = BlockLocustClassifier(build_within=10, **parameters)
    assert spread.clone().partial_fit(X, y).model_.is_building
    assert not spread.fit(X, y).model_.is_building
    assert blocks_of(spread) == blocks_of(BlockLocustClassifier(build_within=0, **parameters).fit(X, y))


def test_a_snapshot_does_not_take_part_in_a_building_that_goes_on():
    X, y = records(4, 199)
    model = BlockLocustClassifier(block_size=160, build_within=10).partial_fit(X[:161], y[:161])
    before = model.snapshot()
    proba = before.predict_proba(X)
    model.partial_fit(X[161:], y[161:])
    assert before.model_.is_building
    assert not model.model_.is_building
    assert np.array_equal(before.predict_proba(X), proba)


def test_features_may_appear_in_the_middle_of_a_building():
    X, y = records(5, 400)
    for built in (161, 321, 131):  # a full block twice, and points of the open one
        model = BlockLocustClassifier(block_size=160, build_within=10)
        narrow, wide = ([dict(enumerate(row[:d])) for row in X.tolist()] for d in (2, 3))
        for record, label in zip(narrow[:built], y[:built].tolist(), strict=True):
            model.learn_one(record, label)
        assert model.model_.is_building
        at_once = BlockLocustClassifier(block_size=160, build_within=0)
        for record, label in zip(narrow[:built], y[:built].tolist(), strict=True):
            at_once.learn_one(record, label)
        for each in (model, at_once):
            for record, label in zip(wide[built:], y[built:].tolist(), strict=True):
                each.learn_one(record, label)
            each.model_.finish_building()
        assert np.allclose(model.predict_proba(X), at_once.predict_proba(X))


def test_merging_takes_the_exact_points_of_a_full_block_that_is_being_built():
    X, y = records(6, 161)
    parts = [BlockLocustClassifier(block_size=160, build_within=b).partial_fit(X, y) for b in (10, 0)]
    assert parts[0].model_.is_building
    merged = BlockLocustClassifier.merge(parts[:1])
    assert merged.model_.block_sizes == [160]
    assert not merged.model_.is_building


def test_memory_stays_below_its_bound_during_a_building():
    X, y = records(7, 3000, d=20)
    model = BlockLocustClassifier(block_size=500, max_bytes=250_000)
    for first in range(0, 3000, 10):
        model.partial_fit(X[first : first + 10], y[first : first + 10], classes=range(3))
        assert model.memory_bytes_ <= 250_000


def test_damaged_buildings_are_rejected(tmp_path):
    path = tmp_path / "model.safetensors"
    X, y = records(8, 200)
    for n in (162, 131):
        model = BlockLocustClassifier(block_size=160, build_within=10, calibrate=False).partial_fit(X[:n], y[:n])
        model.save(path)
        sound = read_model(path)
        state = sound.arrays["state"]
        damages = [{"state": np.r_[state[:4], steps]} for steps in (1, 2, 11, 10**15)]
        if n == 162:
            full = {name: sound.arrays[name] for name in ("full_value", "full_class")}
            damages += [
                {"state": np.r_[state[:4], 0]},
                {"state": np.r_[state[:3], 1, state[4]]},
                {name: array[:-1] for name, array in full.items()},
                {name: array[:0] for name, array in full.items()},
                {"full_class": full["full_class"] + 100},
                {"full_value": np.full_like(full["full_value"], np.inf)},
            ]
        for damage in damages:
            arrays = sound.arrays | damage
            write_model(path, kind=sound.kind, version=sound.version, metadata=sound.metadata, arrays=arrays)
            with pytest.raises(ModelFileError):
                load(path)


def test_the_paper_builds_at_once():
    assert LocustClassifier.paper().build_within == 0
    with pytest.raises(ValueError, match="build_within is -1"):
        BlockLocustClassifier(build_within=-1).fit(*records(0, 20))
