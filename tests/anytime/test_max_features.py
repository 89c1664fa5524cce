import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.drift import GaussianNaiveBayes
from anystream.microclusters import MicroClusterClassifier
from anystream.subspace import LocustClassifier


@pytest.mark.parametrize(
    "make",
    [BayesTreeClassifier, GaussianNaiveBayes, LocustClassifier, MicroClusterClassifier],
    ids=lambda c: c.__name__,
)
def test_records_add_features_up_to_a_maximum_and_one_beyond_it_changes_nothing(make):
    model = make()
    model.max_features = 3
    model.learn_one({"a": 1.0, "b": 2.0}, 0)
    model.learn_one({"c": 1.0}, 1)
    before = model.predict_proba_one({"a": 0.5, "c": 1.0})
    with pytest.raises(ValueError, match="1 new features, beside the 3 that the model has; allowed are 3 in all"):
        model.learn_one({"a": 1.0, "d": 2.0}, 0)
    assert list(model.columns_) == ["a", "b", "c"]
    assert model.predict_proba_one({"a": 0.5, "c": 1.0}) == before
    model.learn_one({"a": 1.0, "c": 2.0}, 0)


def test_a_first_record_of_too_many_features_is_refused():
    model = GaussianNaiveBayes()
    with pytest.raises(ValueError, match="10001 new features, beside the 0"):
        model.learn_one({f"f{i}": 1.0 for i in range(10_001)}, 0)
    assert not hasattr(model, "classes_")
