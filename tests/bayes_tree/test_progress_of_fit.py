"""The progress bars of fit: what they count, from the first candidate to the calibration and the root model."""

import numpy as np
import pytest

from anystream import BayesTreeClassifier
from anystream._native import Counter, StopToken
from anystream.bayes_tree import building, selection


@pytest.fixture
def bars(monkeypatch):
    """The bars that fit shows, as (description, total, count at the end)."""
    shown = []

    def run(work, *, total, description):
        done = Counter()
        result = work(done, StopToken())
        shown.append((description, total, done.value))
        return result

    monkeypatch.setattr(selection, "run_with_progress", run)
    monkeypatch.setattr(building, "run_with_progress", run)
    return shown


def draw_classes(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 4)) + 1.5 * y[:, np.newaxis], y


@pytest.mark.parametrize("n", [150, 1200])
def test_every_part_of_the_choice_is_counted_and_nothing_is_done_after_the_last_count(bars, n):
    BayesTreeClassifier(n_jobs=1).fit(*draw_classes(n))
    description, total, counted = bars[0]
    assert description == "choosing by held-out records"
    # Root models may need fewer iterations than they are allowed; all other work is counted exactly.
    n_quarters = 1 if n * 0.25 >= 2000 else 4
    assert total - n_quarters * selection._MARGIN_ITERATIONS <= counted <= total


def test_the_calibration_has_its_own_share_of_the_bar(bars):
    X, y = draw_classes(600)
    BayesTreeClassifier(n_jobs=1, calibrate=False).fit(X, y)
    BayesTreeClassifier(n_jobs=1).fit(X, y)
    (_, total_without, counted_without), (_, total, counted) = (bar for bar in bars if bar[0].startswith("choosing"))
    assert total - total_without == counted - counted_without > len(selection.HAND_OVER_STEPS)


def test_the_root_model_and_the_margin_have_bars_that_end_below_their_total(bars):
    X, y = draw_classes(600)
    model = BayesTreeClassifier(n_jobs=1, metric=None, bandwidth="f0.05", margin_levels=2).fit(X, y)
    by_name = {description: (total, counted) for description, total, counted in bars}
    assert by_name["building the trees"] == (600, 600)
    most = {
        "maximising the margin": 2 * building.MARGIN_ITERATIONS,
        "training the root model": building.ROOT_MODEL_ITERATIONS,
    }
    for name, iterations in most.items():
        total, counted = by_name[name]
        assert total == iterations + 1
        assert 0 < counted < total
    assert model.score(X, y) > 0.8


def test_a_forest_built_with_bars_equals_one_built_without():
    X, y = draw_classes(300)
    model = BayesTreeClassifier(n_jobs=1, metric=None, margin_levels=1).fit(X, y)
    numbers = y.astype(np.int32)
    plain = building.build_forest(model.recipe_, X, numbers, 3, threads=1).arrays()
    for name, values in building.build_with_progress(model.recipe_, X, numbers, 3, threads=1).arrays().items():
        np.testing.assert_array_equal(values, plain[name])
