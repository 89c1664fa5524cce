"""KAOGINC learns alike however records arrive, follows changes, and stays within its bounds."""

import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anystream.anytime.checks import three_clusters
from anystream.graph import KAOGClassifier, KAOGINCClassifier
from anystream.model_file import ModelFileError, read_model
from anystream.streams import SEA, MovingGaussians, Sine

QUERIES = np.random.default_rng(9).normal(size=(50, 2)) * 3.0


def swapping(n_records=2400, drift=1200, seed=0):
    return MovingGaussians(concepts=("plain", "swapped"), drifts=(drift,), seed=seed, n_records=n_records)


def learned(model, stream, size=80):
    for X, y in stream.batches(size):
        model.partial_fit(X, y)
    return model


def saved_arrays(model):
    return model._to_file()[1]


def assert_same_model(one, other):
    for name, array in saved_arrays(one).items():
        np.testing.assert_array_equal(array, saved_arrays(other)[name], err_msg=name)


@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 300), max_size=8), paper=st.booleans())
def test_the_cut_of_the_calls_does_not_matter(cuts, paper):
    X, y = swapping(300, 150).take(300)
    make = KAOGINCClassifier.paper if paper else KAOGINCClassifier
    whole, parts = make(batch_size=40).fit(X, y), make(batch_size=40)
    for first, last in zip([0, *sorted(cuts)], [*sorted(cuts), 300], strict=True):
        if first < last:
            parts.partial_fit(X[first:last], y[first:last], classes=[0, 1])
    assert_same_model(whole, parts)
    assert np.array_equal(whole.predict_proba(QUERIES), parts.predict_proba(QUERIES))


def test_single_records_and_batches_learn_alike():
    X, y = swapping(200, 100).take(200)
    batches, records = KAOGINCClassifier(), KAOGINCClassifier()
    batches.partial_fit(X, y)
    for row, label in zip(X, y.tolist(), strict=True):
        records.learn_one(dict(enumerate(row.tolist())), label)
    assert_same_model(batches, records)


def test_a_record_takes_part_in_answers_at_once():
    model = learned(KAOGINCClassifier(), swapping(160, 80))
    assert len(model.open_points_) == 0
    assert "new" not in model.predict_proba_one({0: 100.0, 1: 101.0})
    model.learn_one({0: 100.0, 1: 100.0}, "new")
    assert model.predict_proba_one({0: 100.0, 1: 101.0})["new"] > 0.0
    for i in range(8):
        model.learn_one({0: 100.0 + i, 1: 100.0}, "new")
    assert model.predict_one({0: 100.0, 1: 101.0}) == "new"
    assert len(model.open_points_) == 9
    assert model.principal_.n_batches == 2


def test_old_components_take_their_new_labels_when_labels_swap():
    model = learned(KAOGINCClassifier(), swapping(1200, 1199))
    before = model.principal_.components
    X, y = swapping(1360, 1200).take(80, start=1200)
    model.partial_fit(X, y)
    after = model.principal_.components
    assert after.transferred.sum() > 0.8 * len(before)
    assert model.principal_.recent == ()
    X, y = swapping().take(400, start=1400)
    assert model.score(X, y) > 0.8
    restarted = learned(KAOGINCClassifier(on_change="restart"), swapping(1280, 1200))
    assert restarted.principal_.components.n_vertices == 80
    ignored = learned(KAOGINCClassifier(on_change="ignore", missed_changes=False), swapping(1280, 1200))
    assert ignored.principal_.components.n_vertices == 1280
    assert ignored.score(X, y) < 0.4


def test_the_missed_change_rule_drops_what_no_single_batch_has_shown_wrong():
    stream = SEA(concepts=(7, 9), drifts=(2400,), noise=0.1, seed=5, n_records=4000)
    rule = learned(KAOGINCClassifier(on_change="ignore"), stream)
    without = learned(KAOGINCClassifier(on_change="ignore", missed_changes=False), stream)
    assert without.principal_.components.n_vertices == 3000
    assert rule.principal_.components.n_vertices < 2000


def test_the_idle_feature_of_sea_gets_little_weight():
    model = learned(KAOGINCClassifier(), SEA(seed=1, n_records=1600))
    scale = model.principal_.metric.scale(weighted=True)
    assert scale[2] < 0.3 * min(scale[0], scale[1])
    plain = learned(KAOGINCClassifier(metric="plain"), SEA(seed=1, n_records=160))
    assert plain._settled.scale.tolist() == [1.0, 1.0, 1.0]
    scaled = learned(KAOGINCClassifier(metric="scaled"), SEA(seed=1, n_records=160))
    assert not scaled.principal_.metric.relief.any()


def test_noise_makes_the_neighbourhoods_larger():
    def floor(noise):
        stream = Sine(seed=2, noise=noise, n_records=2400)
        return learned(KAOGINCClassifier(moments=False), stream).view_.floor

    assert floor(0.0) < floor(0.3)


def test_the_moments_decide_where_classes_are_gaussian_and_need_no_steps():
    model = learned(KAOGINCClassifier(), swapping(2400, 2399))
    assert model.view_.moments
    answer = model.classify(QUERIES)
    assert answer.certified.all()
    assert not answer.steps.any()
    log_joint = model.principal_.moments(2).log_joint(QUERIES)
    expected = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    np.testing.assert_allclose(answer.proba, expected / expected.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)
    assert not learned(KAOGINCClassifier(moments=False), swapping(800, 799)).view_.moments


def test_the_letter_of_the_paper_prunes_what_errs_again_and_again_until_nothing_does():
    stream = swapping(1280, 1200)
    repeated = learned(KAOGINCClassifier.paper(), stream)
    once = learned(KAOGINCClassifier.paper(pruning="once"), stream)
    never = learned(KAOGINCClassifier.paper(pruning=None), stream)
    sizes = [model.principal_.components.n_vertices for model in (repeated, once, never)]
    assert sizes[0] < sizes[1] < sizes[2]
    X, y = swapping(2000, 1200).take(80, start=1280)
    next_batch = pickle.loads(pickle.dumps(repeated)).partial_fit(X, y).principal_
    kept = next_batch.components.kept(next_batch.components.born < next_batch.n_batches - 1)
    nearest = kept.nearest(X, np.ones(2), int(kept.k.max()), 1)
    met = kept.meetings(nearest, y.astype(np.int32), 1, 2)
    right = met[np.arange(len(kept)), kept.label]
    assert (right >= met.sum(axis=1) - right).all()


def test_what_is_not_used_is_forgotten_after_tau():
    far = np.random.default_rng(1).normal(size=(40, 1)) + 100.0
    near = np.random.default_rng(2).normal(size=(400, 1))
    for tau, stays in ((100, False), (None, True)):
        model = KAOGINCClassifier.paper(tau=tau, batch_size=40, pruning=None).partial_fit(far, np.ones(40))
        model.partial_fit(near, np.zeros(400))
        assert (model.principal_.components.points > 50).any() == stays


def test_memory_is_bounded():
    model = KAOGINCClassifier(max_vertices=200, moments=False)
    sizes = []
    for X, y in Sine(seed=0, n_records=4000).batches(80):
        model.partial_fit(X, y)
        assert model.principal_.components.n_vertices <= 200
        sizes.append(model.memory_bytes_)
    assert max(sizes[10:]) < 1.5 * sizes[3]
    born = model.principal_.components.born
    assert born.min() >= 50 - 4


def test_a_model_from_a_file_learns_on_as_if_nothing_had_happened(tmp_path):
    stream = swapping(1300, 700)
    X, y = stream.take(1300)
    model = KAOGINCClassifier(k_floors=(0, 0.5)).partial_fit(X[:750], y[:750])
    model.save(tmp_path / "model.safetensors")
    twin = KAOGINCClassifier._from_file(read_model(tmp_path / "model.safetensors"), mapped=False)
    assert_same_model(model, twin)
    assert twin.get_params() == model.get_params()
    model.partial_fit(X[750:], y[750:])
    twin.partial_fit(X[750:], y[750:])
    assert_same_model(model, twin)
    assert np.array_equal(model.predict_proba(QUERIES), twin.predict_proba(QUERIES))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("owner", -1, "owner"),
        ("k", 0, "'k'"),
        ("purity", 2.0, "purity"),
        ("label", 9, "label"),
        ("points", np.inf, "infinite"),
        ("view_errors", -1.0, "view_errors"),
        ("learned", -1, "learned"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, value, message):
    model = learned(KAOGINCClassifier(), swapping(200, 100))
    metadata, arrays = model._to_file()
    arrays[name] = arrays[name].copy()
    arrays[name].reshape(-1)[0] = value
    from anystream.model_file import write_model

    write_model(tmp_path / "m.safetensors", kind="kaoginc", version=1, metadata=metadata, arrays=arrays)
    with pytest.raises(ModelFileError, match=message):
        KAOGINCClassifier._from_file(read_model(tmp_path / "m.safetensors"), mapped=False)


def test_a_neighbourhood_of_more_vertices_than_there_are_is_that_of_all():
    X, y = three_clusters(30)
    model = KAOGINCClassifier(batch_size=15, k_floors=(0,), moments=False).fit(X, y)
    wide, all_of_them = (
        replace(model.principal_.components, k=np.full_like(model.principal_.components.k, k)) for k in (2**31 - 1, 30)
    )
    answers = []
    for components in (wide, all_of_them):
        model.principal_ = replace(model.principal_, components=components)
        model.graph_ = model._make_graph()
        answers.append(model.predict(X))
    assert np.array_equal(*answers)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_spread_beyond_all_numbers_is_refused(tmp_path):
    from anystream.model_file import write_model

    metadata, arrays = learned(KAOGINCClassifier(), swapping(50, 25))._to_file()  # no whole batch, so no moments yet
    arrays["metric_squares"] = arrays["metric_squares"] + 1e10
    write_model(tmp_path / "m.safetensors", kind="kaoginc", version=1, metadata=metadata, arrays=arrays)
    with pytest.raises(ModelFileError, match="not a positive number; restore"):
        KAOGINCClassifier._from_file(read_model(tmp_path / "m.safetensors"), mapped=False)


def test_merged_models_know_what_each_of_them_knows():
    X, y = three_clusters(600)
    parts = [KAOGINCClassifier().fit(X[part], y[part]) for part in (slice(0, 200), slice(200, 600))]
    whole = KAOGINCClassifier.merge(parts)
    assert whole.principal_.components.n_vertices + len(whole.open_points_) == 600
    assert (np.diff(whole.principal_.components.born) >= 0).all()
    assert whole.score(*three_clusters(300, seed=4)) > 0.9
    with pytest.raises(ValueError, match="there is no model"):
        KAOGINCClassifier.merge([])
    with pytest.raises(ValueError, match="different views"):
        KAOGINCClassifier.merge([parts[0], KAOGINCClassifier(moments=False).fit(X, y)])
    with pytest.raises(ValueError, match="features"):
        KAOGINCClassifier.merge([parts[0], KAOGINCClassifier().fit(X[:, :2], y)])


def test_static_graphs_merge_to_their_union():
    X, y = three_clusters(300)
    parts = [KAOGClassifier().fit(X[part], y[part]) for part in (slice(0, 150), slice(150, 300))]
    whole = KAOGClassifier.merge(parts)
    assert len(whole.components_) == sum(len(part.components_) for part in parts)
    assert whole.score(*three_clusters(300, seed=4)) > 0.9


def test_many_threads_may_ask_while_one_learns():
    stream = swapping(2400, 1200)
    X, y = stream.take(2400)
    model = KAOGINCClassifier().partial_fit(X[:100], y[:100], classes=[0, 1])
    failures, done = [], threading.Event()

    def ask():
        while not done.is_set():
            proba = model.predict_proba(QUERIES)
            if not np.allclose(proba.sum(axis=1), 1.0):
                failures.append(proba)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    model.partial_fit(X[100:1500], y[100:1500])
    done.set()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_copy_learns_apart_from_its_original():
    model = learned(KAOGINCClassifier(), swapping(200, 100))
    twin = model.clone(include_attributes=True)
    assert_same_model(model, twin)
    before = model.predict_proba(QUERIES)
    twin.partial_fit(*swapping(400, 100).take(200, start=200))
    assert np.array_equal(model.predict_proba(QUERIES), before)
    assert twin.principal_.n_batches == model.principal_.n_batches + 3


def test_features_may_come_later_and_be_missing():
    model = KAOGINCClassifier(batch_size=20)
    for i in range(50):
        model.learn_one({"a": float(i % 2) * 5.0}, i % 2)
    for i in range(50):
        model.learn_one({"a": float(i % 2) * 5.0, "b": float(i)}, i % 2)
    assert model.n_features_in_ == 2
    assert model.predict_one({"a": 4.9}) == 1
    assert model.predict_one({"a": 0.1, "b": 3.0}) == 0
    assert sum(model.predict_proba_one({}).values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0; use a whole number from 1 on"),
        ({"max_vertices": 50}, "max_vertices is 50, less than batch_size"),
        ({"max_k": 1.5}, "max_k is 1.5"),
        ({"k_floors": ()}, "k_floors is"),
        ({"k_floors": (0, -1)}, "a number in k_floors is -1; use a number from 0 to 100"),
        ({"k_floors": 0.3}, "k_floors is 0.3"),
        ({"k_floors": {0.3}}, "k_floors is {0.3}"),
        ({"metric": "cosine"}, "metric is 'cosine'; use one of 'weighted', 'scaled', 'plain'"),
        ({"moments": 1}, "moments is 1; use one of True, False"),
        ({"isolated": "hide"}, "isolated is 'hide'"),
        ({"on_change": "panic"}, "on_change is 'panic'"),
        ({"missed_changes": None}, "missed_changes is None"),
        ({"pruning": "twice"}, "pruning is 'twice'; use one of None, 'repeated', 'once'"),
        ({"tau": 0}, "tau is 0"),
        ({"budget": -1}, "budget is -1"),
        ({"n_jobs": "two"}, "n_jobs is 'two'; use 1 or more threads, or None"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_bad_parameters_are_named_before_anything_changes(parameters, message):
    model = KAOGINCClassifier(**parameters)
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        model.partial_fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(model, "classes_")
