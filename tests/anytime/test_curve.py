import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from anystream import AnytimeCurve, BayesTreeClassifier, anytime_curve
from anystream.anytime import curve as curve_module

mpl.use("Agg")


class CorrectFromStep(ClassifierMixin, BaseEstimator):
    """Classifies a record correctly from the step on that is its only feature, and as "unknown" before."""

    def __init__(self, budget=10):
        self.budget = budget

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def staged_predict(self, X, *, stages):
        for stage in stages:
            yield np.where(np.asarray(X)[:, 0] <= stage, "yes", "unknown")


def correct_from(steps, **params):
    X = np.array(steps, dtype=float)[:, np.newaxis]
    y = np.array(["yes"] * len(X))
    return CorrectFromStep(**params).fit(X, y), X, y


# -- measures --------------------------------------------------------------------------------------------------------


@st.composite
def curves(draw):
    stages = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=12)))
    accuracy = [draw(st.integers(0, 10)) / 10 for _ in stages]
    return AnytimeCurve(stages, accuracy, n_records=10)


def acc_at_each_step(curve):
    """Return acc(1) to acc(r), each held until the next stage; only acc(0) if r is 0."""
    first, r = max(1, int(curve.stages[0])), int(curve.stages[-1])
    if r == 0:
        return [curve.accuracy[0]]
    known = dict(zip(curve.stages.tolist(), curve.accuracy, strict=True))
    return [known[max(s for s in known if s <= n)] for n in range(first, r + 1)]


@given(curves())
def test_measures_equal_the_formulas_of_the_paper_step_by_step(curve):
    acc = acc_at_each_step(curve)
    lost = 0.0
    for n in range(1, len(acc)):  # there is no accuracy before the first step
        highest = max(acc[:n])
        lost += highest - min(highest, acc[n])
    span = max(acc) - min(acc)

    assert_allclose(curve.avg, sum(acc) / len(acc), atol=1e-12)
    assert curve.max == max(acc)
    assert_allclose(curve.mon, 1 - lost / len(acc), atol=1e-12)
    assert_allclose(curve.mon_normalised, 1 - lost / len(acc) / span if span else 1.0, atol=1e-12)


@given(curves())
def test_at_holds_the_accuracy_of_the_last_stage(curve):
    first = max(1, int(curve.stages[0]))
    if curve.stages[-1] > 0:
        assert_array_equal(curve.at(np.arange(first, curve.stages[-1] + 1)), acc_at_each_step(curve))
    assert curve.at(int(curve.stages[0])) == curve.accuracy[0]


def test_a_curve_that_never_falls_is_monotone_and_step_0_is_not_counted():
    rising = AnytimeCurve([0, 1, 2], [0.9, 0.5, 0.6], n_records=10)
    assert rising.mon == rising.mon_normalised == 1.0
    assert rising.max == 0.6


def test_areas_are_trapezoids_over_steps_and_over_their_logarithm():
    curve = AnytimeCurve([0, 1, 10, 100], [0.0, 0.5, 0.7, 0.9], n_records=10)
    assert_allclose(curve.area, (1 * 0.25 + 9 * 0.6 + 90 * 0.8) / 100)
    assert_allclose(curve.log_area, (0.6 + 0.8) / 2)


def test_a_single_stage_has_all_measures():
    curve = AnytimeCurve([0], [0.4], n_records=5)
    assert [curve.avg, curve.max, curve.area, curve.log_area] == [0.4] * 4
    assert [curve.mon, curve.mon_normalised] == [1.0, 1.0]


def test_at_raises_outside_the_stages():
    curve = AnytimeCurve([5, 10], [0.4, 0.5], n_records=5)
    with pytest.raises(ValueError, match="5 to 10 steps, not 4"):
        curve.at(4)
    with pytest.raises(ValueError, match="not 11"):
        curve.at([6, 11])


def test_the_mean_of_curves_weighs_each_curve_equally():
    folds = [AnytimeCurve([0, 1], [0.2, 0.4], n_records=10), AnytimeCurve([0, 1], [0.6, 0.6], n_records=30)]
    mean = AnytimeCurve.mean(folds)
    assert_allclose(mean.accuracy, [0.4, 0.5])
    assert mean.n_records == 40
    with pytest.raises(ValueError, match="different stages"):
        AnytimeCurve.mean([*folds, AnytimeCurve([0, 2], [0.2, 0.4], n_records=10)])
    with pytest.raises(ValueError, match="no curves"):
        AnytimeCurve.mean([])


@pytest.mark.parametrize(
    ("stages", "accuracy", "n_records", "message"),
    [
        ([0, 1], [0.5], 10, "2 stages"),
        ([0, 1], [0.5, 1.5], 10, "0.5 to 1.5"),
        ([0, 1], [0.5, np.nan], 10, "shares from 0 to 1"),
        ([1, 0], [0.5, 0.6], 10, "ascending"),
        ([0, 1], [0.5, 0.6], 0, "n_records is 0"),
    ],
)
def test_invalid_curves_are_rejected(stages, accuracy, n_records, message):
    with pytest.raises(ValueError, match=message):
        AnytimeCurve(stages, accuracy, n_records)


def test_a_curve_cannot_be_changed():
    given = np.array([0.5, 0.6])
    curve = AnytimeCurve([0, 1], given, n_records=10)
    given[0] = 0.0
    assert curve.accuracy[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        curve.accuracy[0] = 0.0


def test_the_table_shows_milestones_and_measures():
    curve = AnytimeCurve(range(121), np.linspace(0.5, 0.9, 121), n_records=1000)
    lines = str(curve).splitlines()
    assert [int(line.split()[0]) for line in lines[1:-1]] == [0, 1, 2, 5, 10, 20, 50, 100, 120]
    assert lines[1].split()[1:] == ["50.0%"]
    assert lines[-1].startswith("avg 70.2%, max 90.0%, mon 100.0%")
    assert "1,000 records" in lines[-1]


# -- from a model ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


def test_the_curve_is_the_score_at_each_budget(iris):
    X, y, X_test, y_test = iris
    model = BayesTreeClassifier(budget=12).fit(X, y)
    curve = anytime_curve(model, X_test, y_test)
    assert_array_equal(curve.stages, np.arange(13))
    scores = [np.mean(model.predict(X_test, budget=steps) == y_test) for steps in range(13)]
    assert_allclose(curve.accuracy, scores)
    assert curve.n_records == len(X_test)


def test_listed_stages_and_another_budget_cut_the_same_curve(iris):
    X, y, X_test, y_test = iris
    model = BayesTreeClassifier(budget=12).fit(X, y)
    whole = anytime_curve(model, X_test, y_test)
    assert_array_equal(anytime_curve(model, X_test, y_test, stages=[0, 3, 12]).accuracy, whole.accuracy[[0, 3, 12]])
    assert_array_equal(anytime_curve(model, X_test, y_test, budget=5).accuracy, whole.accuracy[:6])


def test_classifying_in_several_batches_gives_the_same_curve(iris, monkeypatch):
    X, y, X_test, y_test = iris
    model = BayesTreeClassifier(budget=12).fit(X, y)
    whole = anytime_curve(model, X_test, y_test)
    monkeypatch.setattr(curve_module, "_MAX_CELLS", 13 * 3 * 7)
    assert_array_equal(anytime_curve(model, X_test, y_test).accuracy, whole.accuracy)


def test_accuracy_counts_the_records_that_are_correct_after_each_step():
    model, X, y = correct_from([0, 1, 1, 3])
    curve = anytime_curve(model, X, y, budget=4)
    assert_array_equal(curve.accuracy, [0.25, 0.75, 0.75, 1.0, 1.0])


def test_the_curve_of_a_model_without_a_budget_has_the_200_steps_of_the_paper():
    model, X, y = correct_from([0, 150])
    del model.budget
    assert anytime_curve(model, X, y).stages[-1] == 200


@pytest.mark.parametrize("new_label", ["new", 7, None])
def test_unknown_labels_count_as_errors(new_label):
    model, X, _ = correct_from([0, 0])
    labels = np.array(["yes", new_label], dtype=object)
    assert anytime_curve(model, X, labels, budget=0).accuracy[0] == 0.5
    assert anytime_curve(model, X, np.array([1, 2]), budget=0).accuracy[0] == 0.0


def test_data_frames_keep_their_feature_names(recwarn):
    frame = load_iris(as_frame=True)
    model = BayesTreeClassifier(budget=3).fit(frame.data, frame.target)
    curve = anytime_curve(model, frame.data, frame.target)
    assert curve.max > 0.9
    assert not [warning for warning in recwarn if "feature names" in str(warning.message)]
    assert_array_equal(anytime_curve(model, frame.data, pd.Series(frame.target)).accuracy, curve.accuracy)


def test_each_round_of_boosting_is_a_step(iris):
    X, y, X_test, y_test = iris
    model = GradientBoostingClassifier(n_estimators=6, random_state=0).fit(X, y)
    curve = anytime_curve(model, X_test, y_test)
    assert_array_equal(curve.stages, [1, 2, 3, 4, 5, 6])
    assert_allclose(curve.accuracy, [np.mean(labels == y_test) for labels in model.staged_predict(X_test)])
    assert_array_equal(anytime_curve(model, X_test, y_test, stages=[2, 6]).accuracy, curve.accuracy[[1, 5]])
    with pytest.raises(ValueError, match="after 1 to 6 steps, not after \\[0, 7\\]"):
        anytime_curve(model, X_test, y_test, stages=[0, 3, 7])


def test_anytime_curve_rejects_invalid_arguments(iris):
    X, y, X_test, y_test = iris
    model = BayesTreeClassifier().fit(X, y)
    with pytest.raises(NotFittedError):
        anytime_curve(BayesTreeClassifier(), X_test, y_test)
    with pytest.raises(TypeError, match="LogisticRegression has no staged_predict"):
        anytime_curve(LogisticRegression().fit(X, y), X_test, y_test)
    with pytest.raises(ValueError, match="no records"):
        anytime_curve(model, X_test[:0], y_test[:0])
    with pytest.raises(ValueError, match="75 records and 74 labels"):
        anytime_curve(model, X_test, y_test[1:])
    with pytest.raises(TypeError, match="give one of them"):
        anytime_curve(model, X_test, y_test, stages=[0], budget=3)
    for wrong in (-1, 2.5, True):
        with pytest.raises(ValueError, match=f"budget is {wrong}"):
            anytime_curve(model, X_test, y_test, budget=wrong)


# -- plots -----------------------------------------------------------------------------------------------------------


def test_several_curves_share_axes():
    short = AnytimeCurve(range(11), np.linspace(0.5, 0.8, 11), n_records=10)
    long = AnytimeCurve([0, 10, 100], [0.6, 0.9, 0.8], n_records=10)
    ax = long.plot(label="long")
    assert short.plot(ax, label="short") is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["long", "short"]
    assert ax.get_xscale() == "symlog"
    assert ax.get_xlim()[0] == 0
    assert ax.get_xlim()[1] > 100
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("steps per record", "accuracy")
    ax.figure.canvas.draw()
    assert all(label.get_text().endswith("%") for label in ax.get_yticklabels())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2", "5", "10", "20", "50", "100"]


def test_steps_can_be_on_a_linear_scale():
    assert AnytimeCurve([0, 10], [0.6, 0.9], n_records=10).plot(log=False).get_xscale() == "linear"
