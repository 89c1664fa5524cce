"""Models of XGBoost to import."""

import json

import pandas as pd
from forest_cases import CATEGORY, N_FEATURES, Case, data


def _answer(model, records):
    import xgboost

    if hasattr(model, "classes_"):
        proba = model.predict_proba(records)
        return proba[:, 1] if len(model.classes_) == 2 else proba, model.predict(records)
    features = xgboost.DMatrix(records, feature_types=model.feature_types, enable_categorical=True)
    proba = model.predict(features)
    if proba.ndim == 1 and json.loads(model.save_config())["learner"]["objective"]["name"] == "multi:softmax":
        model.set_param({"objective": "multi:softprob"})
        labels, proba = proba.astype(int), model.predict(features)
        model.set_param({"objective": "multi:softmax"})
        return proba, labels
    return proba, proba.argmax(axis=1) if proba.ndim > 1 else (proba > 0.5).astype(int)


def _export(model, folder):
    paths = [folder / "model.json", folder / "model.ubj"]
    for path in paths:
        model.save_model(path)
    return paths


def _case(name, n_classes=2, rounds=10, *, parameters=None, categorical=(), export=_export, **options):
    def fit():
        import xgboost

        records, labels = data(n_classes, **options)
        basic = {"objective": "binary:logistic", "nthread": 1, "max_depth": 3, "seed": 0}
        if n_classes > 2:
            basic |= {"objective": "multi:softprob", "num_class": n_classes}
        types = ["c" if feature in categorical else "q" for feature in range(N_FEATURES)]
        features = xgboost.DMatrix(records, labels, feature_types=types, enable_categorical=True)
        return xgboost.train(basic | (parameters or {}), features, rounds)

    return Case("xgboost", name, fit, _answer, single=True, export=export)


def booster_cases():
    yield _case("binary, NaN", missing=True)
    yield _case("exact splits, shrinkage", parameters={"tree_method": "exact", "eta": 0.07})
    yield _case("base score as probability", parameters={"base_score": 0.11})
    yield _case("5 classes, NaN", 5, missing=True)
    yield _case("5 classes, base score", 5, parameters={"base_score": 0.3})
    yield _case("26 classes", 26, 3)
    yield _case("labels only", 3, parameters={"objective": "multi:softmax"})
    yield _case("dart", 3, 15, parameters={"booster": "dart", "rate_drop": 0.5})
    yield _case("num_parallel_tree", 3, 4, parameters={"num_parallel_tree": 5, "subsample": 0.6, "eta": 1})
    one_hot, few = {"max_cat_to_onehot": 100}, tuple(range(12))
    yield _case("categories, one-hot", categorical=[CATEGORY], categories=few, parameters=one_hot)
    sets, many = {"max_cat_to_onehot": 1, "max_depth": 5, "min_child_weight": 0}, tuple(range(0, 90, 2))
    yield _case("categories, NaN", 3, categorical=[CATEGORY], categories=many, missing=True, parameters=sets)
    yield _case("single leaf", rounds=3, parameters={"gamma": 1e9})
    stumps = {"num_parallel_tree": 20, "subsample": 0.5, "max_depth": 1, "eta": 0.05}
    yield _case("10,000 trees", rounds=500, parameters=stumps, export=None)


def classifier_cases():
    def early_stopping():
        import xgboost

        records, labels = data(3, missing=True)
        model = xgboost.XGBClassifier(n_estimators=100, learning_rate=0.9, n_jobs=1, early_stopping_rounds=2)
        model.fit(records[:150], labels[:150], eval_set=[(records[150:], labels[150:])], verbose=False)
        assert model.best_iteration < 99
        return model

    yield Case("xgboost", "early stopping", early_stopping, _answer, single=True, export=_export)

    def forest():
        import xgboost

        return xgboost.XGBRFClassifier(n_estimators=10, n_jobs=1, max_depth=4).fit(*data(2))

    yield Case("xgboost", "random forest", forest, _answer, single=True, export=_export)

    def data_frame():
        import xgboost

        records, labels = data(2, categories=known)
        model = xgboost.XGBClassifier(n_estimators=10, n_jobs=1, enable_categorical=True, max_cat_to_onehot=1)
        return model.fit(frame_of(records), labels)

    def frame_of(records):
        return pd.DataFrame(records, columns=list("abcd")).astype({"d": int}).astype({"d": "category"})

    def answer_frame(model, records):
        return _answer(model, frame_of(records))

    known = (10, 20, 30, 70, 80, 90)  # XGBoost raises for others
    name = "categories of a data frame"
    yield Case("xgboost", name, data_frame, answer_frame, single=True, category_values=known, export=_export)


CASES = [*booster_cases(), *classifier_cases()]
