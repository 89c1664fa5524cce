"""Where a record ends in a binary tree: one comparison after another."""

import numpy as np


def leaf_of(tree, row):
    node = 0
    while tree.left[node] >= 0:
        value = np.float32(row[tree.feature[node]])
        goes_left = tree.missing_left[node] == 1 if np.isnan(value) else float(value) <= tree.threshold[node]
        node = tree.left[node] if goes_left else tree.right[node]
    return int(node)
