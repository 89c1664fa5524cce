"""Early stops, categories, missing values, new labels, rare classes, bounded memory, files, and bad input."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

from anystream import Budget, ModelFileError
from anystream.model_file import read_model, write_model
from anystream.subspace import BlockLocustClassifier, LocustClassifier

FORMS = [LocustClassifier, BlockLocustClassifier]


def blobs(n=600, d=4, classes=3, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    return random.normal(size=(n, d)) + 1.5 * y[:, None], y


# -- early stop --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_certified_label_is_that_of_all_samples(form):
    X, y = blobs()
    stops = form(max_samples=120).fit(X, y).classify(X, budget=Budget())
    goes_on = form(max_samples=100_000).fit(X, y).classify(X, budget=120)
    assert stops.certified.all()
    assert np.array_equal(stops.labels, goes_on.labels)
    assert (goes_on.steps == 120).all()
    assert (stops.steps < 120).any()


def tied(form, n=40, **parameters):
    """A model and records for which two classes have exactly equal chances: each feature speaks for one of them.

    The last feature was constant in training and is never drawn; it only gives each record samples of its own.
    """
    a, b = np.tile([0.0, 1.0, 0.0], (n, 1)), np.tile([1.0, 0.0, 0.0], (n, 1))
    model = form(max_samples=4000, **parameters).fit(np.vstack([a, b]), [0] * n + [1] * n)
    return model, np.column_stack([np.zeros((1500, 2)), np.arange(1500.0)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("confidence", [0.6, 0.9])
def test_where_no_class_wins_the_sequential_test_announces_one_no_more_often_than_it_may(form, confidence):
    extra = {"n_levels": 1} if form is LocustClassifier else {"bias": "proportional"}
    model, records = tied(form, confidence=confidence, **extra)
    assert model.predict_proba(records, budget=500).mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.02)
    announced = (model.classify(records, budget=500).steps < 500).mean()  # later: all samples but few
    assert 0.0 < announced < 1.0 - confidence
    model.set_params(confidence=None)
    assert set(model.predict(records, budget=Budget(steps=5))) == {0, 1}


@pytest.mark.parametrize("form", FORMS)
def test_the_sequential_test_errs_no_more_often_than_it_says(form):
    X, y = blobs(800, classes=2, seed=1)
    X[:, 1:] = 0.3 * X[:, 1:]
    limit = form(max_samples=3000).fit(X, y).predict(X, budget=Budget())
    early = form(max_samples=3000, confidence=0.8).fit(X, y).classify(X, budget=Budget())
    assert (early.labels != limit).mean() < 0.2
    assert early.steps.mean() < 1500
    surer = form(max_samples=3000, confidence=0.99).fit(X, y).classify(X, budget=Budget())
    assert (surer.labels != limit).mean() < 0.01
    assert surer.steps.mean() > early.steps.mean()


@pytest.mark.parametrize("form", FORMS)
def test_one_class_is_certain_at_once(form):
    model = form().partial_fit(np.ones((5, 2)), ["only"] * 5, classes=["only", "other"])
    answer = model.classify([[7.0, 7.0]])
    assert (answer.labels[0], answer.steps[0], answer.certified[0]) == ("only", 0, True)


def test_a_confidence_needs_bounded_votes():
    with pytest.raises(ValueError, match="use plain votes"):
        BlockLocustClassifier(confidence=0.9, votes="gamma").fit(*blobs(20))


# -- data --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_categories_are_not_ordered(form):
    """Whether a category is even decides; neighbouring codes say nothing about each other."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 60, 4000), random.normal(size=4000)]).astype(float)
    y = X[:, 0].astype(int) % 2
    with_categories = form(categorical=[0]).fit(X[:3000], y[:3000])
    without = form().fit(X[:3000], y[:3000])
    assert with_categories.score(X[3000:], y[3000:]) > 0.95
    assert without.score(X[3000:], y[3000:]) < 0.75


def test_categories_can_be_named():
    model = LocustClassifier(categorical=["city"])
    for i in range(200):
        model.learn_one({"age": i % 7, "city": i % 5}, i % 5 in (1, 3))
    assert model.predict_one({"age": 3, "city": 1}) is True
    assert model.predict_one({"age": 3, "city": 2}) is False


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize("column", ["city", 4])
def test_a_categorical_column_that_a_table_lacks_is_refused(form, learn, column):
    model = form(categorical=[0, column])
    with pytest.raises(ValueError, match=f"categorical names {column!r}, which does not exist"):
        getattr(model, learn)(*blobs(50))
    assert not hasattr(model, "columns_")


@pytest.mark.parametrize("form", FORMS)
def test_a_category_that_is_no_whole_number_is_refused_before_anything_changes(form):
    X, y = blobs(50)
    model = form(categorical=[1])
    with pytest.raises(ValueError, match="column 1 is categorical and holds"):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_feature_is_not_drawn(form):
    X, y = blobs(1500)
    model = form().fit(X, y)
    holes = X.copy()
    holes[:, 0] = np.nan
    assert model.score(holes, y) > 0.8
    trained_with_holes = form().fit(np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X), y)
    assert trained_with_holes.score(X, y) > 0.8


def test_a_rare_class_is_not_forgotten():
    """Ten points of a class, then fifty thousand of another: the floor keeps two in every level."""
    random = np.random.default_rng(0)
    rare, common = random.normal(size=(10, 10)) + 8, random.normal(size=(50_000, 10))
    model = LocustClassifier().fit(np.vstack([rare, common]), ["rare"] * 10 + ["common"] * 50_000)
    assert (model.predict(random.normal(size=(50, 10)) + 8) == "rare").mean() > 0.9
    assert (model.predict(random.normal(size=(500, 10))) == "common").all()


@pytest.mark.parametrize("form", FORMS)
def test_new_labels_may_appear_at_any_time(form):
    X, y = blobs(900)
    model = form(block_size=900) if form is BlockLocustClassifier else form()
    model.partial_fit(X[y == 0], y[y == 0])
    for c in (1, 2):
        model.partial_fit(X[y == c], y[y == c])
    assert model.classes_.tolist() == [0, 1, 2]
    assert set(model.predict(X)) == {0, 1, 2}


@pytest.mark.parametrize("form", FORMS)
def test_scikit_learn_data_are_learned_well(form):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    model = form(significance=10.0) if form is BlockLocustClassifier else form()
    model.fit(X[order[:100]], y[order[:100]])
    assert model.score(X[order[100:]], y[order[100:]]) > 0.85


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unbounded", "max_bytes"), [(LocustClassifier(), 1_000_000), (BlockLocustClassifier(block_size=500), 120_000)]
)
def test_memory_stays_below_its_bound(unbounded, max_bytes):
    X, y = blobs(5000, d=20)
    assert unbounded.fit(X, y).memory_bytes_ > max_bytes
    bounded = unbounded.clone({"max_bytes": max_bytes}).fit(X, y)
    assert bounded.memory_bytes_ <= max_bytes
    assert bounded.score(X, y) > 0.7
    with pytest.raises(ValueError, match=r"max_bytes is 1000, but .* takes up to"):
        unbounded.clone({"max_bytes": 1000}).fit(X, y)


def test_constant_and_binary_features_take_little_room():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 2000)
    numeric = LocustClassifier(label_delay=0).fit(random.normal(size=(2000, 100)), y).memory_bytes_
    binary = LocustClassifier(label_delay=0).fit(random.integers(0, 2, (2000, 100)), y).memory_bytes_
    constant = LocustClassifier(label_delay=0).fit(np.ones((2000, 100)), y).memory_bytes_
    assert numeric > 1.2 * binary > 1.2 * constant


# -- keeping -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_model_goes_on_after_a_file_or_a_pickle_as_if_nothing_had_happened(form, tmp_path):
    X, y = blobs(3000, d=6)
    X[:, 5] = (X[:, 5] > 0) * 3.0
    parameters = {"categorical": [5]} | ({"block_size": 400} if form is BlockLocustClassifier else {"level_size": 128})
    model = form(**parameters).fit(X[:2000], y[:2000])
    model.save(tmp_path / "model.safetensors")
    twins = [
        form._from_file(read_model(tmp_path / "model.safetensors"), mapped=True),
        pickle.loads(pickle.dumps(model)),
    ]
    for each in (model, *twins):
        each.partial_fit(X[2000:], y[2000:])
    for twin in twins:
        assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("form", FORMS)
def test_damaged_arrays_are_refused(form, tmp_path):
    X, y = blobs(300)
    path = tmp_path / "model.safetensors"
    model = form().fit(X, y)
    metadata, arrays = model._to_file()
    changes = {
        "point_class": lambda a: a + 7,
        "cut": lambda a: a[::-1].copy(),
        "cut_end": lambda a: a * 0 + a.max(),
        **(
            {"level_state": lambda a: a * 9, "arrival": lambda a: a + 10**9, "regret": lambda a: a[:1]}
            if form is LocustClassifier
            else {"block_size": lambda a: a + 1, "code": lambda a: a * 0 + 200, "state": lambda a: a * 0 + 5}
        ),
    }
    for name, change in changes.items():
        damaged = arrays | {name: change(arrays[name])}
        write_model(path, kind=form.kind, version=1, metadata=metadata, arrays=damaged)
        with pytest.raises(ModelFileError):
            form._from_file(read_model(path), mapped=False)


def test_merging_keeps_the_youngest_points_of_all_parts():
    X, y = blobs(4000)
    parts = [LocustClassifier(level_size=128).fit(X[k::2], y[k::2]) for k in (0, 1)]
    whole = LocustClassifier.merge(parts)
    assert whole.model_.seen == 4000
    assert whole.model_.level_sizes == [128, 128, 128, 74]
    assert whole.score(X, y) > 0.8
    whole.partial_fit(X[:100], y[:100])


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "parameters", "message"),
    [
        (LocustClassifier, {"n_levels": 0}, "n_levels is 0"),
        (LocustClassifier, {"level_size": 70_000}, "level_size is 70000; use 2 to 65535"),
        (LocustClassifier, {"n_ranges": 1}, "n_ranges is 1"),
        (LocustClassifier, {"affinity": -1.0}, "affinity is -1"),
        (LocustClassifier, {"confidence": 1.0}, "confidence is 1.0"),
        (LocustClassifier, {"label_delay": -1}, "label_delay is -1"),
        (LocustClassifier, {"smoothing": "much"}, "smoothing is 'much'; use a number"),
        (LocustClassifier, {"categorical": "city"}, "categorical is 'city'"),
        (LocustClassifier, {"max_samples": 0}, "max_samples is 0"),
        (BlockLocustClassifier, {"bias": "gini"}, "bias is 'gini'; use one of adaptive"),
        (BlockLocustClassifier, {"dominant": "most"}, "dominant is 'most'; use one of count, lift"),
        (BlockLocustClassifier, {"failed": "maybe"}, "failed is 'maybe'"),
        (BlockLocustClassifier, {"block_size": 1}, "block_size is 1"),
        (BlockLocustClassifier, {"decay": -1.0}, "decay is -1"),
    ],
)
def test_bad_parameters_are_refused_before_anything_changes(form, parameters, message):
    model = form(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(*blobs(30))
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("form", FORMS)
def test_bad_states_are_refused(form):
    model = form().fit(*blobs(100))
    with pytest.raises(ValueError, match="not the state of a query of this model"):
        model.query(state=b"nonsense")
    state = form().fit(*blobs(100, d=20)).query(np.zeros(20)).refine(3).state
    with pytest.raises(ValueError, match="the number of features differs"):
        model.query(state=state)


@pytest.mark.parametrize("votes", [np.nan, np.inf, -1.0])
def test_a_state_with_votes_that_are_no_numbers_is_refused(votes):
    model = BlockLocustClassifier().fit(*blobs(100))
    state = model.query(np.zeros(model.n_features_in_)).refine(3).state
    model.query(state=state)
    with pytest.raises(ValueError, match="its votes are damaged"):
        model.query(state=state[:-8] + np.float64(votes).tobytes())
