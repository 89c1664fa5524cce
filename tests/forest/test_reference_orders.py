"""The plain orders on examples worked by hand: three trees, one good, one half as good, one misleading."""

import numpy as np
import pytest
from random_ensembles import make_ensemble

from anystream.forest import Link
from anystream.forest.joining import ImportedTree
from reference.forest_orders import contender_trees, expected_gains, gain_trees, partial_scores, squirrel_order

RECORDS = np.array([[-1.0, -1, 0, 0], [-1, 1, 0, 0], [1, -1, 0, 0], [1, 1, 0, 0]])
LABELS = [0, 0, 1, 1]  # the sign of the first feature


def stump(feature, below, above):
    """Return a tree that splits a feature at 0."""
    return ImportedTree(
        feature=np.array([feature, -1, -1]),
        threshold=np.zeros(3),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        missing_left=np.zeros(3, bool),
        value=np.array([np.zeros(len(below)), below, above]),
        cover=np.array([4.0, 2, 2]),
    )


def averaging(*trees):
    link, output = Link("mean"), np.full(len(trees), -1, np.int32)
    return make_ensemble(trees, link=link, output=output, n_outputs=2, base=np.zeros(2), divisor=float(len(trees)))


@pytest.fixture
def forest():
    misleading = stump(1, [0.3, 0.7], [0.6, 0.4])
    half = stump(0, [0.6, 0.4], [0.4, 0.6])
    good = stump(0, [0.9, 0.1], [0.1, 0.9])
    return averaging(misleading, half, good)


def test_trees_not_begun_do_not_vote_in_an_averaging_forest(forest):
    roots, leaves = forest.first_node[:-1].tolist(), (forest.first_node[:-1] + 1).tolist()
    assert partial_scores(forest, roots) == pytest.approx([(0.45 + 0.5 + 0.5) / 3, (0.55 + 0.5 + 0.5) / 3])
    assert partial_scores(forest, [*roots[:2], leaves[2]]) == pytest.approx([0.9, 0.1])
    assert partial_scores(forest, leaves) == pytest.approx([(0.3 + 0.6 + 0.9) / 3, (0.7 + 0.4 + 0.1) / 3])


def test_gain_reads_the_best_tree_first_and_the_misleading_one_last(forest):
    assert gain_trees(forest, RECORDS, LABELS) == [2, 1, 0]


def test_squirrel_undoes_the_misleading_tree_first_and_ties_by_number(forest):
    assert squirrel_order(forest, RECORDS, LABELS) == [2, 1, 0]


def test_contenders_leave_a_class_that_falls_behind():
    trees = [stump(0, [low], [high]) for low, high in ((1, -1), (-1, 1), (0, 0), (1, -1), (-1, 1), (0, 0))]
    boosted = make_ensemble(
        trees,
        link=Link("softmax"),
        output=np.array([0, 1, 2, 0, 1, 2], np.int32),
        n_outputs=3,
        base=np.array([0.1, 0.0, -0.5]),
        divisor=1.0,
    )
    expected = expected_gains(boosted)
    assert expected == pytest.approx([0, 2 / 3, 4 / 3])
    assert contender_trees(boosted, RECORDS[0], expected) == [0, 3, 1, 2, 5, 4]
    assert contender_trees(boosted, RECORDS[2], expected) == [0, 1, 4, 2, 5, 3]
