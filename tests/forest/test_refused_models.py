"""What an ensemble cannot represent is refused by name, with what to do."""

import json
import pickle

import joblib
import numpy as np
import pytest
from forest_cases import data
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.ensemble import HistGradientBoostingClassifier as HistGB
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from test_file_layouts import CATBOOST, LIGHTGBM_V2, xgboost_model

from anystream.forest import import_model, read_ensemble
from anystream.model_file import ModelFileError


def texts(records):
    mixed = records.astype(object)
    mixed[:, 3] = np.where(records[:, 3] > 0, "up", "down")
    return mixed


LOGISTIC = LogisticRegression(C=0.1)
REFUSED = {
    "no trees": (lambda X, y: LOGISTIC.fit(X, y), "LogisticRegression cannot be imported: it is no known ensemble"),
    "regression": (lambda X, y: RandomForestRegressor(2).fit(X, y), "RandomForestRegressor cannot be imported"),
    "two outputs": (lambda X, y: DecisionTreeClassifier().fit(X, np.stack([y, y], 1)), "several outputs; train one"),
    "a bag of others": (lambda X, y: BaggingClassifier(LOGISTIC, 2).fit(X, y), "contains LogisticRegression, which is"),
    "init": (lambda X, y: GradientBoostingClassifier(n_estimators=1, init=LOGISTIC).fit(X, y), "init is LogisticReg"),
    "texts": (lambda X, y: HistGB(max_iter=1, categorical_features=[3]).fit(texts(X), y), "that are not numbers"),
}


@pytest.mark.parametrize(("fit", "message"), REFUSED.values(), ids=list(REFUSED))
def test_models_of_scikit_learn_that_do_not_fit_are_refused(fit, message):
    records, labels = data()
    with pytest.raises(ValueError, match=message):
        import_model(fit(records - [0, 16777216, 0, 0], labels))


def test_objects_of_lightgbm_that_do_not_fit_are_refused():
    lightgbm = pytest.importorskip("lightgbm")
    records, labels = data()
    linear = lightgbm.LGBMClassifier(n_estimators=2, linear_tree=True, verbose=-1).fit(records, labels)
    with pytest.raises(ValueError, match="linear leaves"):
        import_model(linear)
    with pytest.raises(ValueError, match="objective is 'regression'"):
        import_model(lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(records, labels))

    def custom(truth, scores):
        return scores - truth, np.ones(len(truth))

    with pytest.raises(ValueError, match="objective is a custom function"):
        import_model(lightgbm.LGBMClassifier(n_estimators=2, objective=custom, verbose=-1).fit(records, labels))


def test_objects_of_xgboost_that_do_not_fit_are_refused():
    xgboost = pytest.importorskip("xgboost")
    records, labels = data(3)
    with pytest.raises(ValueError, match=r"missing value is 0\.0"):
        import_model(xgboost.XGBClassifier(n_estimators=1, missing=0.0).fit(records, labels))
    with pytest.raises(ValueError, match="leaves with several values"):
        import_model(xgboost.XGBClassifier(n_estimators=1, multi_strategy="multi_output_tree").fit(records, labels))
    with pytest.raises(ValueError, match="objective is 'reg:squarederror'"):
        import_model(xgboost.XGBRegressor(n_estimators=1).fit(records, labels))
    with pytest.raises(ValueError, match="booster is 'gblinear'"):
        import_model(xgboost.XGBClassifier(n_estimators=1, booster="gblinear").fit(records, labels))
    with pytest.raises(ValueError, match="no trees; train it first"):
        import_model(xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(records, labels > 1), 0))


def test_a_model_that_was_not_fitted_is_refused():
    with pytest.raises(ValueError, match="not fitted"):
        import_model(RandomForestClassifier())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("shrinkage=1", "is_linear=1", "linear leaves; train with linear_tree=False"),
        ("objective=binary sigmoid:1", "objective=regression", "objective is 'regression', for which no prob"),
        ("objective=binary sigmoid:1", "objective=custom", "objective is 'custom'"),
        ("objective=binary sigmoid:1\n", "", "objective is a custom function"),
        ("version=v2", "version=v9", "version is 'v9', this reads v2, v3, v4"),
        ("version=v2\n", "", "version is None"),
        ("num_leaves=3", "num_leaves=4", "leaf_value has 3 numbers, expected 4"),
        ("num_leaves=3", "num_leaves=0", "no leaves"),
        ("left_child=1 -1", "left_child=1 -9", "beyond the nodes"),
        ("left_child=1 -1", "left_child=0 -1", "two parents"),
        ("split_feature=0 1", "split_feature=0 2", "array 'feature' has 2"),
        ("leaf_value=0.25", "leaf_value=nan", "array 'value' has nan"),
        ("threshold=5.5 0", "threshold=5.5 1", "set of categories 1.0, it has 1"),
        ("cat_boundaries=0 2", "cat_boundaries=0 3", "do not belong together"),
        ("decision_type=2 1", "decision_type=14 1", "decision_type"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=2", "trees per iteration"),
        ("max_feature_idx=1", "max_feature_idx=5", "2 feature names for 6 features"),
        ("leaf_count=10", "leaf_count=ten", "instead of numbers"),
    ],
)
def test_texts_of_lightgbm_that_do_not_fit_are_refused(tmp_path, old, new, message):
    assert old in LIGHTGBM_V2
    path = tmp_path / "model.txt"
    path.write_text(LIGHTGBM_V2.replace(old, new))
    with pytest.raises(ModelFileError, match=rf"model.txt: .*{message}"):
        read_ensemble(path)


def place(content, path, value):
    """Set the value at a path of keys and indices."""
    *parents, last = path
    for key in parents:
        content = content[key]
    content[last] = value


TREE = ("learner", "gradient_booster", "model", "trees", 0)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("learner", "objective", "name"), "reg:squarederror", "objective is 'reg:squarederror', for which no prob"),
        (("learner", "objective", "name"), "binary:hinge", "objective is 'binary:hinge'"),
        (("learner", "gradient_booster", "name"), "gblinear", "booster is 'gblinear', which has no trees"),
        ((*TREE, "tree_param", "size_leaf_vector"), "3", "leaves with several values; train with multi_strategy"),
        (("learner", "learner_model_param", "num_target"), "2", "outputs for the objective"),
        (("learner", "learner_model_param", "base_score"), "[1,2]", r"base_score is '\[1,2\]'"),
        (("learner", "learner_model_param", "base_score"), "1E0", "expected a probability"),
        (("learner", "learner_model_param", "num_feature"), "1", "splits feature 1 of 1"),
        (("learner", "learner_model_param", "num_class"), "99999999", "num_class"),
        (("learner", "gradient_booster", "model", "trees"), [], "'tree_info' has 1 numbers, expected 0"),
        (("learner", "gradient_booster", "model", "tree_info"), [1], "output 1, expected 0 to 0"),
        ((*TREE, "left_children"), [1, 0, -1], "one child|two parents"),
        ((*TREE, "left_children"), [7, -1, -1], "beyond the nodes"),
        ((*TREE, "left_children"), ["a", "b", "c"], "instead of a list of numbers"),
        ((*TREE, "split_conditions"), [0.5, -1.0], "has 2 numbers, expected 3"),
        ((*TREE, "split_type"), [1, 0, 0], "without categories"),
        (("learner", "attributes"), {"best_iteration": "7"}, "best_iteration"),
    ],
)
def test_json_of_xgboost_that_does_not_fit_is_refused(tmp_path, path, value, message):
    content = xgboost_model([3, 2, 0], "5E-1")
    place(content, path, value)
    file = tmp_path / "model.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=rf"model.json: .*{message}"):
        read_ensemble(file)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("features_info", "text_features"), [{}], "text features"),
        (("oblivious_trees", 0, "splits", 1, "split_type"), "OnlineCtr", "split of type 'OnlineCtr'"),
        (("features_info", "cat_features_hash"), [], "pool=training_pool"),
        (("features_info", "cat_features_hash", 0, "value"), "red", "category 'red', which is not a number"),
        (("model_info", "params"), {"loss_function": {"type": "RMSE"}}, "loss function is 'RMSE'"),
        (("oblivious_trees", 0, "leaf_values"), [0, 1], "has 2 numbers, expected 8"),
        (("oblivious_trees", 0, "splits", 0, "float_feature_index"), 9, "feature 9 of 2"),
        (("features_info", "float_features", 0, "nan_value_treatment"), "Odd", "nan_value_treatment is 'Odd'"),
        (("scale_and_bias",), [1, [0, 0]], "2 biases, expected 1"),
        (("oblivious_trees",), [], "no trees"),
    ],
)
def test_json_of_catboost_that_does_not_fit_is_refused(tmp_path, path, value, message):
    content = json.loads(json.dumps(CATBOOST))
    place(content, path, value)
    file = tmp_path / "model.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=rf"model.json: .*{message}"):
        read_ensemble(file)


@pytest.mark.parametrize("compress", [0, ("zlib", 3), ("gzip", 3), ("bz2", 3), ("xz", 3), ("lzma", 3)])
def test_joblib_files_are_refused_with_the_lines_that_import_them(tmp_path, compress):
    path = tmp_path / "forest.joblib"
    joblib.dump(RandomForestClassifier(1).fit(*data()), path, compress=compress)
    with pytest.raises(
        ModelFileError, match=r'can run any code; .*joblib.load\("forest.joblib"\); .*from_model\(model\).save\("'
    ):
        read_ensemble(path)


@pytest.mark.parametrize("protocol", [2, 5])
def test_pickles_are_refused_and_not_run(tmp_path, protocol):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(pytest.fail, protocol))
    with pytest.raises(ModelFileError, match="pickle or joblib"):
        read_ensemble(path)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "no known format"),
        (b"\x00\x01", "no known format"),
        (b"CBM1....", "format='json'"),
        (b"binf\x00\x00", "save it again"),
        (b"PK\x03\x04", "ZIP"),
        (b"{}", "no model of XGBoost or CatBoost"),
        (b'{"learner": 3}', "'learner' is 3 instead of an object"),
        (b"[1]", "no known format"),
    ],
)
def test_other_files_are_refused(tmp_path, raw, message):
    path = tmp_path / "file"
    path.write_bytes(raw)
    with pytest.raises(ModelFileError, match=message):
        read_ensemble(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_ensemble(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="folder or a device"):
        read_ensemble(tmp_path)
