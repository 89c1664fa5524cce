"""Comparison of methods on several streams and seeds."""

from functools import partial

import matplotlib as mpl
import numpy as np
import pytest

from anystream.drift import DynamicWeightedMajority, GaussianNaiveBayes
from anystream.evaluate import Comparison, compare, mean_and_standard_error, run_prequential
from anystream.streams import SEA, MovingGaussians

mpl.use("Agg")


@pytest.fixture(scope="module")
def comparison():
    return compare(
        {"NB": GaussianNaiveBayes, "DWM": DynamicWeightedMajority},
        {
            "Gauss": lambda s: MovingGaussians(concepts=("plain", "swapped"), drifts=(600,), seed=s, n_records=1200),
            "SEA": lambda s: SEA(concepts=(7, 9), drifts=(600,), seed=s, n_records=1200),
        },
        seeds=range(3),
        protocol=partial(run_prequential, batch_size=20, window=60),
    )


def test_every_method_runs_on_every_stream_with_every_seed(comparison):
    assert comparison.methods == ("NB", "DWM")
    assert comparison.streams == ("Gauss", "SEA")
    assert len(comparison.runs) == 12
    assert [run.seed for run in comparison.runs_of("NB", "SEA")] == [0, 1, 2]


def test_errors_are_averaged_over_seeds(comparison):
    mean, spread = comparison.mean_error("NB", "Gauss")
    errors = [run.error for run in comparison.runs_of("NB", "Gauss")]
    assert mean == pytest.approx(np.mean(errors))
    assert spread == pytest.approx(np.std(errors, ddof=1) / np.sqrt(3))
    assert comparison.mean_error("DWM", "Gauss")[0] < mean  # it adapts to the swap
    assert comparison.mean_error_curve("DWM", "Gauss")[0].shape == (20,)
    assert f"{100 * mean:.2f} ± {100 * spread:.2f}" in str(comparison)


def test_methods_are_ranked_over_streams(comparison):
    ranks = comparison.compare_ranks()
    assert ranks.ranks.tolist() == [2.0, 1.0]
    words = str(ranks).split()
    assert words.index("DWM") < words.index("NB")


def test_unknown_methods_and_streams_are_rejected(comparison):
    with pytest.raises(ValueError, match="no run on 'moon'; the streams are 'Gauss', 'SEA'"):
        comparison.plot("moon")
    with pytest.raises(ValueError, match="no run of 'XX' on 'Gauss'"):
        comparison.recoveries("XX", "Gauss")
    with pytest.raises(ValueError, match="no run of 'XX' on 'SEA'"):
        comparison.mean_error_curve("XX", "SEA")


def test_the_table_has_a_dash_where_a_method_did_not_run():
    result = compare(
        {"NB": GaussianNaiveBayes, "DWM": DynamicWeightedMajority},
        {"Gauss": lambda s: MovingGaussians(seed=s), "SEA": lambda s: SEA(seed=s)},
        seeds=[0],
        protocol=partial(run_prequential, batch_size=20, n_records=60),
    )
    incomplete = Comparison(tuple(run for run in result.runs if (run.method, run.stream) != ("NB", "SEA")))
    assert str(incomplete).splitlines()[-2].split()[-1] == "-"


def test_the_plot_shows_the_curves_and_the_drifts(comparison):
    axes = comparison.plot("Gauss")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["NB", "DWM", "drift"]
    dashed = [line for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [600]
    mpl.pyplot.close("all")


def test_the_standard_error_of_one_value_is_nan():
    mean, spread = mean_and_standard_error([0.5])
    assert mean == 0.5
    assert np.isnan(spread)
