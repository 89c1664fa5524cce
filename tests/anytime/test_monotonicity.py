"""Monotonicity of the anytime curves on digits: more steps hardly ever cost accuracy.

mon is 1 minus the mean, over the steps, of how far the accuracy lies below its highest value until then. A record
that is lost after the best step and not found again costs 0.00056 where each of the 1,797 records is tested once, so
two of them decide between 0.999 and less. The curves are therefore means over three divisions into four folds; one
division alone has a bound, too, which is lower for some.
"""

import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from anystream import (
    AnytimeCurve,
    AnytimeForestClassifier,
    AnytimeNeighborsClassifier,
    BayesTreeClassifier,
    KAOGClassifier,
    KAOGINCClassifier,
    LocustClassifier,
    MicroClusterClassifier,
    anytime_curve,
)
from anystream.drift import WCEA
from anystream.subspace import BlockLocustClassifier

BOUND = 0.999
OF_ONE_DIVISION = {"ENS as printed": 0.9985, "LOCUST": 0.9975, "micro-clusters": 0.996, "forest": 0.998}
TREES = {"metric": None, "root_model": None, "n_jobs": 1}
RAW = {"calibrate": False, "n_jobs": 1}  # calibration leaves labels as they are and takes most of the time of a fit
CASES = {
    "ENS as printed": lambda: BayesTreeClassifier.bt_star(n_jobs=1),
    "ENS, k = max(4, log2 m)": lambda: BayesTreeClassifier.bt_star(refined_classes="auto", n_jobs=1),
    "trees": lambda: BayesTreeClassifier(**TREES),
    "simple_rank": lambda: AnytimeNeighborsClassifier(ordering="simple_rank", **RAW),
    "greedy": lambda: AnytimeNeighborsClassifier(ordering="greedy", **RAW),
    "drop3": lambda: AnytimeNeighborsClassifier(ordering="drop3", **RAW),
    "inverted": lambda: AnytimeNeighborsClassifier(search="inverted", **RAW),
    "LOCUST": lambda: LocustClassifier(**RAW),
    "LOCUST of blocks": lambda: BlockLocustClassifier(**RAW),
    "micro-clusters": lambda: MicroClusterClassifier(**RAW),
    "KAOG": lambda: KAOGClassifier(n_jobs=1),
    "forest": lambda: AnytimeForestClassifier(n_estimators=20, n_jobs=1),
}
SLOW_CASES = {
    "KAOGINC": lambda: KAOGINCClassifier(**RAW),
    "KAOGINC as printed": lambda: KAOGINCClassifier.paper(**RAW),
    "WCEA over trees": lambda: WCEA(BayesTreeClassifier(**TREES)),
}


def find_curves(make, seed):
    """The curves of the four folds of one division."""
    X, y = load_digits(return_X_y=True)
    folds = StratifiedKFold(4, shuffle=True, random_state=seed).split(X, y)
    return [anytime_curve(make().fit(X[train], y[train]), X[test], y[test], stages=range(201)) for train, test in folds]


def mean_curve(make):
    return AnytimeCurve.mean([curve for seed in range(3) for curve in find_curves(make, seed)])


@pytest.mark.parametrize("case", [*CASES, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_CASES)])
def test_the_monotonicity_is_at_least_its_bound(case):
    divisions = [find_curves((CASES | SLOW_CASES)[case], seed) for seed in range(3)]
    assert AnytimeCurve.mean([curve for curves in divisions for curve in curves]).mon >= BOUND
    assert AnytimeCurve.mean(divisions[1]).mon >= OF_ONE_DIVISION.get(case, BOUND)


def test_the_mixture_of_the_baseline_falls():
    assert mean_curve(lambda: BayesTreeClassifier.bt_star(decision="mixture", n_jobs=1)).mon < 0.99


@pytest.mark.slow
def test_the_printed_bias_of_locust_falls_where_it_changes_with_the_number_of_samples():
    printed = mean_curve(lambda: LocustClassifier.paper(**RAW)).mon  # from 51 samples on all of them are unbiased
    by_sample = mean_curve(lambda: LocustClassifier.paper(bias="adaptive", **RAW)).mon
    assert 0.998 <= printed < BOUND <= by_sample
