"""Binary trees without arrays: the leaf of a record, and the best split of a leaf by counting."""

import numpy as np


def find_leaf(tree, record):
    """Return the node in which a record ends, one comparison after another."""
    node = 0
    while tree.left[node] >= 0:
        value = np.float32(record[tree.feature[node]])
        goes_left = tree.missing_left[node] == 1 if np.isnan(value) else float(value) <= tree.threshold[node]
        node = tree.left[node] if goes_left else tree.right[node]
    return int(node)


def highest_gain(records, labels, min_records):
    """Return the highest information gain over all features and thresholds; None if no split is valid."""
    gains = [
        total_entropy(labels) - total_entropy(labels[left]) - total_entropy(labels[~left])
        for feature in range(records.shape[1])
        for left in possible_splits(records[:, feature])
        if min(left.sum(), (~left).sum()) >= min_records
    ]
    return max(gains, default=None)


def possible_splits(values):
    """Yield which records go left, for every threshold that separates two values."""
    for threshold in sorted(set(values[~np.isnan(values)]))[:-1]:
        yield values <= threshold


def total_entropy(labels):
    """Return the number of labels times their entropy in nats."""
    if len(labels) == 0:
        return 0.0
    shares = np.bincount(labels) / len(labels)
    return -len(labels) * sum(p * np.log(p) for p in shares if p > 0)
