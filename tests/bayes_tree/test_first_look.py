"""The first look: the answer before the first step, from a linear discriminant over features and their squares."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream import BayesTreeClassifier, Budget, ModelFileError, StopToken, check_anytime_classifier, load
from anystream.bayes_tree.first_look import FirstLook, learn_first_look, wants_first_look
from anystream.model_file import read_model, write_model
from bayes_tree.plain import plain
from reference.first_look import first_look_discriminant, first_look_proba, first_look_scores

D = 33


def clusters(n=240, d=D, n_classes=3, seed=0):
    """Return overlapping classes that differ in means and in variances."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return random.normal(size=(n, d)) * (1 + 0.3 * y[:, np.newaxis]) + 0.4 * y[:, np.newaxis], y


@pytest.fixture(scope="module")
def fitted():
    """Return two models that differ in the first look alone, calibrated."""
    X, y = clusters()
    return [BayesTreeClassifier(metric=None, first_look=look).fit(X, y) for look in ("auto", False)]


def random_look(random, d, n_classes):
    def numbers(*shape):
        return random.normal(size=shape).astype(np.float32)

    shift, factor = random.normal(size=d), random.uniform(0.1, 3, size=d)
    return FirstLook(shift, factor, numbers(d), numbers(2 * d, n_classes), numbers(n_classes), 0.7, 0.1)


@given(seed=st.integers(0, 10**6), d=st.integers(1, 70), n_classes=st.integers(1, 40), n=st.integers(1, 9))
def test_scores_equal_the_plain_sums(seed, d, n_classes, n):
    random = np.random.default_rng(seed)
    look = random_look(random, d, n_classes)
    records = random.normal(scale=random.choice([1.0, 10.0, 1e200]), size=(n, d))
    records[random.random((n, d)) < 0.2] = np.nan
    scores = look.scores(records)
    np.testing.assert_allclose(scores, first_look_scores(look, records), rtol=1e-4, atol=1e-3)
    assert np.array_equal(scores[:1], look.scores(records[:1].copy()))  # whatever the other records are


@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 12), d=st.integers(1, 12))
def test_learning_equals_the_plain_discriminant(seed, n_classes, d):
    random = np.random.default_rng(seed)
    X, y = clusters(60, d, n_classes, seed)
    X[random.random(X.shape) < 0.05] = np.nan
    look = learn_first_look(X, y.astype(np.int32), n_classes, calibrate=False)
    expected = first_look_discriminant(X, y, n_classes)
    found = first_look_proba(look.scores(X).astype(float))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_before_the_first_step_the_look_answers_and_later_steps_are_those_without_it(fitted):
    looking, plain_model = fitted
    Q, _ = clusters(400, seed=1)
    Q[::7, 4] = np.nan
    look = looking.first_look_
    expected = first_look_proba(first_look_scores(look, Q), look.sharpness, look.floor)
    np.testing.assert_allclose(looking.predict_proba(Q, budget=0), expected, rtol=1e-4, atol=1e-5)
    first = looking.classify(Q, budget=0)
    assert not first.certified.any()
    assert not first.steps.any()
    for steps in (1, 2, 9, 60, 10**6):
        answer, without = looking.classify(Q, budget=steps), plain_model.classify(Q, budget=steps - 1)
        assert np.array_equal(answer.proba, without.proba)
        assert np.array_equal(answer.steps, without.steps + 1)
        assert np.array_equal(answer.certified, without.certified)


def test_probabilities_are_calibrated_unless_the_model_is_not(fitted):
    looking, _ = fitted
    Q, y = clusters(400, seed=1)
    assert looking.first_look_.floor > 0
    twin = pickle.loads(pickle.dumps(looking)).set_params(calibrate=False)
    raw = first_look_proba(first_look_scores(looking.first_look_, Q))
    np.testing.assert_allclose(twin.predict_proba(Q, budget=0), raw, rtol=1e-4, atol=1e-5)
    own, raw_own = (np.log(p[np.arange(len(y)), y]).mean() for p in (looking.predict_proba(Q, budget=0), raw))
    assert own > raw_own


def test_the_look_is_better_than_the_priors_and_by_its_squares():
    X, y = clusters(600, d=8, n_classes=2)
    X -= 0.4 * y[:, np.newaxis]  # the classes differ in their variances alone
    model = plain(first_look=True).fit(X[:300], y[:300])
    assert (model.predict(X[300:], budget=0) == y[300:]).mean() > 0.6


def test_auto_has_a_look_from_32_features_on_and_beside_a_root_model_alone():
    def has_look(d, **parameters):
        return plain(**parameters).fit(*clusters(130, d)).first_look_ is not None

    assert [wants_first_look("auto", d, 0.3) for d in (31, 32, 256, 257)] == [False, True, True, False]
    assert [has_look(d, root_model=0.3) for d in (31, 32)] == [False, True]
    assert not has_look(40)
    assert not has_look(40, root_model=0.3, first_look=False)
    assert has_look(3, first_look=True)
    X, y = clusters(130, 40)
    assert BayesTreeClassifier.bt_star().fit(X, y).first_look_ is None


@pytest.mark.parametrize("value", ["linear", 1, None])
def test_an_invalid_parameter_is_named(value):
    with pytest.raises(ValueError, match=f"first_look is {value!r}; use True, False or 'auto'"):
        plain(first_look=value).fit(*clusters(20))


def test_too_many_features_are_refused_by_name():
    with pytest.raises(ValueError, match="first_look=True learns covariances of 514 terms"):
        plain(first_look=True).fit(*clusters(20, 257))


def test_a_record_of_which_nothing_is_known_has_the_priors_without_a_step(fitted):
    looking, plain_model = fitted
    Q = np.full((3, D), np.nan)
    Q[1, 2] = 0.5
    for budget in (0, 5, Budget(steps=5, seconds=1000)):
        answer = looking.classify(Q, budget=budget)
        assert np.array_equal(answer.proba[[0, 2]], plain_model.classify(Q, budget=budget).proba[[0, 2]])
        assert answer.certified[[0, 2]].all()
        assert not answer.steps[[0, 2]].any()
        assert not answer.certified[1]


def test_a_deadline_or_a_flag_that_does_not_end_the_work_changes_nothing(fitted):
    looking, _ = fitted
    Q, _ = clusters(300, seed=2)
    for steps in (0, 1, 7):
        whole = looking.classify(Q, budget=steps)
        for n in (5, 60, len(Q)):
            for limits in ({"seconds": 1000}, {"stop": StopToken()}):
                answer = looking.classify(Q[:n], budget=Budget(steps=steps, **limits))
                assert np.array_equal(answer.proba, whole.proba[:n])
                assert np.array_equal(answer.steps, whole.steps[:n])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_whatever_a_deadline_leaves_every_reached_record_has_the_answer_of_its_steps(fitted, n_jobs):
    looking = pickle.loads(pickle.dumps(fitted[0])).set_params(n_jobs=n_jobs)
    Q = np.tile(clusters(300, seed=3)[0], (100, 1))
    for seconds in (0.0, 0.003, 0.02):
        answer = looking.classify(Q, budget=Budget(seconds=seconds))
        assert answer.reached[:8].all()
        assert not answer.certified[answer.reached & (answer.steps == 0)].any()
        for steps in np.unique(answer.steps)[:4]:
            rows = np.flatnonzero(answer.reached & (answer.steps == steps))[:50]
            assert np.array_equal(answer.proba[rows], looking.classify(Q[rows], budget=int(steps)).proba)


def test_a_set_flag_leaves_few_records_with_an_answer(fitted):
    token = StopToken()
    token.set()
    answer = fitted[0].classify(np.tile(clusters()[0], (50, 1)), budget=Budget(stop=token))
    assert answer.reached[:8].all()
    assert not answer.reached[8:].any()
    assert not answer.steps.any()


def test_queries_resume_at_the_look_and_behind_it(fitted):
    looking, _ = fitted
    for x in clusters(4, seed=4)[0]:
        for steps in (0, 1, 5):
            query = looking.query(x).refine(steps)
            resumed = looking.query(state=query.state)
            assert (resumed.steps, resumed.certified, resumed.label) == (steps, False, query.label)
            assert np.array_equal(resumed.proba, query.proba)
            assert np.array_equal(resumed.refine(3).proba, query.refine(3).proba)


def test_a_damaged_look_in_a_state_is_refused(fitted):
    query = fitted[0].query(clusters(1)[0][0])
    state = bytearray(query.state)
    state[-8:] = np.float64(7.0).tobytes()  # the floor is a share
    with pytest.raises(ValueError, match=r"first.look"):
        fitted[0].query(state=bytes(state))


def test_class_weights_move_the_look_by_their_logarithms():
    X, y = clusters()
    even, weighted = (plain(first_look=True, class_weight=weight).fit(X, y) for weight in (None, {1: 8.0}))
    moved = weighted.first_look_.bias - even.first_look_.bias
    np.testing.assert_allclose(moved, [0, 3, 0], atol=1e-5)


def test_the_look_is_kept_until_a_class_or_a_feature_appears():
    X, y = clusters()
    model = plain(first_look=True).fit(X[::2], y[::2])
    before = model.predict_proba(X, budget=0)
    model.partial_fit(X[1::2], y[1::2])
    assert np.array_equal(model.predict_proba(X, budget=0), before)
    model.partial_fit(X[:1] + 50, [7])
    twin = pickle.loads(pickle.dumps(model))
    twin.first_look_ = None
    for budget in (0, 3):
        assert np.array_equal(model.predict_proba(X, budget=budget), twin.predict_proba(X, budget=budget))
        assert np.array_equal(model.classify(X, budget=budget).steps, twin.classify(X, budget=budget).steps)

    named = plain(first_look=True).fit(X, y)
    named.add_features(D + 1)
    assert named.first_look_ is None


def test_the_look_is_out_of_use_once_a_class_has_left_the_window():
    X, y = clusters(90)
    model = plain(first_look=True, window=90).fit(X, y)
    assert model.first_look_ is not None
    model.partial_fit(X[y < 2], y[y < 2])
    model.partial_fit(X[y < 2], y[y < 2])
    assert not model.predict_proba(X, budget=0)[:, 2].any()


def test_a_merged_model_looks_at_the_records_of_all():
    X, y = clusters(300)
    parts = [plain(first_look=True, calibrate=False).fit(X[part::2], y[part::2]) for part in range(2)]
    whole = BayesTreeClassifier.merge(parts)
    order = np.concatenate([np.arange(300)[part::2] for part in range(2)])
    again = learn_first_look(X[order], y[order].astype(np.int32), 3, seed=whole.recipe_.seed, calibrate=False)
    scores = whole.first_look_.scores(X)
    np.testing.assert_allclose(scores, again.scores(X), rtol=1e-3, atol=1e-3)


def test_large_data_are_sampled_and_no_class_is_lost():
    X, y = clusters(60_000, 3, 2)
    y[:7] = 2
    look = learn_first_look(X, y.astype(np.int32), 3, seed=5)
    again = learn_first_look(X, y.astype(np.int32), 3, seed=5)
    assert np.array_equal(look.weight, again.weight)
    assert np.isfinite(look.weight).all()
    assert look.bias.argmin() == 2


def test_constant_huge_and_missing_features_are_left_out():
    X, y = clusters(130, 6)
    X[:, 0], X[:, 1], X[:, 2] = 7.0, np.nan, X[:, 2] * 1e307
    look = learn_first_look(X, y.astype(np.int32), 3)
    Q = X.copy()
    Q[:, 0], Q[:, 1] = -1e300, 5.0
    assert np.isfinite(look.scores(Q)).all()
    assert np.array_equal(look.scores(Q), look.scores(X))


def test_files_and_pickles_keep_the_look(fitted, tmp_path):
    looking, _ = fitted
    Q, _ = clusters(50, seed=6)
    looking.save(tmp_path / "model.safetensors")
    for mmap in (False, True):
        twin = load(tmp_path / "model.safetensors", mmap=mmap)
        for budget in (0, 1, 5):
            assert np.array_equal(twin.predict_proba(Q, budget=budget), looking.predict_proba(Q, budget=budget))
    assert looking.memory_bytes_ == looking.forest_.own_bytes + looking.first_look_.nbytes


def rewrite(path, version, change):
    """Write the file of a model again as another version, its metadata and arrays changed."""
    file = read_model(path)
    metadata, arrays = dict(file.metadata), {name: np.array(array) for name, array in file.arrays.items()}
    change(metadata, arrays)
    write_model(path, kind=file.kind, version=version, metadata=metadata, arrays=arrays)


def test_files_of_version_7_have_no_look(fitted, tmp_path):
    looking, plain_model = fitted
    path = tmp_path / "model.safetensors"
    looking.save(path)

    def as_version_7(metadata, arrays):
        del metadata["first_look"]
        metadata["parameters"] = {k: v for k, v in metadata["parameters"].items() if k != "first_look"}
        for name in [name for name in arrays if name.startswith("first_look_")]:
            del arrays[name]

    rewrite(path, 7, as_version_7)
    old = load(path)
    Q, _ = clusters(50, seed=6)
    assert old.first_look_ is None
    assert np.array_equal(old.predict_proba(Q, budget=5), plain_model.predict_proba(Q, budget=5))


@pytest.mark.parametrize(
    ("name", "value"), [("sharpness", 0.0), ("sharpness", "x"), ("floor", 1.5), ("floor", None), ("weight", None)]
)
def test_a_damaged_look_in_a_file_is_refused(fitted, tmp_path, name, value):
    path = tmp_path / "model.safetensors"
    fitted[0].save(path)

    def damage(metadata, arrays):
        if name == "weight":
            arrays["first_look_weight"] = arrays["first_look_weight"][1:]
        else:
            metadata["first_look"] = metadata["first_look"] | {name: value}

    rewrite(path, 8, damage)
    with pytest.raises(ModelFileError, match=r"first.look"):
        load(path)


def test_the_contract_holds_with_a_look():
    check_anytime_classifier(BayesTreeClassifier(metric=None, first_look=True))
    check_anytime_classifier(plain(first_look=True, refine_for="certificate"))
