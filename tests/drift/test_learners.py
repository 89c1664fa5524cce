"""Each learner does what its paper says, and equals its slow twin."""

import pickle
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from anystream import _native
from anystream.anytime.budget import Budget
from anystream.anytime.checks import three_clusters
from anystream.bayes_tree import BayesTreeClassifier
from anystream.drift import (
    WCEA,
    DriftDetector,
    DynamicWeightedMajority,
    GaussianNaiveBayes,
    OnlineTree2,
    ResetOnDrift,
    SEAEnsemble,
    river_detector,
)
from anystream.drift.members import new_member
from anystream.drift.sea import quality
from anystream.drift.tree_nodes import best_split
from anystream.streams import SEA, MovingGaussians, RandomRBF, Sine
from tests.reference import drift_ensembles as slow
from tests.reference.drift_moments import naive_bayes_proba

LEARNERS = [
    GaussianNaiveBayes,
    SEAEnsemble,
    lambda: SEAEnsemble.street_kim(capacity=3, chunk_size=30),
    DynamicWeightedMajority,
    lambda: WCEA(chunk_size=30),
    lambda: WCEA(BayesTreeClassifier(), chunk_size=30, folds=2),
    OnlineTree2,
    ResetOnDrift,
]
NAMES = ["naive-bayes", "sea", "sea-quality", "dwm", "wcea", "wcea-bayes-tree", "online-tree", "reset"]
each_learner = pytest.mark.parametrize("make", LEARNERS, ids=NAMES)


# -- naive Bayes ------------------------------------------------------------------------------------------------------


@st.composite
def labelled(draw, most=25):
    n, d, k = draw(st.integers(1, most)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    values = st.floats(-5, 5).map(lambda v: round(v, 2)) | st.just(np.nan)
    rows = draw(hnp.arrays(np.float64, (n, d), elements=values))
    queries = draw(hnp.arrays(np.float64, (3, d), elements=values))
    return rows, draw(hnp.arrays(np.int32, n, elements=st.integers(0, k - 1))), k, queries


@given(labelled(), st.sampled_from([0.1, 0.5, 2.0]))
def test_running_moments_equal_those_of_all_records(case, smoothing):
    rows, labels, k, queries = case
    model = GaussianNaiveBayes(smoothing=smoothing).partial_fit(rows, labels, classes=np.arange(k))
    expected = naive_bayes_proba(rows, labels, k, smoothing, queries)
    assert_allclose(model.predict_proba(queries), expected, rtol=1e-6, atol=1e-9)


def test_one_record_is_enough_for_naive_bayes():
    model = GaussianNaiveBayes().partial_fit([[1.0, 2.0]], ["only"])
    assert model.predict_proba([[1.0, 2.0], [1e50, 0.0]]).tolist() == [[1.0], [1.0]]


def test_merged_naive_bayes_is_that_of_all_records():
    X, y = RandomRBF(seed=5, n_classes=3).take(90)
    X[::7, 1] = np.nan
    names = np.array(["c", "a", "b"])[y]
    parts = [GaussianNaiveBayes().fit(X[part], names[part]) for part in (y == 0, y == 1, y == 2, slice(30))]
    whole = GaussianNaiveBayes.merge(parts)
    order = np.concatenate([np.flatnonzero(y == k) for k in range(3)] + [np.arange(30)])
    expected = GaussianNaiveBayes().fit(X[order], names[order])
    columns = [list(whole.classes_).index(name) for name in expected.classes_]
    assert_allclose(whole.predict_proba(X)[:, columns], expected.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert not hasattr(DynamicWeightedMajority(), "merge")


def test_values_beyond_all_reason_leave_the_priors():
    model = GaussianNaiveBayes().fit([[0.0], [1.0], [1.1]], [0, 1, 1])
    assert_allclose(model.predict_proba([[1e200]]), [[1 / 3, 2 / 3]])


def test_native_moments_refuse_what_does_not_fit():
    count, table = np.zeros(2), np.zeros((2, 3))
    rows, out = np.zeros((1, 3)), np.zeros((1, 2))
    with pytest.raises(ValueError, match="class number 2 is not below 2"):
        _native.learn_moments(rows, np.array([2], np.int32), count, table, table.copy(), table.copy())
    with pytest.raises(ValueError, match="size of mean is 3, expected 6"):
        _native.moments_proba(rows, 0.5, count, table, np.zeros((1, 3)), table, out)
    with pytest.raises(ValueError, match="number of labels is 2, expected 1"):
        _native.learn_moments(rows, np.zeros(2, np.int32), count, table, table.copy(), table.copy())


# -- the ensembles equal their slow twins -----------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 10]), st.sampled_from([0.5, 0.8]))
def test_dwm_in_stretches_equals_dwm_record_by_record(seed, period, beta):
    stream = RandomRBF(concepts=(seed, seed + 1), drifts=(60,), n_classes=3, seed=seed)
    X, y = stream.take(150)
    model = DynamicWeightedMajority(period=period, beta=beta, theta=0.05, max_experts=1000)
    twin = slow.SlowDynamicWeightedMajority(
        lambda: new_member(GaussianNaiveBayes(), 0), 3, beta=beta, theta=0.05, period=period
    )
    model.partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    twin.learn(X[0], y[0])
    model.partial_fit(X[1:100], y[1:100])
    for x, label in zip(X[1:100], y[1:100], strict=True):
        twin.learn(x, label)
    assert_allclose(model.weights_, twin.weights)
    votes = np.array([twin.answer(x) for x in X[100:]])
    assert_allclose(model.predict_proba(X[100:]), votes / votes.sum(axis=1, keepdims=True))


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(2, 6))
def test_wcea_equals_its_definition(seed, capacity, folds):
    stream = RandomRBF(concepts=(seed, seed + 1, seed), drifts=(90, 180), n_classes=3, seed=seed)
    X, y = stream.take(300)
    model = WCEA(GaussianNaiveBayes(), capacity=capacity, chunk_size=30, folds=folds)
    twin = slow.SlowWCEA(lambda: new_member(GaussianNaiveBayes(), 0), 3, capacity, folds)
    model.partial_fit(X[:270], y[:270], classes=[0, 1, 2])
    for at in range(0, 270, 30):
        twin.learn_chunk(X[at : at + 30], y[at : at + 30].astype(np.int32))
    assert_allclose(model.committee_.weights, twin.weights[::-1], atol=1e-12)
    assert_allclose(model.predict_proba(X[270:]), twin.proba(X[270:]))


@given(st.data(), st.integers(1, 12), st.integers(2, 4))
def test_the_quality_of_street_and_kim_is_as_they_define_it(data, n, k):
    votes = data.draw(hnp.arrays(np.float64, (n, k), elements=st.integers(0, 5).map(float)))
    votes[:, 0] += 1
    shares = votes / votes.sum(axis=1, keepdims=True)
    said, truth = (data.draw(hnp.arrays(np.int32, n, elements=st.integers(0, k - 1))) for _ in range(2))
    assert_allclose(quality(shares, said, truth), slow.quality(shares, said, truth), atol=1e-12)


@given(labelled(most=20), st.integers(1, 4))
def test_the_best_split_has_the_highest_information_gain(case, least):
    rows, labels, _, _ = case
    found, expected = best_split(rows, labels, least), slow.information_gain(rows, labels, least)
    if expected is None:
        assert found is None
        return
    gain, feature, threshold = found
    assert_allclose(gain, expected[0], atol=1e-9)
    left = rows[:, feature] <= threshold
    assert min(left.sum(), (~left).sum()) >= least


# -- what all of them promise -----------------------------------------------------------------------------------------


@each_learner
def test_a_batch_teaches_what_its_records_teach_one_by_one(make):
    X, y = SEA(concepts=(7, 9), drifts=(90,), noise=0.1, seed=4).take(170)
    batch, singly = make(), make()
    for model, cuts in ((batch, [0, 100, 160]), (singly, range(161))):
        for first, last in pairwise(cuts):
            model.partial_fit(X[first:last], y[first:last], classes=[0, 1])
    assert np.array_equal(batch.predict_proba(X), singly.predict_proba(X))


@each_learner
def test_new_labels_are_learned_when_they_come(make):
    X, y = RandomRBF(n_classes=3, seed=3, n_centers=6).take(900)
    words = np.array(["ant", "bee", "cat"])[y]
    model = make()
    early = y[:300] != 2
    model.partial_fit(X[:300][early], words[:300][early])
    assert model.classes_.tolist() == ["ant", "bee"]
    model.partial_fit(X[300:], words[300:])
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert "cat" in model.predict(X)
    assert model.predict_proba(X).shape == (900, 3)


@each_learner
def test_a_model_that_failed_to_learn_is_as_it_was(make):
    X, y = SEA(seed=1).take(100)
    model = make().fit(X, y)
    before = model.predict_proba(X)
    for bad_X, bad_y in ((X[:, :2], y), (X, y[:5]), (np.full_like(X, np.inf), y), (np.full_like(X, 1e150), y)):
        with pytest.raises(ValueError):
            model.partial_fit(bad_X, bad_y)
    assert np.array_equal(model.predict_proba(X), before)


@each_learner
def test_pickles_learn_on_alike(make):
    X, y = SEA(seed=1, noise=0.1).take(250)
    model = make().fit(X[:120], y[:120])
    twin = pickle.loads(pickle.dumps(model))
    for each in (model, twin):
        each.partial_fit(X[120:], y[120:])
    assert np.array_equal(model.predict_proba(X), twin.predict_proba(X))
    assert model.memory_bytes_ > 0


@pytest.mark.parametrize("make", LEARNERS[1:], ids=NAMES[1:])
def test_a_swap_of_the_classes_is_followed(make):
    stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(600,), seed=2)
    model = make().fit(*stream.take(600))
    X, y = stream.take(500, start=2000)
    assert model.score(X, y) < 0.4
    model.partial_fit(*stream.take(1400, start=600))
    assert model.score(X, y) > 0.75


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GaussianNaiveBayes(smoothing=0), "smoothing is 0; use a number above 0"),
        (SEAEnsemble(capacity=0), "capacity is 0; use a whole number from 1 on"),
        (SEAEnsemble(rule="best"), "rule is 'best'; use one of 'worst', 'quality'"),
        (SEAEnsemble(chunk_size=2.5), "chunk_size is 2.5"),
        (WCEA(folds=1), "folds is 1; use a whole number from 2 on"),
        (WCEA(budget=-1), "budget is -1"),
        (WCEA(seed=-1), "seed is -1"),
        (DynamicWeightedMajority(beta=1.0), "beta is 1.0; use a number between 0 and 1"),
        (DynamicWeightedMajority(theta=2), "theta is 2; use a number from 0 to 1"),
        (DynamicWeightedMajority(period=0), "period is 0"),
        (OnlineTree2(decline="x"), "decline is 'x'"),
        (ResetOnDrift(keep=0), "keep is 0; use a whole number from 1 on"),
        (ResetOnDrift(detector="Oracle"), "river has no drift detector 'Oracle'"),
        (OnlineTree2(max_window=4), "max_window is 4; use a whole number from 8 on"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_parameters_are_refused_with_a_remedy(model, message):
    X, y = SEA(seed=1).take(10)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError) as refusal:
            learn(X, y)
        assert message in str(refusal.value)
    assert not hasattr(model, "classes_")


# -- SEA --------------------------------------------------------------------------------------------------------------


def test_the_vote_of_sea_turns_after_half_its_seats():
    stream = Sine(concepts=("sine1", "sine1_reversed"), drifts=(1000,), seed=1)
    model = SEAEnsemble(capacity=5, chunk_size=100).fit(*stream.take(1000))
    X, y = stream.take(300, start=5000)
    scores = [model.partial_fit(*stream.take(100, start=1000 + 100 * chunk)).score(X, y) for chunk in range(4)]
    assert max(scores[:2]) < 0.5 < min(scores[2:])


def test_the_candidate_of_street_and_kim_waits_for_one_chunk():
    X, y = SEA(seed=1).take(300)
    model = SEAEnsemble.street_kim(chunk_size=100).partial_fit(X[:100], y[:100])
    first = model.candidate_
    assert model.members_ == ()
    model.partial_fit(X[100:200], y[100:200])
    assert model.members_ == (first,)
    assert model.candidate_ is not first


# -- WCEA over anytime members ----------------------------------------------------------------------------------------


def test_a_budget_is_passed_on_to_anytime_members():
    X, y = SEA(seed=1, noise=0.1).take(600)
    model = WCEA(BayesTreeClassifier(), chunk_size=100).fit(X, y)
    speaking = model.committee_.speaking
    assert len(speaking) > 1
    for steps in (0, 2, 5):
        answer = model.classify(X[:50], budget=steps)
        votes = sum(w * m.answer(X[:50], 2, Budget(steps=steps))[0] for m, w in speaking)
        assert_allclose(answer.proba, votes / sum(w for _, w in speaking))
        assert answer.steps.max() <= steps
    timed = model.classify(X[:50], budget=Budget(seconds=10))
    assert timed.certified.all()


def test_wang_weighting_lets_a_bayes_tree_follow_a_drift():
    stream = Sine(concepts=("sine1", "sine1_reversed"), drifts=(1000,), seed=3)
    X, y = stream.take(300, start=3000)
    plain = BayesTreeClassifier().fit(*stream.take(1000)).partial_fit(*stream.take(600, start=1000))
    weighted = WCEA(BayesTreeClassifier(), chunk_size=100).fit(*stream.take(1600))
    assert plain.score(X, y) < 0.7
    assert weighted.score(X, y) > 0.9


def test_threads_may_answer_while_one_learns():
    X, y = RandomRBF(n_classes=4, seed=3).take(1200)
    model = WCEA(GaussianNaiveBayes(), chunk_size=20).fit(X[y < 2][:100], y[y < 2][:100])
    failures, done = [], threading.Event()

    def ask():
        while not done.is_set():
            try:
                proba = model.predict_proba(X[:20])
                assert np.allclose(proba.sum(axis=1), 1)
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    model.partial_fit(X, y)
    done.set()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_query_that_outlived_its_model_is_refused():
    X, y = SEA(seed=1).take(300)
    model = WCEA(BayesTreeClassifier(), chunk_size=100).fit(X[:200], y[:200])
    state = model.query(X[0]).refine(2).state
    model.partial_fit(X[200:], y[200:])
    with pytest.raises(ValueError, match="had learned 2 chunks, now it has learned 3"):
        model.query(state=state)
    with pytest.raises(TypeError, match="state is a str"):
        model.query(state="nothing")


def test_merged_ensembles_are_as_good_as_their_parts():
    X, y = RandomRBF(n_classes=3, seed=5, n_centers=6).take(1200)
    words = np.array(["ant", "bee", "cat"])[y]
    parts = [WCEA(GaussianNaiveBayes(), chunk_size=50).fit(X[:500], words[:500]), WCEA(chunk_size=50)]
    parts[1].partial_fit(X[500:1000][y[500:1000] == 2], words[500:1000][y[500:1000] == 2])  # "cat" comes first
    parts[1].partial_fit(X[500:1000], words[500:1000])
    assert parts[1].classes_.tolist() == ["cat", "ant", "bee"]
    whole = WCEA.merge(parts)
    assert whole.classes_.tolist() == ["ant", "bee", "cat"]
    assert whole.score(X[1000:], words[1000:]) > max(part.score(X[1000:], words[1000:]) for part in parts) - 0.03
    before = whole.n_chunks_
    assert whole.partial_fit(X[:60], words[:60]).n_chunks_ > before
    with pytest.raises(ValueError, match="no model to merge"):
        WCEA.merge([])
    with pytest.raises(ValueError, match="different features"):
        WCEA.merge([parts[0], WCEA().fit(X[:, :3], words)])


# -- any classifier can be a member -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "member",
    [GaussianNB(), make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4)), Perceptron()],
    ids=["naive-bayes", "pipeline", "without-probabilities"],
)
@pytest.mark.parametrize("ensemble", [WCEA, SEAEnsemble])
def test_any_classifier_can_be_a_member_of_an_ensemble_of_chunks(ensemble, member):
    X, y = SEA(concepts=(8,), seed=3).take(800)
    words = np.array(["below", "above"])[y]
    model = ensemble(member, chunk_size=100).fit(X[:600], words[:600])
    assert model.score(X[600:], words[600:]) > 0.85
    assert not model.__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((1, 3), np.nan), ["below"])


@pytest.mark.parametrize("ensemble", [WCEA, SEAEnsemble, DynamicWeightedMajority, ResetOnDrift])
def test_a_stretch_of_one_class_does_not_stop_members_that_need_two(ensemble):
    X, y = np.random.default_rng(0).normal(size=(400, 2)), np.repeat([0, 1, 0, 1], 100)
    X[:, 0] += 6 * y
    chunks = {"chunk_size": 50} if ensemble in (WCEA, SEAEnsemble) else {}
    model = ensemble(Perceptron(), **chunks).fit(X, y)
    assert model.predict_proba(X).shape == (400, 2)
    late = ensemble(Perceptron(), **chunks).partial_fit(X[:100], y[:100])
    assert late.partial_fit(X[100:], y[100:]).predict(X[100:200]).mean() > 0.9


@pytest.mark.filterwarnings("ignore:divide by zero")  # scikit-learn's, of the prior of a class without records
def test_experts_that_cannot_take_a_new_class_make_room_for_one_that_can():
    X, y = RandomRBF(n_classes=3, seed=3, n_centers=6).take(900)
    known = y < 2
    model = DynamicWeightedMajority(GaussianNB(var_smoothing=1e-2)).partial_fit(X[known][:200], y[known][:200])
    assert model.predict_proba(X).shape == (900, 2)
    model.partial_fit(X, y)
    assert 2 in model.predict(X)


def test_experts_must_be_able_to_learn_on():
    with pytest.raises(TypeError, match="DecisionTreeClassifier, which has no partial_fit"):
        DynamicWeightedMajority(DecisionTreeClassifier()).fit([[0.0], [1.0]], [0, 1])


def test_the_number_of_experts_is_bounded():
    X, y = np.random.default_rng(0).random((400, 2)), np.random.default_rng(1).integers(0, 2, 400)
    model = DynamicWeightedMajority(theta=0.0, period=1, max_experts=7).fit(X, y)
    assert len(model.experts_) == 7


# -- OnlineTree2 ------------------------------------------------------------------------------------------------------


def test_the_tree_forgets_where_the_concept_changed_and_remembers_elsewhere():
    x = np.random.default_rng(1).random(3000)
    quarter = (4 * x).astype(int)
    before, after = quarter % 2, np.where(quarter == 3, 0, quarter % 2)  # the last quarter changes
    model = OnlineTree2().fit(x[:2000, np.newaxis], before[:2000])
    stays, changed = quarter[2000:] < 3, quarter[2000:] == 3
    X, y = x[2000:, np.newaxis], after[2000:]
    assert model.score(X[stays], y[stays]) > 0.95
    assert model.score(X[changed], y[changed]) < 0.1
    model.partial_fit(X[:300], y[:300])
    assert model.score(X[stays], y[stays]) > 0.95
    assert model.score(X[changed], y[changed]) > 0.9


def test_a_tree_of_pure_chance_stays_small():
    random = np.random.default_rng(1)
    model = OnlineTree2().fit(random.random((1000, 5)), random.integers(0, 2, 1000))
    assert len(pickle.dumps(model)) < 200_000
    assert type(model.root_).__name__ == "Leaf"


# -- detectors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ADWIN", "PageHinkley", "KSWIN", "DDM", "EDDM", "FHDDM", "HDDMA", "HDDMW"])
def test_the_detectors_of_river_fit_the_protocol(name):
    detector = river_detector(name)
    assert isinstance(detector, DriftDetector)
    detector.update(0)
    assert detector.drift_detected is False


class Impatient:
    """Cries wolf after every tenth error."""

    def __init__(self):
        self.errors = 0

    @property
    def drift_detected(self):
        return self.errors >= 10

    def update(self, x):
        self.errors += x


def test_a_detector_of_ones_own_can_be_plugged_in():
    X, y = np.random.default_rng(0).random((300, 2)), np.random.default_rng(1).integers(0, 2, 300)
    detector = Impatient()
    model = ResetOnDrift(detector=detector, keep=5).fit(X, y)
    assert len(model.resets_) > 5
    assert detector.errors == 0  # a copy was used
    with pytest.raises(TypeError, match="detector is 7; use the name"):
        ResetOnDrift(detector=7).fit(X, y)
    with pytest.raises(TypeError, match="DecisionTreeClassifier has no partial_fit"):
        ResetOnDrift(DecisionTreeClassifier()).fit(X, y)


def test_an_unknown_detector_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"no drift detector 'Oracle'; it has ADWIN, DDM"):
        river_detector("Oracle")


class Stubborn(LogisticRegression):
    """Refuses to learn negative values."""

    def fit(self, X, y):
        if X.min() < 0:
            raise ValueError("a negative value")
        return super().fit(X, y)


@pytest.mark.parametrize("make", [SEAEnsemble, WCEA])
def test_an_ensemble_whose_members_fail_to_fit_stays_as_it_was(make):
    X, y = three_clusters(60)
    model = make(Stubborn(), chunk_size=20).fit(np.abs(X), y)
    before = model.predict_proba(np.abs(X))
    with pytest.raises(ValueError, match="a negative value"):
        model.fit(X[:, :2] - 100, np.roll(y, 1))
    assert np.array_equal(model.predict_proba(np.abs(X)), before)
