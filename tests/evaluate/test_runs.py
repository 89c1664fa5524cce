from functools import partial

import numpy as np
import pytest
from river.naive_bayes import GaussianNB as RiverGaussianNB
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from anystream.anytime.budget import Budget
from anystream.bayes_tree import BayesTreeClassifier
from anystream.drift import DynamicWeightedMajority, GaussianNaiveBayes, river_detector
from anystream.evaluate import Comparison, compare, interleaved, interleaved_drifts, prequential
from anystream.streams import SEA, MovingGaussians, Sine, load_dataset


class Diary:
    """A classifier that answers the newest label it knows and writes down what it was shown."""

    def __init__(self):
        self.days = []
        self.newest = None

    def predict(self, X):
        self.days.append(("test", X[:, 0].tolist()))
        return np.full(len(X), self.newest)

    def partial_fit(self, X, y):
        self.days.append(("train", X[:, 0].tolist()))
        self.newest = y[-1]
        return self


class StringStream:
    def batches(self, size):
        yield np.array(["a", "b"]), np.array([0, 1])


def numbered(n):
    return np.arange(n, dtype=float)[:, np.newaxis], np.arange(n)


def test_a_record_is_tested_before_it_is_learned():
    diary = Diary()
    run = prequential(diary, numbered(3))
    assert diary.days == [("train", [0]), ("test", [1]), ("train", [1]), ("test", [2]), ("train", [2])]
    assert run.predicted.tolist() == [-1, 0, 1]  # before anything was learned there is no answer
    assert run.accuracy == 0


def test_batches_are_tested_whole_and_then_learned_whole():
    diary = Diary()
    prequential(diary, numbered(5), batch_size=2)
    assert diary.days == [("train", [0, 1]), ("test", [2, 3]), ("train", [2, 3]), ("test", [4]), ("train", [4])]


def test_labels_can_come_late():
    diary = Diary()
    run = prequential(diary, numbered(5), delay=2)
    assert diary.days == [("train", [0]), ("test", [3]), ("train", [1]), ("test", [4]), ("train", [2])]
    assert run.predicted.tolist() == [-1, -1, -1, 0, 1]


def test_a_warm_up_is_learned_and_not_tested():
    diary = Diary()
    run = prequential(diary, numbered(7), warm_up=3, batch_size=2)
    assert diary.days == [
        ("train", [0, 1, 2]),
        ("test", [3, 4]),
        ("train", [3, 4]),
        ("test", [5, 6]),
        ("train", [5, 6]),
    ]
    assert len(run.truth) == 4


def test_only_the_first_records_are_read_if_asked():
    assert len(prequential(Diary(), numbered(50), n_records=17, warm_up=3).truth) == 14
    assert len(prequential(Diary(), SEA(seed=1), n_records=9000, batch_size=100).truth) == 9000
    with pytest.raises(ValueError, match="SEA has no end"):
        prequential(Diary(), SEA(seed=1))


def test_interleaved_batches_are_learned_or_tested_never_both():
    diary = Diary()
    run = interleaved(diary, numbered(12), train=3, test=2)
    assert diary.days == [("train", [0, 1, 2]), ("test", [3, 4]), ("train", [5, 6, 7]), ("test", [8, 9])]
    assert run.window == 2
    assert len(interleaved(Diary(), SEA(seed=1), n_batches=4).truth) == 240
    with pytest.raises(ValueError, match="n_batches"):
        interleaved(Diary(), SEA(seed=1))


@pytest.mark.parametrize("drift", ["between", "before"])
def test_the_drift_falls_where_it_was_asked_for(drift):
    drifts, n_records = interleaved_drifts(2, batches=5, train=8, test=6, drift=drift)
    stream = Sine(concepts=("sine1", "sine1_reversed"), drifts=drifts, n_records=n_records, seed=3)
    X, y = stream.take(n_records)
    reversed_ = y != (X[:, 1] < np.sin(X[:, 0]))
    trained = np.arange(n_records) % 14 < 8
    surprised = reversed_ & (np.arange(n_records) // 14 == 5)
    assert surprised[~trained].sum() == 6  # the sixth test batch is of the new concept in any case
    assert surprised[trained].sum() == (0 if drift == "between" else 8)
    run = interleaved(Diary(), stream, train=8, test=6)
    assert run.drifts == (30,)
    with pytest.raises(ValueError, match="'between' or 'before'"):
        interleaved_drifts(2, drift="after")


def test_known_drifts_are_told_by_their_place_among_the_answers():
    stream = SEA(concepts=(7, 9, 6), drifts=(100, 250), seed=1, n_records=400)
    assert prequential(Diary(), stream, batch_size=10).drifts == (100, 250)
    assert prequential(Diary(), stream, batch_size=10, warm_up=120).drifts == (130,)
    assert prequential(Diary(), stream, batch_size=10, n_records=200).drifts == (100,)


@pytest.mark.parametrize("make", [GaussianNB, RiverGaussianNB, GaussianNaiveBayes, BayesTreeClassifier])
@pytest.mark.parametrize("batch_size", [1, 25])
def test_classifiers_of_both_surfaces_run(make, batch_size):
    iris = load_dataset("iris").shuffled(seed=1)
    run = prequential(make(), iris, batch_size=batch_size, warm_up=50)
    assert run.accuracy > 0.9
    assert run.method == make.__name__
    assert run.stream == "iris"


def test_words_and_new_labels_are_welcome():
    X, y = numbered(40)
    words = np.where(y < 20, "early", "late")
    run = prequential(GaussianNaiveBayes(), (X, words), batch_size=5)
    assert set(run.classes) == {"early", "late"}
    assert run.accuracy > 0.7


def test_a_budget_reaches_an_anytime_classifier():
    asked = []

    class Listening(BayesTreeClassifier):
        def predict(self, X, *, budget=None):
            asked.append(budget)
            return super().predict(X, budget=budget)

    iris = load_dataset("iris").shuffled(seed=1)
    budget = Budget(steps=3)
    prequential(Listening(), iris, batch_size=50, budget=budget)
    prequential(Listening(), iris, warm_up=148, budget=budget)
    assert asked == [budget] * 4


def test_who_cannot_be_run_is_told_so():
    with pytest.raises(TypeError, match="RandomForestClassifier cannot learn from a stream"):
        prequential(RandomForestClassifier(), numbered(5))
    with pytest.raises(TypeError, match="takes no budget"):
        prequential(GaussianNB(), numbered(5), budget=3)
    with pytest.raises(TypeError, match="the stream is a list"):
        prequential(GaussianNaiveBayes(), [1, 2])
    with pytest.raises(ValueError, match="one label to each row"):
        prequential(GaussianNaiveBayes(), (np.zeros((3, 1)), [1]))
    with pytest.raises(TypeError, match="no rows of numbers"):
        prequential(GaussianNaiveBayes(), StringStream())
    with pytest.raises(ValueError, match="ended before anything was tested"):
        interleaved(GaussianNaiveBayes(), numbered(100))


def test_a_detector_of_river_marks_the_drift():
    stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(2000,), seed=2, n_records=3000)
    run = prequential(GaussianNaiveBayes(), stream, batch_size=10, detector=river_detector("ADWIN"))
    assert len(run.detections) > 0
    assert all(2000 <= at < 2300 for at in run.detections[:1])
    assert "detected at" in str(run)


def test_runs_say_how_they_went():
    stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(1000,), seed=2, n_records=2000)
    run = prequential(DynamicWeightedMajority(), stream, window=100)
    assert len(run.errors()) == 20
    assert np.allclose(run.errors(500), 1 - run.windowed_accuracy(500)[499::500])
    (found,) = run.recoveries()
    assert found.at == 10
    assert found.depth > 0.2
    text = str(run)
    for word in ("kappa-M", "kappa-T", f"{run.accuracy:.4f}", "drift at 1000"):
        assert word in text


def test_drifts_that_the_curve_cannot_show_are_left_out():
    stream = SEA(concepts=(7, 9, 6, 8, 5), drifts=(30, 210, 290, 980), seed=2, n_records=1010)
    run = prequential(GaussianNaiveBayes(), stream, window=100, batch_size=10)
    assert [found.at for found in run.recoveries()] == [2, 9]  # 30 has no past, 210 and 290 share a point
    assert "drift at 290" in str(run)
    assert "drift at 210" not in str(run)


def small_comparison():
    return compare(
        {"NB": GaussianNaiveBayes, "DWM": DynamicWeightedMajority},
        {
            "Gauss": lambda s: MovingGaussians(concepts=("plain", "swapped"), drifts=(600,), seed=s, n_records=1200),
            "SEA": lambda s: SEA(concepts=(7, 9), drifts=(600,), seed=s, n_records=1200),
        },
        seeds=range(3),
        protocol=partial(prequential, batch_size=20, window=60),
    )


def test_comparisons_average_over_seeds_and_rank_over_streams():
    result = small_comparison()
    mean, spread = result.error("NB", "Gauss")
    errors = [run.error for run in result.of("NB", "Gauss")]
    assert mean == pytest.approx(np.mean(errors))
    assert spread == pytest.approx(np.std(errors, ddof=1) / np.sqrt(3))
    assert result.error("DWM", "Gauss")[0] < mean  # it follows the swap
    assert result.ranks().ranks.tolist() == [2.0, 1.0]
    assert str(result.ranks()).split().index(result.methods[1]) < str(result.ranks()).split().index(result.methods[0])
    with pytest.raises(ValueError, match="nothing ran on 'moon'; there is"):
        result.plot("moon")
    with pytest.raises(ValueError, match="no run of 'nobody'"):
        result.recoveries("nobody", result.streams[0])
    curve, _ = result.curve("DWM", "Gauss")
    assert curve.shape == (20,)
    assert f"{100 * mean:.2f} ± {100 * spread:.2f}" in str(result)
    assert [run.seed for run in result.of("NB", "SEA")] == [0, 1, 2]
    with pytest.raises(ValueError, match="no run of 'XX'"):
        result.curve("XX", "SEA")


def test_what_did_not_run_shows_as_a_gap():
    result = compare(
        {"NB": GaussianNaiveBayes, "DWM": DynamicWeightedMajority},
        {"Gauss": lambda s: MovingGaussians(seed=s), "SEA": lambda s: SEA(seed=s)},
        seeds=[0],
        protocol=partial(prequential, batch_size=20, n_records=60),
    )
    partly = Comparison(tuple(run for run in result.runs if (run.method, run.stream) != ("NB", "SEA")))
    assert str(partly).splitlines()[-2].split()[-1] == "-"


def test_plots_show_the_curves_and_the_drifts():
    import matplotlib

    matplotlib.use("agg")
    result = small_comparison()
    axes = result.plot("Gauss")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["NB", "DWM", "drift"]
    dashed = [line for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [600]
    run = result.runs[0]
    curve = run.plot().get_lines()[0]
    assert np.allclose(curve.get_ydata(), 100 * run.errors())
    matplotlib.pyplot.close("all")
