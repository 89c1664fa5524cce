"""Tree ensembles without arrays of records: one record, one tree, one comparison after another."""

import math

import numpy as np

ZERO = float(np.float32(1e-35))  # LightGBM takes values up to this for zero


def ensemble_scores(ensemble, record):
    """Return the scores of a record: the base and the leaf of every tree, in their order, over the divisor."""
    number = np.float32 if ensemble.single_sums else np.float64
    scores = [number(base) for base in ensemble.base]
    for tree, output in enumerate(ensemble.output):
        leaf = find_leaf(ensemble, tree, record)
        for k in range(len(scores)) if output < 0 else [output]:
            scores[k] = scores[k] + number(ensemble.value[leaf][k if output < 0 else 0])
    return [score / number(ensemble.divisor) for score in scores]


def find_leaf(ensemble, tree, record):
    """Return the leaf of a record in a tree."""
    node = int(ensemble.first_node[tree])
    while ensemble.left[node] >= 0:
        node = int(ensemble.left[node]) + (0 if goes_left(ensemble, node, record) else 1)
    return node


def goes_left(ensemble, node, record):
    """Whether a record goes to the left child of a split."""
    feature = int(ensemble.feature[node])
    value = float(np.float32(record[feature])) if ensemble.single_records else float(record[feature])
    if math.isnan(value):
        return bool(ensemble.missing_left[node])
    if ensemble.category_set[node] >= 0:
        return category_of(ensemble, feature, record[feature], value) in categories_of(ensemble, node)
    if ensemble.zero_missing[node] and -ZERO <= value <= ZERO:
        return bool(ensemble.missing_left[node])
    return value <= ensemble.threshold[node]


def category_of(ensemble, feature, raw, value):
    """Return the number of a category, or None."""
    if feature in ensemble.categories:
        values = ensemble.categories[feature].tolist()
        return values.index(raw) if raw in values else None
    return int(value) if value >= ensemble.min_category and value < 2**31 else None


def categories_of(ensemble, node):
    """Return the set of categories that go left."""
    number = int(ensemble.category_set[node])
    words = ensemble.category_words[ensemble.first_word[number] : ensemble.first_word[number + 1]]
    return {32 * w + bit for w, word in enumerate(words.tolist()) for bit in range(32) if word >> bit & 1}


def leaves_below(ensemble, node):
    """Return the leaves below a node, or the node if it is one."""
    if ensemble.left[node] < 0:
        return [node]
    left = int(ensemble.left[node])
    return leaves_below(ensemble, left) + leaves_below(ensemble, left + 1)


def mean_below(ensemble, node):
    """Return the mean of the values of the leaves below a node, weighted by their cover."""
    leaves = leaves_below(ensemble, node)
    total = math.fsum(ensemble.cover[leaf] for leaf in leaves)
    shares = [ensemble.cover[leaf] / total for leaf in leaves]
    width = ensemble.value.shape[1]
    return [
        math.fsum(s * ensemble.value[leaf][k] for s, leaf in zip(shares, leaves, strict=True)) for k in range(width)
    ]
