"""Models of scikit-learn to import."""

import numpy as np
from forest_cases import CATEGORY, Case, data
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

LETTERS = [chr(ord("a") + i) for i in range(26)]


def _answer(model, records):
    return model.predict_proba(records), np.searchsorted(model.classes_, model.predict(records))


def _case(name, model, n_classes=2, *, labels=None, target=None, **options):
    def fit():
        records, numbers = data(n_classes, **options)
        y = numbers if labels is None else np.asarray(labels)[numbers]
        return model.fit(records, y if target is None else target)

    return Case("scikit-learn", name, fit, _answer)


def averaging_cases():
    tree, forest = DecisionTreeClassifier, RandomForestClassifier
    yield _case("tree", tree(random_state=0))
    yield _case("tree, NaN", tree(random_state=0), missing=True)
    yield _case("tree, single leaf", tree(max_depth=1, min_samples_leaf=200))
    yield _case("tree, one class", tree(), 1, labels=["only"])
    yield _case("random forest, texts", forest(20, max_depth=4, random_state=0), labels=["no", "yes"])
    yield _case("random forest, NaN", forest(20, random_state=0), 3, missing=True)
    yield _case("random forest, 26 classes", forest(10, random_state=0), 26, labels=LETTERS)
    yield _case("random forest, class weights", forest(10, class_weight="balanced", random_state=0), 3)
    yield _case("extra trees, NaN", ExtraTreesClassifier(15, random_state=0), 3, missing=True)
    subsets = BaggingClassifier(tree(max_depth=5), 15, max_features=0.5, random_state=0)
    yield _case("bagging, feature subsets", subsets, 3)
    few = BaggingClassifier(tree(), 8, max_samples=0.05, random_state=0)
    yield _case("bagging, few records", few, 10, labels=LETTERS[:10])


def boosting_cases():
    boosting = GradientBoostingClassifier
    yield _case("gradient boosting", boosting(n_estimators=20, random_state=0))
    yield _case("gradient boosting, exponential", boosting(n_estimators=20, loss="exponential", random_state=0))
    yield _case("gradient boosting, shrinkage", boosting(n_estimators=10, learning_rate=0.03, random_state=0), 5)
    yield _case("gradient boosting, init zero", boosting(n_estimators=5, init="zero", random_state=0), 3)
    tie = boosting(n_estimators=1, init="zero", min_samples_leaf=200)
    yield _case("gradient boosting, a tie", tie, target=np.arange(240) % 2)
    histogram = HistGradientBoostingClassifier
    yield _case("hist boosting", histogram(max_iter=20, random_state=0))
    yield _case("hist boosting, NaN, 4 classes", histogram(max_iter=8, random_state=0), 4, missing=True)
    yield _case("hist boosting, 26 classes", histogram(max_iter=3, min_samples_leaf=3, random_state=0), 26)
    yield _case("hist boosting, single leaf", histogram(max_iter=2, min_samples_leaf=200))
    values = tuple(np.arange(40) * 2.5 - 7)
    for missing in (False, True):
        model = histogram(max_iter=15, min_samples_leaf=5, categorical_features=[CATEGORY, 0], random_state=0)
        name = f"hist boosting, categories{', NaN' * missing}"
        yield _case(name, model, 3, categories=values, missing=missing)


CASES = [*averaging_cases(), *boosting_cases()]
