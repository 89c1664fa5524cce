"""Models of LightGBM to import."""

import numpy as np
import pandas as pd
from forest_cases import CATEGORY, Case, data


def _answer(model, records):
    if hasattr(model, "classes_"):
        proba = model.predict_proba(records)
        return proba, np.searchsorted(model.classes_, model.predict(records))
    proba = model.predict(records)
    return proba, proba.argmax(axis=1) if proba.ndim > 1 else (proba > 0.5).astype(int)


def _export(model, folder):
    path = folder / "model.txt"
    getattr(model, "booster_", model).save_model(path)
    return [path]


def _case(name, n_classes=2, rounds=15, *, parameters=None, categorical=(), export=_export, **options):
    def fit():
        import lightgbm

        records, labels = data(n_classes, **options)
        basic = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 3, "num_leaves": 8}
        if n_classes > 2:
            basic |= {"objective": "multiclass", "num_class": n_classes}
        if categorical:
            basic |= {"min_data_per_group": 1, "cat_smooth": 1, "max_cat_to_onehot": 1}
        dataset = lightgbm.Dataset(records, labels, categorical_feature=list(categorical), params={"verbose": -1})
        return lightgbm.train(basic | (parameters or {}), dataset, rounds)

    return Case("lightgbm", name, fit, _answer, export=export)


def booster_cases():
    yield _case("binary, NaN", missing=True)
    yield _case("no NaN in training")
    yield _case("zero is missing", zeros=True, parameters={"zero_as_missing": True})
    yield _case("zero is missing, NaN", zeros=True, missing=True, parameters={"zero_as_missing": True})
    yield _case("NaN is zero", missing=True, parameters={"use_missing": False})
    yield _case("sigmoid 0.7, not from average", parameters={"sigmoid": 0.7, "boost_from_average": False})
    yield _case("5 classes", 5, missing=True)
    yield _case("26 classes", 26, 3)
    yield _case("one against all", 4, parameters={"objective": "multiclassova"})
    yield _case("categories", categorical=[CATEGORY], categories=tuple(range(0, 80, 2)))
    yield _case("categories, NaN, 3 classes", 3, categorical=[CATEGORY], categories=tuple(range(80)), missing=True)
    forest = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6, "feature_fraction": 0.7}
    yield _case("random forest", parameters=forest)
    yield _case("random forest, 3 classes", 3, parameters=forest)
    yield _case("dart", 3, parameters={"boosting": "dart", "drop_rate": 0.5})
    yield _case("single leaf", rounds=3, parameters={"min_data_in_leaf": 200})
    yield _case("10,000 trees", rounds=10_000, parameters={"num_leaves": 2, "learning_rate": 0.01}, export=None)


def classifier_cases():
    def one_class():
        import lightgbm

        return lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(data()[0], np.full(240, 7))

    def answer_one_class(model, records):
        return np.ones((len(records), 1)), np.zeros(len(records), int)

    yield Case("lightgbm", "one class", one_class, answer_one_class)

    def early_stopping():
        import lightgbm

        records, numbers = data(3, missing=True)
        labels = np.array(["x", "y", "z"])[numbers]
        model = lightgbm.LGBMClassifier(n_estimators=200, learning_rate=0.5, verbose=-1, n_jobs=1, min_child_samples=3)
        stop = lightgbm.early_stopping(3, verbose=False)
        model.fit(records[:150], labels[:150], eval_set=[(records[150:], labels[150:])], callbacks=[stop])
        assert model.best_iteration_ < 200
        return model

    yield Case("lightgbm", "early stopping, texts as classes", early_stopping, _answer)

    def data_frame():
        import lightgbm

        records, labels = data(2, categories=known)
        options = {"verbose": -1, "n_jobs": 1, "min_child_samples": 3, "min_data_per_group": 1, "cat_smooth": 1}
        return lightgbm.LGBMClassifier(n_estimators=10, **options).fit(frame_of(records), labels)

    def frame_of(records):
        return pd.DataFrame(records, columns=list("abcd")).astype({"d": pd.CategoricalDtype(known)})

    def answer_frame(model, records):
        return _answer(model, frame_of(records))

    known = (10.0, 20, 30, 70, 80, 90)

    yield Case("lightgbm", "categories of a data frame", data_frame, answer_frame)


CASES = [*booster_cases(), *classifier_cases()]
