"""A fitted decision tree as arrays: small, free of code, and asked without checks that cost more than the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream import _native


@dataclass(frozen=True, slots=True, eq=False)
class FlatTree:
    """Nodes of a binary tree; node 0 is the root.

    Parameters
    ----------
    feature : array of shape (n_nodes,)
        What an inner node compares.
    threshold : array of shape (n_nodes,)
        At most this goes left.
    left, right : arrays of shape (n_nodes,)
        Children, of a higher number than their parent; -1 for a leaf.
    missing_left : array of shape (n_nodes,)
        1 where a missing value goes left.
    shares : array of shape (n_nodes, n_classes)
        Class shares of the records that reached a node in training.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, estimator: Any, n_classes: int) -> FlatTree:
        """What scikit-learn's `DecisionTreeClassifier` has learned from class numbers below `n_classes`."""
        nodes = estimator.tree_.__getstate__()["nodes"]
        shares = np.zeros((len(nodes), n_classes))
        shares[:, estimator.classes_] = estimator.tree_.value[:, 0, :]
        left, right = nodes["left_child"].astype(np.int32), nodes["right_child"].astype(np.int32)
        return cls(
            np.where(left < 0, 0, nodes["feature"]).astype(np.int32),
            np.where(left < 0, 0.0, nodes["threshold"]),
            left,
            right,
            nodes["missing_go_to_left"].astype(np.uint8),
            shares,
        )

    def proba(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Class shares of the leaf of each row."""
        with np.errstate(over="ignore"):
            single = rows.astype(np.float32)
        leaves = np.empty(len(rows), np.int64)
        _native.tree_leaves(single, self.feature, self.threshold, self.left, self.right, self.missing_left, leaves)
        return np.asarray(self.shares.take(leaves, axis=0))

    def is_sound(self, n_features: int) -> bool:
        """Whether every path ends in a leaf and asks for features that are there."""
        number = np.arange(len(self.left))
        leaf = self.left < 0
        below = (self.left > number) & (self.right > number)
        inside = np.maximum(self.left, self.right) < len(number)
        asked = (self.feature >= 0) & (self.feature < n_features)
        return bool(len(number) and (leaf | (below & inside & asked)).all())
