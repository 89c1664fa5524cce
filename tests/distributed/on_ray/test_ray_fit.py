"""Fitting by parts on a cluster of Ray."""

import numpy as np
import pytest
from inline_tasks import InlineTasks
from sklearn.datasets import load_digits

from anystream import BayesTreeClassifier, LocustClassifier
from anystream.distributed import PartError, fit

X, Y = load_digits(return_X_y=True)
X, TEST, Y = X[:900, 10:30], X[900:, 10:30], Y[:900]
PARTS = [(X[i::8], Y[i::8]) for i in range(8)]


def test_eight_parts_on_ray_give_the_model_of_the_whole(cluster):
    whole = BayesTreeClassifier().fit(*(np.concatenate(arrays) for arrays in zip(*PARTS, strict=True)))
    model = fit(BayesTreeClassifier(), PARTS, on="ray")
    np.testing.assert_array_equal(model.predict_proba(TEST), whole.predict_proba(TEST))


def test_object_references_are_parts(cluster):
    import ray

    model = fit(LocustClassifier(), [ray.put(part) for part in PARTS], on="ray", fan_in=3)
    expected = fit(LocustClassifier(), PARTS, on=InlineTasks(0), fan_in=3)
    np.testing.assert_array_equal(model.predict_proba(TEST), expected.predict_proba(TEST))


def test_tables_behind_object_references_are_parts(cluster):
    import ray

    arrow = pytest.importorskip("pyarrow")
    tables = [
        arrow.table({f"f{i}": records[:, i] for i in range(records.shape[1])} | {"class": labels})
        for records, labels in PARTS
    ]
    model = fit(LocustClassifier(), [ray.put(table) for table in tables], label="class", on="ray")
    expected = fit(LocustClassifier(), PARTS, on=InlineTasks(0))
    np.testing.assert_array_equal(model.predict_proba(TEST), expected.predict_proba(TEST))


def test_a_dataset_of_ray_is_fitted_block_by_block(cluster):
    data = pytest.importorskip("ray.data")
    columns = {f"f{i}": X[:, i] for i in range(X.shape[1])} | {"class": Y}
    dataset = data.from_pandas(pytest.importorskip("pandas").DataFrame(columns)).repartition(4)
    model = fit(LocustClassifier(), dataset, label="class", on="ray")
    assert (model.predict(X) == Y).mean() > 0.9


def test_a_part_that_cannot_be_read_is_named(cluster, tmp_path):
    (tmp_path / "a.csv").write_text("f0,class\n1,2,3\n")
    with pytest.raises(PartError, match=r"a\.csv"):
        fit(LocustClassifier(), str(tmp_path / "*.csv"), label="class", on="ray")
