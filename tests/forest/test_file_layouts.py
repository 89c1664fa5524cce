"""Small files written by hand, in the layouts of earlier versions, with answers computed by hand."""

import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from anystream.forest import read_ensemble
from anystream.forest.evaluation import score_records

LIGHTGBM_V2 = """tree
version=v2
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=binary sigmoid:1
feature_names=age colour
feature_infos=[0:10] 0:1:33

Tree=0
num_leaves=3
num_cat=1
split_feature=0 1
split_gain=1 1
threshold=5.5 0
decision_type=2 1
left_child=1 -1
right_child=-3 -2
leaf_value=0.25 -0.5 1
leaf_count=10 30 60
internal_value=0 0
internal_count=100 40
cat_boundaries=0 2
cat_threshold=1 2
shrinkage=1


feature importances:
age=1
"""


def scores(path, records):
    return score_records(read_ensemble(path), np.array(records, float))


def test_lightgbm_v2_with_categories_and_without_tree_sizes(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text(LIGHTGBM_V2)
    ensemble = read_ensemble(path)
    assert (ensemble.feature_names, ensemble.source) == (("age", "colour"), "LightGBM text v2")
    # age <= 5.5 goes left; of colours, 0 and 33 (bit 1 of word 1) go left; NaN as age is 0, as colour in no set
    records = [[5.5, 0], [5.5, 33], [5.5, 1], [5.6, 0], [np.nan, 0], [1, np.nan], [1, -0.5]]
    assert_array_equal(scores(path, records)[:, 0], [0.25, 0.25, -0.5, 1, 0.25, -0.5, 0.25])
    assert_allclose(ensemble.value[0, 0], 0.1 * 0.25 + 0.3 * -0.5 + 0.6 * 1)


def test_reading_a_file_imports_no_framework(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text(LIGHTGBM_V2)
    code = f"from anystream.forest import read_ensemble; import sys; read_ensemble({str(path)!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"lightgbm", "xgboost", "catboost", "sklearn"} & set(loaded)


def test_lightgbm_v3_averages_where_the_header_says_so(tmp_path):
    leaf = "Tree={}\nnum_leaves=1\nnum_cat=0\nleaf_value={}\nis_linear=0\nshrinkage=1\n\n\n"
    head = LIGHTGBM_V2.partition("Tree=0")[0].replace("version=v2", "version=v3\naverage_output")
    path = tmp_path / "forest.txt"
    path.write_text(head + leaf.format(0, 1) + leaf.format(1, 4) + "end of trees\n")
    assert_array_equal(scores(path, [[0, 0]]), [[2.5]])


def xgboost_model(version, base_score, **changes):
    tree = {
        "base_weights": [0.0, 0.0, 0.0],
        "default_left": [True, False, False],
        "id": 0,
        "left_children": [1, -1, -1],
        "loss_changes": [1.0, 0.0, 0.0],
        "parents": [2147483647, 0, 0],
        "right_children": [2, -1, -1],
        "split_conditions": [0.5, -1.0, 2.0],
        "split_indices": [1, 0, 0],
        "sum_hessian": [4.0, 1.0, 3.0],
        "tree_param": {"num_deleted": "0", "num_feature": "2", "num_nodes": "3", "size_leaf_vector": "0"},
    }
    parameters = {"base_score": base_score, "num_class": "0", "num_feature": "2"}
    model = {"gbtree_model_param": {"num_trees": "1", "size_leaf_vector": "0"}, "tree_info": [0], "trees": [tree]}
    learner = {
        "attributes": {},
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": parameters,
        "objective": {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}},
    }
    return {"learner": learner | changes, "version": version}


@pytest.mark.parametrize(("version", "base_score"), [([1, 0, 0], "5E-1"), ([2, 0, 3], "5E-1"), ([3, 1, 0], "[5E-1]")])
def test_xgboost_json_before_categories_and_iterations(tmp_path, version, base_score):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(xgboost_model(version, base_score)))
    ensemble = read_ensemble(path)
    assert ensemble.source == f"XGBoost {version[0]}.{version[1]}.{version[2]}"
    # below 0.5 goes left, 0.5 does not; NaN goes left
    below = np.nextafter(np.float32(0.5), np.float32(0))
    assert_array_equal(scores(path, [[9, below], [9, 0.5], [9, np.nan]])[:, 0], [-1, 2, -1])
    assert ensemble.value[0, 0] == 0.25 * -1 + 0.75 * 2


def test_xgboost_base_score_is_a_probability_for_two_classes_and_a_score_for_more(tmp_path):
    path = tmp_path / "model.json"
    content = xgboost_model([1, 7, 6], "2E-1")
    path.write_text(json.dumps(content))
    assert_allclose(scores(path, [[0, 0]]), [[np.log(0.25) - 1]], rtol=1e-6)
    learner = content["learner"]
    learner["objective"] = {"name": "multi:softprob"}
    learner["learner_model_param"]["num_class"] = "3"
    path.write_text(json.dumps(content))
    assert_allclose(scores(path, [[0, 0]]), [[0.2 - 1, 0.2, 0.2]], rtol=1e-6)
    learner["learner_model_param"]["base_score"] = "[1E0,2E0,3E0]"
    path.write_text(json.dumps(content))
    assert_allclose(scores(path, [[0, 0]]), [[0, 2, 3]], rtol=1e-6)


def test_xgboost_dart_multiplies_leaves_by_their_weight(tmp_path):
    content = xgboost_model([1, 4, 0], "5E-1")
    booster = content["learner"]["gradient_booster"]
    content["learner"]["gradient_booster"] = {"name": "dart", "gbtree": booster, "weight_drop": [0.25]}
    path = tmp_path / "dart.json"
    path.write_text(json.dumps(content))
    assert_array_equal(scores(path, [[0, 0], [0, 1]])[:, 0], [-0.25, 0.5])


def test_xgboost_adds_in_float32_in_the_order_of_the_trees(tmp_path):
    content = xgboost_model([3, 2, 0], "[5E-1]")
    model = content["learner"]["gradient_booster"]["model"]
    model["trees"] = [model["trees"][0] | {"split_conditions": [0.5, 0.0, value]} for value in (2.0**24, 1.0, 1.0, 2.0)]
    model["tree_info"] = [0] * 4
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    assert scores(path, [[0, 1]]).tolist() == [[2**24 + 2]]  # 1 is lost twice


def test_xgboost_uses_the_trees_up_to_the_best_iteration(tmp_path):
    content = xgboost_model([1, 3, 0], "5E-1", attributes={"best_iteration": "0"})
    model = content["learner"]["gradient_booster"]["model"]
    model["trees"] *= 3
    model["tree_info"] *= 3
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    assert read_ensemble(path).n_trees == 1


CATBOOST = {
    "features_info": {
        "float_features": [
            {"feature_index": 0, "flat_feature_index": 0, "nan_value_treatment": "AsTrue", "borders": [0.5]},
            {"feature_index": 1, "flat_feature_index": 2, "nan_value_treatment": "AsIs", "borders": [1.5]},
        ],
        "categorical_features": [{"feature_index": 0, "flat_feature_index": 1, "values": [-5, 7]}],
        "cat_features_hash": [{"hash": 2**32 - 5, "value": "12"}],
    },
    "model_info": {"params": json.dumps({"loss_function": {"type": "Logloss"}})},
    "oblivious_trees": [
        {
            "leaf_values": [0, 1, 2, 3, 4, 5, 6, 7],
            "leaf_weights": [1, 1, 1, 1, 1, 1, 1, 1],
            "splits": [
                {"split_type": "FloatFeature", "float_feature_index": 0, "border": 0.5},
                {"split_type": "OneHotFeature", "cat_feature_index": 0, "value": -5},
                {"split_type": "FloatFeature", "float_feature_index": 1, "border": 1.5},
            ],
        }
    ],
    "scale_and_bias": [2, 10],
}


def test_catboost_json_with_parameters_as_text_and_one_bias(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(CATBOOST))
    # bit 0: feature 0 > 0.5, NaN is above; bit 1: the category is 12; bit 2: feature 2 > 1.5, NaN is not
    records = [[0.5, 3, 1.5], [0.6, 3, 0], [np.nan, 3, 0], [0, 12, 0], [0, 3, 2], [1, 12, 2], [0, 3, np.nan]]
    assert_array_equal(scores(path, records)[:, 0], 10 + 2 * np.array([0, 1, 1, 2, 4, 7, 0]))
    assert read_ensemble(path).value[0, 0] == 7
    assert read_ensemble(path).classes.tolist() == [0, 1]


def test_catboost_nested_trees_without_weights_count_leaves_alike(tmp_path):
    split = CATBOOST["oblivious_trees"][0]["splits"][0]
    inner = {"split": split, "left": {"value": [1, 0, 0]}, "right": {"value": [0, 4, 0]}}
    content = {key: value for key, value in CATBOOST.items() if key != "oblivious_trees"} | {
        "model_info": {
            "params": {"loss_function": {"type": "MultiClass"}},
            "class_params": {"class_names": ["a", "b", "c"]},
        },
        "trees": [{"split": CATBOOST["oblivious_trees"][0]["splits"][2], "left": inner, "right": {"value": [0, 0, 9]}}],
        "scale_and_bias": [1, [0, 0, 1]],
    }
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    assert_array_equal(scores(path, [[0, 0, 0], [1, 0, 0], [0, 0, 2]]), [[1, 0, 1], [0, 4, 1], [0, 0, 10]])
    ensemble = read_ensemble(path)
    assert ensemble.classes.tolist() == ["a", "b", "c"]
    assert_allclose(ensemble.value[0], np.array([1, 4, 9]) / 3)
