"""The Bayes tree as users meet it: streams that grow, odd data, bad input."""

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError

from anystream import BayesTreeClassifier, Budget
from anystream.bayes_tree.classifier import CONSTRUCTIONS
from bayes_tree.plain import plain


def blobs(n=200, d=4, classes=3, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    return random.normal(size=(n, d)) + 3 * np.eye(max(classes, d))[y][:, :d], y


def test_answers_improve_with_the_budget():
    X, y = load_digits(return_X_y=True)
    model = plain().fit(X[::2], y[::2])
    right = [(model.predict(X[1::2], budget=budget) == y[1::2]).mean() for budget in (0, 5, 200)]
    assert right[0] > 0.85
    assert right[0] < right[1] <= right[2] + 0.01
    assert right[2] > 0.94


@pytest.mark.parametrize("bandwidth", ["langley", "haerdle", "f0.05", "f0.5"])
@pytest.mark.parametrize("inner_variance", ["plain", "max"])
@pytest.mark.parametrize("decision", ["mixture", "ensemble", "nearest"])
def test_every_variant_learns_iris(bandwidth, inner_variance, decision):
    X, y = load_iris(return_X_y=True)
    model = plain(bandwidth=bandwidth, inner_variance=inner_variance, decision=decision)
    assert (model.fit(X[::2], y[::2]).predict(X[1::2]) == y[1::2]).mean() > 0.85


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_every_construction_ends_at_the_same_kernel_density_and_learns_on(construction):
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 600), slice(600, 900)
    model = plain(construction=construction, decision="mixture").fit(X[train], y[train])
    assert model.forest_.records == 600
    by_default = plain(decision="mixture").fit(X[train], y[train])
    np.testing.assert_allclose(
        model.predict_proba(X[test], budget=Budget()),
        by_default.predict_proba(X[test], budget=Budget()),
        rtol=1e-3,
        atol=1e-6,
    )
    assert model.score(X[test], y[test]) > 0.85
    before = model.forest_.nodes
    model.partial_fit(X[test], y[test])
    assert model.forest_.records == 900
    assert model.forest_.nodes > before
    assert model.score(X[test], y[test]) > 0.95


@pytest.mark.parametrize("descent", ["global_best", "breadth_first", "depth_first"])
def test_descents_differ_on_the_way_and_agree_at_the_end(descent):
    X, y = blobs()
    best = plain(decision="mixture").fit(X, y)
    other = plain(decision="mixture", descent=descent).fit(X, y)
    np.testing.assert_allclose(
        other.predict_proba(X, budget=Budget()), best.predict_proba(X, budget=Budget()), rtol=1e-4, atol=1e-9
    )
    if descent != "global_best":
        assert not np.array_equal(other.predict_proba(X, budget=20), best.predict_proba(X, budget=20))


def test_bt_star_is_the_letter_of_the_paper():
    model = BayesTreeClassifier.bt_star(budget=50)
    assert (model.bandwidth, model.decision, model.inner_variance) == ("f0.05", "ensemble", "plain")
    assert (model.descent, model.refined_classes, model.fanout, model.budget) == ("global_best", "published", 7, 50)


def test_inserting_after_a_bulk_load_is_nearly_as_good_as_loading_everything():
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    half = len(train) // 2
    whole = plain().fit(X[train], y[train]).score(X[test], y[test])
    grown = plain().fit(X[train[:half]], y[train[:half]])
    assert grown.partial_fit(X[train[half:]], y[train[half:]]).score(X[test], y[test]) > whole - 0.02
    alone = plain().partial_fit(X[train], y[train])
    assert alone.score(X[test], y[test]) > whole - 0.03


@given(seed=st.integers(0, 10**6), n=st.integers(2, 120), cut=st.integers(1, 119), whole=st.booleans())
def test_batches_and_single_rows_of_partial_fit_make_the_same_model(seed, n, cut, whole):
    X, y = blobs(n, d=2, seed=seed)
    X = np.round(X) if whole else X
    at_once = BayesTreeClassifier().partial_fit(X, y, classes=[0, 1, 2])
    in_parts = BayesTreeClassifier().partial_fit(X[:cut], y[:cut], classes=[0, 1, 2])
    for x, label in zip(X[cut:], y[cut:], strict=True):
        in_parts.learn_one(dict(enumerate(x)), label)
    assert np.array_equal(at_once.predict_proba(X), in_parts.predict_proba(X))


def test_new_labels_of_any_type_may_appear_in_the_middle_of_a_stream():
    model = BayesTreeClassifier()
    model.partial_fit([[0.0, 0.0]], ["b"])
    assert model.predict([[5.0, 5.0]]).tolist() == ["b"]
    model.partial_fit([[5.0, 5.0], [5.1, 5.2]], ["a", "a"])
    assert model.classes_.tolist() == ["b", "a"]
    assert model.predict([[5.0, 5.0], [0.1, 0.0]]).tolist() == ["a", "b"]
    model.learn_one({0: -9.0, 1: -9.0}, 7)
    assert model.classes_.tolist() == ["b", "a", 7]
    assert model.predict_one({0: -9.0, 1: -9.0}) == 7


def test_declared_classes_have_columns_before_they_have_objects():
    model = BayesTreeClassifier().partial_fit([[0.0], [1.0]], [1, 1], classes=[0, 1, 2])
    assert model.predict_proba([[0.5]]).tolist() == [[0.0, 1.0, 0.0]]
    assert model.classify([[0.5]]).certified.all()


@pytest.mark.parametrize("n", [1, 2, 7, 8, 50])
def test_identical_objects_are_no_trouble(n):
    X, y = np.ones((2 * n, 3)), np.repeat([0, 1], n)
    model = BayesTreeClassifier().fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[1, 1, 1]], budget=Budget()), [[0.5, 0.5]], rtol=1e-5)
    model.partial_fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[1, 1, 1]], budget=Budget()), [[0.5, 0.5]], rtol=1e-5)


def test_a_dimension_that_is_constant_in_training_does_not_disturb():
    X, y = blobs()
    padded = np.column_stack([X, np.full(len(X), 0.1)])
    queries = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])
    expected = BayesTreeClassifier().fit(X, y).predict(X)
    assert (BayesTreeClassifier().fit(padded, y).predict(queries) == expected).mean() > 0.98


def test_a_duplicate_column_only_sharpens_the_densities():
    X, y = blobs()
    assert BayesTreeClassifier().fit(X[:, [0, 0, 1, 2, 3]], y).score(X[:, [0, 0, 1, 2, 3]], y) > 0.9


def test_huge_and_tiny_values_are_only_a_matter_of_scale():
    X, y = blobs()
    expected = BayesTreeClassifier().fit(X, y).predict(X)
    for factor in (1e30, 1e-30):
        assert np.array_equal(BayesTreeClassifier().fit(X * factor, y).predict(X * factor), expected)
    shifted = BayesTreeClassifier().fit(X + 1e9, y).predict(X + 1e9)
    assert (shifted == expected).mean() > 0.99


def test_one_outlier_of_1e30_does_not_break_anything():
    X, y = blobs()
    X[0, 0] = 1e30
    model = BayesTreeClassifier().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    model.partial_fit([[1e90, 0, 0, 0]], [1])
    assert np.isfinite(model.predict_proba(X)).all()


def test_training_with_missing_values_costs_little():
    X, y = load_iris(return_X_y=True)
    random = np.random.default_rng(0)
    holes = np.where(random.random(X.shape) < 0.15, np.nan, X)
    model = BayesTreeClassifier().fit(holes[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.88
    assert model.score(holes[1::2], y[1::2]) > 0.8
    model.partial_fit(holes[1::2], y[1::2])
    assert np.isfinite(model.predict_proba(holes)).all()


def test_a_feature_may_be_missing_everywhere():
    X, y = blobs()
    X[:, 1] = np.nan
    assert BayesTreeClassifier().fit(X, y).score(X, y) > 0.7


def test_merged_parts_answer_at_the_end_as_a_model_of_the_whole():
    X, y = blobs(300)
    names = np.array(["x", "y", "z"])[y]
    alike = {"decision": "mixture", "root_model": 0.3}  # a weight chosen on a part may differ
    parts = [plain(**alike).fit(X[i::3], names[i::3]) for i in range(3)]
    merged = BayesTreeClassifier.merge(parts)
    whole = plain(**alike).fit(X, names)
    assert merged.classes_.tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(
        merged.predict_proba(X, budget=Budget()), whole.predict_proba(X, budget=Budget()), rtol=1e-4, atol=1e-8
    )
    merged.partial_fit(X, names)


def test_models_of_different_features_do_not_merge():
    X, y = blobs()
    with pytest.raises(ValueError, match="different features"):
        BayesTreeClassifier.merge([BayesTreeClassifier().fit(X, y), BayesTreeClassifier().fit(X[:, :2], y)])


def test_features_may_come_and_go_in_a_stream():
    model = BayesTreeClassifier()
    for i in range(30):
        model.learn_one({"a": float(i % 2), "noise": 0.1 * i}, bool(i % 2))
    for i in range(30):
        model.learn_one({"a": float(i % 2), "b": 10.0 * (i % 2)}, bool(i % 2))
    assert list(model.columns_) == ["a", "noise", "b"]
    assert model.n_features_in_ == 3
    assert model.predict_one({"b": 10.0}) is True
    assert model.predict_one({"a": 0.0, "unheard of": 5.0}) is False
    assert model.predict_proba_one({}) == pytest.approx({False: 0.5, True: 0.5})


def test_answers_and_learning_may_run_in_threads_of_their_own():
    X, y = blobs(400)
    model = BayesTreeClassifier().fit(X[:200], y[:200])
    failures = []

    def ask():
        for _ in range(30):
            proba = model.forest_ and model.predict_proba(X[:50], budget=20)
            if not np.allclose(proba.sum(axis=1), 1):
                failures.append("a reader saw a model in the making")

    readers = [threading.Thread(target=ask) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in range(200, 400, 10):
        model.partial_fit(X[i : i + 10], y[i : i + 10])
    for reader in readers:
        reader.join()
    assert not failures
    expected = BayesTreeClassifier().fit(X[:200], y[:200])
    for i in range(200, 400, 10):
        expected.partial_fit(X[i : i + 10], y[i : i + 10])
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"fanout": 2}, "fanout is 2; use 3 to 64"),
        ({"fanout": 7.5}, "fanout is 7.5; use a whole number"),
        ({"bandwidth": "silverman"}, "bandwidth is 'silverman'; use 'auto', 'langley', 'haerdle' or 'f'"),
        ({"bandwidth": "f0"}, "bandwidth is 'f0'"),
        ({"inner_variance": "min"}, "inner_variance is 'min'; use one of plain, max"),
        ({"construction": "magic"}, "construction is 'magic'; use one of em_top_down, goldberger"),
        ({"decision": "vote"}, "decision is 'vote'; use one of mixture, ensemble, nearest"),
        ({"descent": "random"}, "descent is 'random'; use one of global_best, breadth_first, depth_first"),
        ({"refined_classes": 0}, "refined_classes is 0; use a whole number from 1 on"),
        ({"budget": -5}, "budget is -5; use a whole number from 0 on"),
        ({"seed": "x"}, "seed is 'x'; use a whole number"),
        ({"n_jobs": 1.5}, "n_jobs is 1.5"),
    ],
)
def test_bad_parameters_are_named_before_anything_is_learned(parameters, message):
    X, y = blobs(20)
    model = BayesTreeClassifier(**parameters)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            learn(X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("bad_X", "bad_y", "message"),
    [
        ([[1.0, 2.0]], [0], "features"),
        ([[1.0, 2.0, 3.0, np.inf]], [0], "infinity"),
        ([[1.0, 2.0, 3.0, 1e200]], [0], "beyond 1e\\+100"),
        ([["a", "b", "c", "d"]], [0], "could not convert"),
        ([[1.0, 2.0, 3.0, 4.0]], [0, 1], "inconsistent numbers"),
        ([[1.0, 2.0, 3.0, 4.0]], [0.5], "Unknown label type"),
    ],
)
def test_bad_data_leave_the_model_as_it_was(bad_X, bad_y, message):
    X, y = blobs()
    model = BayesTreeClassifier().fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(bad_X, bad_y)
    assert pickle.dumps(model) == before


def test_bad_records_leave_the_model_as_it_was():
    model = BayesTreeClassifier()
    model.learn_one({"a": 1.0}, "x")
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="feature 'a' is 'red'; features are numbers"):
        model.learn_one({"a": "red"}, "x")
    with pytest.raises(ValueError, match="infinite value"):
        model.learn_one({"a": float("inf"), "new": 1.0}, "x")
    assert pickle.dumps(model) == before


def test_asking_too_early_is_an_error_in_one_face_and_no_answer_in_the_other():
    with pytest.raises(NotFittedError):
        BayesTreeClassifier().predict([[1.0]])
    with pytest.raises(NotFittedError):
        BayesTreeClassifier().query([1.0])
    assert BayesTreeClassifier().predict_one({"a": 1.0}) is None
    assert BayesTreeClassifier().predict_proba_one({"a": 1.0}) == {}


def test_a_query_takes_one_record_of_the_right_width():
    X, y = blobs()
    model = BayesTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="records have 2 features, fit saw 4; pass the same columns"):
        model.query([1.0, 2.0])
    with pytest.raises(ValueError, match="one record, this has the shape"):
        model.query(X)
    with pytest.raises(TypeError, match="and not both"):
        model.query()
    with pytest.raises(TypeError, match="state is a str"):
        model.query(state="abc")


def test_memory_is_told_and_grows_with_the_data():
    X, y = blobs(400)
    small, large = BayesTreeClassifier().fit(X[:50], y[:50]), BayesTreeClassifier().fit(X, y)
    assert X[:50].nbytes < small.memory_bytes_ < large.memory_bytes_ < 100 * X.nbytes


@pytest.mark.parametrize("seconds", [0.0005, 0.002, 0.02])
def test_records_under_one_deadline_advance_together(seconds):
    """Whenever the clock ends a group, nobody is more than one round ahead: eight steps, or a quarter of those done."""
    random = np.random.default_rng(0)
    y = random.integers(5, size=20_000)
    model = plain(covariance="diagonal", n_jobs=1).fit(random.normal(size=(20_000, 8)) + y[:, None], y)
    answer = model.classify(random.normal(size=(30, 8)) + 2, budget=Budget(seconds=seconds))
    behind = answer.steps[~answer.certified]
    if len(behind):
        assert answer.steps.max() - behind.min() <= max(8, behind.min() / 4 + 1)


def test_a_fit_that_is_broken_off_leaves_the_model_as_it_was(monkeypatch):
    X, y = load_digits(return_X_y=True)
    model = plain().fit(X[:300], y[:300])
    before = model.predict_proba(X)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("anystream.bayes_tree.classifier.choose", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :5], y)
    assert np.array_equal(model.predict_proba(X), before)
