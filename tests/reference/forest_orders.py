"""Orders of an anytime forest that are chosen on data: one candidate, one record, one tree after another.

A tree that has not been begun, that is, whose node is still its root although the root is a split, has no say in an
averaging forest (link ``"mean"``) unless no tree has been begun: the score is the mean of the trees that were begun.
In a boosted ensemble every tree counts, with the mean of its leaves.
"""

import math

import numpy as np

from reference.forest import goes_left, leaves_below

SMOOTHING = 0.02  # share of an even vote in probabilities of averaging forests, so that log losses are finite


def path_of(ensemble, tree, record):
    """Return the nodes of a record in a tree, from the root to the leaf."""
    path = [int(ensemble.first_node[tree])]
    while ensemble.left[path[-1]] >= 0:
        path.append(int(ensemble.left[path[-1]]) + (0 if goes_left(ensemble, path[-1], record) else 1))
    return path


def partial_scores(ensemble, nodes):
    """Return the scores of a record of which every tree is at the given node."""
    roots = ensemble.first_node[:-1].tolist()
    begun = [ensemble.left[root] < 0 or node != root for root, node in zip(roots, nodes, strict=True)]
    averages = ensemble.link.kind == "mean"
    counted = [tree for tree in range(len(nodes)) if not averages or begun[tree] or not any(begun)]
    scores = ensemble.base.tolist()
    for tree in counted:
        output = int(ensemble.output[tree])
        for k in range(len(scores)) if output < 0 and len(scores) > 1 else [max(output, 0)]:
            scores[k] += float(ensemble.value[nodes[tree]][k if ensemble.value.shape[1] > 1 else 0])
    return [score / (len(counted) if averages else ensemble.divisor) for score in scores]


def label_of(scores):
    """Return the class of the highest score, the first of equal ones; one score is that of the second class."""
    return int(scores[0] > 0) if len(scores) == 1 else max(range(len(scores)), key=lambda k: (scores[k], -k))


def squirrel_order(ensemble, records, labels):
    """Return Backward Squirrel (Biebert et al. 2026): from all leaves upward, undo the step that costs least accuracy.

    Among equal steps that of the lowest tree is undone. The steps in reverse are the order.
    """
    paths = [[path_of(ensemble, tree, record) for tree in range(ensemble.n_trees)] for record in records]
    depths = [_depth(ensemble, int(root)) for root in ensemble.first_node[:-1]]
    undone = []
    while any(depths):
        correct = {}
        for tree in range(len(depths)):
            if depths[tree]:
                fewer = [depth - (tree == other) for other, depth in enumerate(depths)]
                found = [label_of(partial_scores(ensemble, _nodes_at(path, fewer))) for path in paths]
                correct[tree] = sum(a == b for a, b in zip(found, labels, strict=True))
        best = max(correct, key=lambda tree: (correct[tree], -tree))
        depths[best] -= 1
        undone.append(best)
    return undone[::-1]


def gain_trees(ensemble, records, labels):
    """Return the trees, each the one with which those before it have the least log loss; the first of equal ones."""
    paths = [[path_of(ensemble, tree, record) for tree in range(ensemble.n_trees)] for record in records]
    n_classes, chosen = len(ensemble.classes), []
    while len(chosen) < ensemble.n_trees:
        losses = {}
        for tree in sorted(set(range(ensemble.n_trees)) - set(chosen)):
            losses[tree] = 0.0
            for path, label in zip(paths, labels, strict=True):
                if ensemble.link.kind == "mean":
                    read = [ensemble.value[path[other][-1]] for other in [*chosen, tree]]
                    share = sum(float(value[label]) for value in read) / sum(float(value.sum()) for value in read)
                    share = (share + SMOOTHING / n_classes) / (1 + SMOOTHING)
                else:
                    nodes = [each[-1] if other in {*chosen, tree} else each[0] for other, each in enumerate(path)]
                    proba = ensemble.link.probabilities(np.array([partial_scores(ensemble, nodes)]))[0]
                    share = float(proba[label] / proba.sum())
                losses[tree] -= math.log(share)
        chosen.append(min(losses, key=lambda tree: (losses[tree], tree)))
    return chosen


def expected_gains(ensemble):
    """Return what the winning class is expected to gain by 0, 1, ... of its trees.

    A tree adds the mean of what its leaves are above its root, weighted by their cover and by that height; the trees
    that are the n-th of their class are averaged.
    """
    gains = []
    for root in ensemble.first_node[:-1].tolist():
        above = [
            (max(float(ensemble.value[leaf][0]) - float(ensemble.value[root][0]), 0.0), float(ensemble.cover[leaf]))
            for leaf in leaves_below(ensemble, root)
        ]
        total = sum(height * cover for height, cover in above)
        gains.append(sum(height**2 * cover for height, cover in above) / total if total > 0 else 0.0)
    trees = [_trees_of(ensemble, output) for output in range(ensemble.n_outputs)]
    expected = [0.0]
    for n in range(max(map(len, trees))):
        own = [gains[each[n]] for each in trees if n < len(each)]
        expected.append(expected[-1] + sum(own) / len(own))
    return expected


def contender_trees(ensemble, record, expected):
    """Return the trees of a boosted ensemble in the order in which one record reads them, each to its leaf.

    The next is that of the class whose sum is furthest above what the winner is `expected` to have by then, which is
    among the classes that can still become the label; among equal ones the first class. A sum is that of the leaves
    read, and that of the roots of the other trees, in the framework's precision.
    """
    number = np.float32 if ensemble.single_sums else np.float64
    roots = [int(root) for root in ensemble.first_node[:-1]]
    unread = [_trees_of(ensemble, output) for output in range(ensemble.n_outputs)]
    leaves, rest = [number(base) for base in ensemble.base], [number(0)] * ensemble.n_outputs
    for tree, root in enumerate(roots):
        target = rest if ensemble.left[root] >= 0 else leaves
        target[ensemble.output[tree]] = target[ensemble.output[tree]] + number(ensemble.value[root][0])
    n_read, read = [0] * ensemble.n_outputs, []
    while len(read) < ensemble.n_trees:
        above = {
            k: float(leaves[k]) + float(rest[k]) - expected[n_read[k]] for k in range(ensemble.n_outputs) if unread[k]
        }
        best = max(above, key=lambda k: (above[k], -k))
        tree = unread[best].pop(0)
        if ensemble.left[roots[tree]] >= 0:
            leaves[best] = leaves[best] + number(ensemble.value[path_of(ensemble, tree, record)[-1]][0])
            rest[best] = rest[best] - number(ensemble.value[roots[tree]][0])
        n_read[best] += 1
        read.append(tree)
    return read


def _nodes_at(paths, depths):
    return [path[min(depth, len(path) - 1)] for path, depth in zip(paths, depths, strict=True)]


def _depth(ensemble, node):
    left = int(ensemble.left[node])
    return 0 if left < 0 else 1 + max(_depth(ensemble, left), _depth(ensemble, left + 1))


def _trees_of(ensemble, output):
    return [tree for tree, own in enumerate(ensemble.output.tolist()) if max(own, 0) == output]
