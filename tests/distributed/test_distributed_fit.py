"""Fitting by parts in local processes."""

import os
import signal

import numpy as np
import pytest
from inline_tasks import InlineTasks
from sklearn.datasets import load_digits

from anystream import BayesTreeClassifier, LocustClassifier
from anystream._native import Counter, StopToken
from anystream.distributed import ColumnRoles, PartError, fit, fit_parts
from anystream.distributed.tasks import Call, LostError, count_merges, merge_in_tree, run_calls
from anystream.drift import OnlineTree2

pytestmark = pytest.mark.slow

X, Y = load_digits(return_X_y=True)
X, Y = X[:900, 10:30], Y[:900]
TEST = load_digits(return_X_y=True)[0][900:, 10:30]
FAST = {"metric": None, "root_model": None}


def split(n):
    return [(X[i::n], Y[i::n]) for i in range(n)]


def write_csv(folder, n):
    for number, (records, labels) in enumerate(split(n)):
        rows = [",".join([*(f"f{i}" for i in range(records.shape[1])), "class"])]
        rows += [",".join(map(str, [*record, label])) for record, label in zip(records, labels, strict=True)]
        (folder / f"part-{number}.csv").write_text("\n".join(rows) + "\n")
    return str(folder / "part-*.csv")


@pytest.mark.parametrize("estimator", [BayesTreeClassifier(**FAST), LocustClassifier()], ids=["bayes-tree", "locust"])
def test_the_model_does_not_depend_on_the_order_in_which_tasks_end(estimator):
    models = [fit(estimator, split(11), on=InlineTasks(seed), fan_in=3) for seed in range(4)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.predict_proba(TEST), models[0].predict_proba(TEST))


def test_a_bayes_tree_of_parts_is_that_of_the_whole():
    records, labels = zip(*split(5), strict=True)
    whole = BayesTreeClassifier().fit(np.concatenate(records), np.concatenate(labels))
    model = fit(BayesTreeClassifier(), split(5), on=InlineTasks(0))
    assert model.recipe_ == whole.recipe_
    for budget in (0, 10, 200):
        np.testing.assert_array_equal(
            model.predict_proba(TEST, budget=budget), whole.predict_proba(TEST, budget=budget)
        )


def test_trees_side_by_side_have_the_exhausted_density_of_the_whole():
    estimator = BayesTreeClassifier(**FAST, decision="mixture", bandwidth="f0.05")
    side_by_side = fit(estimator, split(5), on=InlineTasks(0), rebuild=False)
    built = fit(estimator, split(5), on=InlineTasks(0))
    np.testing.assert_allclose(
        side_by_side.predict_proba(TEST, budget=10**6), built.predict_proba(TEST, budget=10**6), atol=1e-6
    )
    assert (side_by_side.predict_proba(TEST, budget=5) != built.predict_proba(TEST, budget=5)).any()


def test_parts_of_different_classes_make_a_model_of_all():
    parts = [(X[label == Y], Y[label == Y]) for label in range(10)]
    model = fit(LocustClassifier(), parts, on=InlineTasks(0))
    assert sorted(model.classes_) == list(range(10))


def test_files_are_fitted_in_local_processes_as_in_this_one(tmp_path):
    pattern = write_csv(tmp_path, 4)
    here = fit_parts(BayesTreeClassifier(**FAST), pattern, label="class", on=InlineTasks(0))
    there = fit_parts(BayesTreeClassifier(**FAST), pattern, label="class", workers=2)
    assert there.n_records == len(Y)
    assert there.schema == here.schema
    assert there.model.n_jobs is None
    np.testing.assert_array_equal(there.model.predict_proba(TEST), here.model.predict_proba(TEST))


def test_tables_in_memory_are_parts(tmp_path):
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    write_csv(tmp_path, 2)
    frames = [pandas.read_csv(tmp_path / f"part-{i}.csv") for i in range(2)]
    from_frames = fit(LocustClassifier(), frames, label="class", on=InlineTasks(0))
    from_tables = fit(LocustClassifier(), map(arrow.Table.from_pandas, frames), label="class", on=InlineTasks(0))
    from_files = fit(LocustClassifier(), str(tmp_path / "part-*.csv"), label="class", on=InlineTasks(0))
    for model in (from_frames, from_tables):
        np.testing.assert_array_equal(model.predict(TEST), from_files.predict(TEST))


def test_categories_of_all_parts_are_known_to_the_model(tmp_path):
    for number, colours in enumerate((["red", "blue"], ["green", "red"])):
        rows = [f"{i},{colours[i % 2]},{'ab'[i % 2]}" for i in range(40)]
        (tmp_path / f"{number}.csv").write_text("\n".join(["size,colour,class", *rows]))
    fitted = fit_parts(LocustClassifier(), str(tmp_path / "*.csv"), label="class", on=InlineTasks(0))
    assert fitted.schema.feature_names == ["size", "colour=blue", "colour=green", "colour=red"]


def test_a_part_that_cannot_be_read_is_named(tmp_path):
    pattern = write_csv(tmp_path, 3)
    (tmp_path / "part-1.csv").write_text("f0,class\n1,2,3\n")
    with pytest.raises(PartError, match=r"part-1\.csv.*unreadable='skip'"):
        fit(LocustClassifier(), pattern, label="class", on=InlineTasks(0))


def test_a_part_that_cannot_be_read_is_left_out_if_that_is_wanted(tmp_path):
    pattern = write_csv(tmp_path, 3)
    (tmp_path / "part-1.csv").write_bytes(b"")
    with pytest.warns(RuntimeWarning, match=r"left out: .*part-1\.csv"):
        fitted = fit_parts(LocustClassifier(), pattern, label="class", on=InlineTasks(0), unreadable="skip")
    assert list(fitted.skipped) == [str(tmp_path / "part-1.csv")]
    expected = fit(
        LocustClassifier(), [str(tmp_path / f"part-{i}.csv") for i in (0, 2)], label="class", on=InlineTasks(0)
    )
    np.testing.assert_array_equal(fitted.model.predict(TEST), expected.predict(TEST))


def test_a_classifier_that_cannot_merge_says_so():
    with pytest.raises(TypeError, match=r"OnlineTree2 cannot be merged.*BayesTreeClassifier"):
        fit(OnlineTree2(), split(2))


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        ([], {}, "no parts"),
        (["nothing-*.csv"], {}, "no file matches"),
        (3, {}, "parts is a int"),
        ([(X, Y[:5])], {}, "part 0 has 900 records and 5 labels"),
        ([(X, Y)], {"on": "spark"}, "no backend 'spark'"),
        ([(X, Y)], {"workers": 0}, "0 workers"),
        ([(X, Y)], {"unreadable": "ignore"}, "unreadable is 'ignore'"),
        ([(X, Y)], {"fan_in": 1}, "fan_in 1"),
    ],
)
def test_wrong_arguments_name_the_value(parts, options, message):
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        fit(LocustClassifier(), parts, **options)


def die_once(path):
    if not os.path.exists(path):
        open(path, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return 7


def test_a_task_whose_process_is_killed_runs_again(tmp_path):
    from anystream.distributed.local_tasks import LocalTasks

    backend = LocalTasks(1)
    try:
        calls = [Call(die_once, (str(tmp_path / "died"),))]
        handles = run_calls(backend, calls, retries=1, done=Counter(), stop=StopToken())
        assert backend.fetch(handles[0]) == 7
        (tmp_path / "died").unlink()
        lost = run_calls(backend, calls, retries=0, done=Counter(), stop=StopToken())
        assert isinstance(lost[0], LostError)
    finally:
        backend.close()


def test_neighbours_are_merged_in_a_fixed_tree():
    def join(*texts):
        return f"({' '.join(texts)})"

    for seed in range(5):
        backend, done = InlineTasks(seed), Counter()
        models = run_calls(backend, [Call(str, (i,)) for i in range(10)], retries=0, done=Counter(), stop=StopToken())
        merged = merge_in_tree(join, backend, models, fan_in=4, retries=0, done=done, stop=StopToken())
        assert backend.fetch(merged) == "((0 1 2) (3 4 5) (6 7 8 9))"
        assert done.value == count_merges(10, 4) == 4


def test_roles_of_columns_are_those_of_the_command_line(tmp_path):
    rows = [f"k{i},{i % 7},{i % 3},{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "one.csv").write_text("\n".join(["id,size,noise,class", *rows]))
    roles = ColumnRoles(label="class", key="id", ignore=["noise"], categorical=["size"])
    fitted = fit_parts(LocustClassifier(), str(tmp_path / "one.csv"), roles=roles, on=InlineTasks(0))
    assert fitted.schema.feature_names == [f"size={i}" for i in range(7)]
