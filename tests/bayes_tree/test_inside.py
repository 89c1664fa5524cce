"""Levels are counted as a plain walk counts them; pictures show what stands for each class."""

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_tree.plain import plain
from reference.bayes_tree import structure

matplotlib.use("Agg")


def sample(seed=0, n=200, d=3, classes=3):
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=n)
    return random.normal(size=(n, d)) + y[:, None], y


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 120),
    construction=st.sampled_from(["em_top_down", "hilbert", "guttman", "nearest_mean"]),
)
@settings(deadline=None)
def test_levels_are_those_of_a_plain_walk(seed, n, construction):
    X, y = sample(seed, n)
    model = plain(construction=construction, fanout=4).fit(X, y)
    children, _ = structure(model.forest_)

    def height(entry):
        return 0 if entry < 0 else 1 + max(height(child) for child in children[entry])

    def objects(entry):
        return [~entry] if entry < 0 else [i for child in children[entry] for i in objects(child)]

    levels = {}
    for node in range(len(children)):
        label = y[objects(node)[0]]
        unit = X[y == label].var(axis=0)
        variance = (X[objects(node)].var(axis=0)[unit > 0] / unit[unit > 0]).mean()
        levels.setdefault(height(node), []).append((len(children[node]), variance))
    found = model.tree_.describe()
    assert (found.classes, found.objects, found.nodes) == (len(np.unique(y)), n, len(children))
    assert len(found.levels) == 1 + len(levels)
    for row in found.levels[1:]:
        fanouts, variances = zip(*levels[row.level], strict=True)
        assert row.entries == len(fanouts)
        np.testing.assert_allclose([row.fanout, row.variance], [np.mean(fanouts), np.mean(variances)], rtol=1e-6)


def test_a_description_is_printed_and_drawn():
    X, y = sample()
    description = plain().fit(X, y).tree_.describe()
    lines = str(description).splitlines()
    assert lines[0].startswith("3 trees, 200 objects")
    assert len(lines) == 2 + len(description.levels)
    ax = description.plot(label="ours")
    assert ax.lines[0].get_ydata().tolist() == [row.variance for row in description.levels]


@pytest.mark.parametrize("steps", [0, 5, 10**6])
def test_a_picture_of_a_frontier_shows_every_entry_once(steps):
    X, y = sample()
    model = plain().fit(X, y)
    query = model.query(X[0]).refine(steps)
    ax = model.tree_.plot_frontier(query, features=(2, 0))
    nodes = [node for _, node, _ in query.frontier if node >= 0]
    dots = np.vstack([drawn.get_offsets() for drawn in ax.collections])
    assert len(ax.patches) == len(nodes)
    assert len(dots) == len(query.frontier) - len(nodes) + 1  # and the query
    np.testing.assert_allclose(dots[-1], X[0, [2, 0]], atol=1e-5)
    if steps > 1000:
        np.testing.assert_allclose(np.sort(dots[:-1], axis=0), np.sort(X[:, [2, 0]], axis=0))


def test_a_feature_that_is_not_there_is_refused():
    X, y = sample()
    model = plain().fit(X, y)
    with pytest.raises(ValueError, match="feature 3 is not one of the 3"):
        model.tree_.plot_frontier(model.query(X[0]), features=(0, 3))
