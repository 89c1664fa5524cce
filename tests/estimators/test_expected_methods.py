"""What users of scikit-learn and river expect of every classifier: log probabilities, profiles, sparse tables."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from all_classifiers import INCREMENTAL, clusters
from anystream import KAOGClassifier
from anystream.anytime import Budget
from anystream.anytime.memory import free_bytes

VECTORS = {name: make for name, make in INCREMENTAL.items() if "python metric" not in name}


def learned(name, n=120):
    X, y = clusters(n, 3)
    return INCREMENTAL[name]().fit(X, y), X, y


@pytest.mark.parametrize("name", INCREMENTAL)
def test_log_probabilities_are_logarithms_and_raise_no_warning(name):
    model, X, _ = learned(name)
    with np.errstate(all="raise"):
        logarithms = model.predict_log_proba(X[:20], budget=3)
    np.testing.assert_allclose(np.exp(logarithms), model.predict_proba(X[:20], budget=3), rtol=1e-12)


@pytest.mark.parametrize("name", VECTORS)
def test_a_record_may_be_a_dict_and_have_a_budget_of_its_own(name):
    model, X, _ = learned(name)
    for x in X[:5]:
        record = {**dict(enumerate(x)), "unknown": 1.0}
        expected = model.query(x).refine(2)
        assert model.query(record).refine(2).proba.tolist() == expected.proba.tolist()
        assert model.predict_one(record, budget=2) == expected.label
        assert list(model.predict_proba_one(record, budget=2).values()) == expected.proba.tolist()
        assert model.predict_one(record, budget=Budget(steps=2)) == expected.label
    assert type(model.predict_one(record, budget=2)) is str
    with pytest.raises(ValueError, match=r"encode categories first|could not convert"):
        model.query({0: "red", 1: 0.0, 2: 0.0})


def test_a_dict_that_lacks_features_has_missing_values():
    model, X, _ = learned("bayes-tree")
    missing = np.array([X[0, 0], np.nan, np.nan])
    assert model.query({0: X[0, 0]}).refine(3).proba.tolist() == model.query(missing).refine(3).proba.tolist()


def test_unfitted_models_predict_nothing_at_any_budget():
    model = INCREMENTAL["bayes-tree"]()
    assert model.predict_one({0: 1.0}, budget=3) is None
    assert model.predict_proba_one({0: 1.0}, budget=3) == {}


@pytest.mark.parametrize(
    "make", [VECTORS["bayes-tree"], VECTORS["locust"], KAOGClassifier], ids=["bayes", "locust", "kaog"]
)
def test_every_classifier_has_a_performance_profile(make):
    X, y = clusters(90, 3)
    profile = make().performance_profile(X, y, cv=2, stages=[0, 5])
    assert profile.n_records == 90
    assert profile.accuracy[-1] > 0.5


@pytest.mark.parametrize("name", VECTORS)
def test_sparse_tables_are_read_as_dense_ones(name):
    X, y = clusters(120, 3)
    X[np.abs(X) < 1] = 0.0
    table = scipy.sparse.csr_matrix(X)
    model, twin = (VECTORS[name]().fit(records, y) for records in (table, X))
    assert np.array_equal(model.predict_proba(scipy.sparse.coo_array(X), budget=5), twin.predict_proba(X, budget=5))
    model.partial_fit(table[:10], y[:10])
    twin.partial_fit(X[:10], y[:10])
    assert np.array_equal(model.predict_proba(table, budget=5), twin.predict_proba(X, budget=5))


def test_a_sparse_table_that_does_not_fit_into_memory_is_an_error_with_a_figure():
    table = scipy.sparse.csr_matrix((10_000_000, 100_000))
    model = VECTORS["bayes-tree"]()
    with pytest.raises(
        ValueError, match=r"10000000 x 100000 cells, 8000\.0 GB as an array, and .* GB of memory are free"
    ):
        model.fit(table, np.zeros(10_000_000))
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(model)


def test_free_memory_is_read_where_the_system_does_not_tell_what_is_available(monkeypatch):
    known = free_bytes()
    monkeypatch.setattr("builtins.open", lambda *_: (_ for _ in ()).throw(OSError))
    assert free_bytes() >= known
