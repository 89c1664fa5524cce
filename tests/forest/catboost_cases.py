"""Models of CatBoost to import."""

import numpy as np
import pandas as pd
from forest_cases import CATEGORY, Case, data


def _answer(model, records):
    frame = _frame(model, records)
    proba = model.predict_proba(frame)
    labels = np.asarray(model.predict(frame)).reshape(-1).astype(model.classes_.dtype)
    return proba, np.searchsorted(model.classes_, labels)


def _frame(model, records):
    if not model.get_param("cat_features"):
        return records
    frame = pd.DataFrame(records)
    frame[CATEGORY] = np.nan_to_num(records[:, CATEGORY], nan=-1).astype(int)
    return frame


def _case(name, n_classes=2, *, categories=None, labels=None, **parameters):
    missing = parameters.pop("missing", True)

    def fit():
        from catboost import CatBoostClassifier

        records, numbers = data(n_classes, missing=missing, categories=categories)
        options = {"iterations": 10, "verbose": 0, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
        if categories is not None:
            options |= {"cat_features": [CATEGORY], "one_hot_max_size": 100}
        model = CatBoostClassifier(**options, **parameters)
        y = numbers if labels is None else np.asarray(labels)[numbers]
        return model.fit(_frame(model, records), y)

    def export(model, folder):
        from catboost import Pool

        path = folder / "model.json"
        records, _ = data(n_classes, missing=missing, categories=categories)
        pool = Pool(_frame(model, records), cat_features=model.get_param("cat_features"))
        model.save_model(str(path), format="json", pool=pool)
        return [path]

    seen = None if categories is None else (*categories, 50, 1234567)
    return Case("catboost", name, fit, _answer, category_values=seen, export=export)


def _cases():
    yield _case("binary, NaN below")
    yield _case("binary, NaN above", nan_mode="Max")
    yield _case("binary, no NaN", missing=False)
    yield _case("5 classes, texts", 5, labels=list("vwxyz"))
    yield _case("26 classes", 26, depth=2)
    yield _case("one against all", 3, loss_function="MultiClassOneVsAll")
    yield _case("lossguide", 3, grow_policy="Lossguide", max_leaves=9)
    yield _case("depthwise", 2, grow_policy="Depthwise")
    yield _case("categories", 2, categories=tuple(range(-1, 9)))
    yield _case("categories, lossguide", 3, categories=tuple(range(-1, 9)), grow_policy="Lossguide")


CASES = list(_cases())
