"""Fitted decision tree as arrays: small, free of code, and classified without checks that take longer than the tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.drift.tree_training import TrainedTree


@dataclass(frozen=True, slots=True, eq=False)
class FlatTree:
    """Nodes of a binary tree; node 0 is the root.

    Parameters
    ----------
    feature : array of shape (n_nodes,)
        Feature that an inner node compares.
    threshold : array of shape (n_nodes,)
        Values up to this go left.
    left, right : arrays of shape (n_nodes,)
        Children, whose numbers are higher than their parent's; -1 for a leaf.
    missing_left : array of shape (n_nodes,)
        1 where a missing value goes left.
    shares : array of shape (n_nodes, n_classes)
        Class shares of the training records that reached a node.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    shares: NDArray[np.float64]

    @classmethod
    def from_trained(cls, trained: TrainedTree, n_classes: int) -> FlatTree:
        """Return a tree that was trained on class numbers below `n_classes`."""
        nodes = trained.nodes
        shares = np.zeros((len(nodes), n_classes))
        shares[:, trained.classes] = trained.value[:, 0, :]
        left, right = nodes["left_child"].astype(np.int32), nodes["right_child"].astype(np.int32)
        return cls(
            np.where(left < 0, 0, nodes["feature"]).astype(np.int32),
            np.where(left < 0, 0.0, nodes["threshold"]),
            left,
            right,
            nodes["missing_go_to_left"].astype(np.uint8),
            shares,
        )

    def proba(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the class shares of the leaf of each record."""
        with np.errstate(over="ignore"):
            single = records.astype(np.float32)
        leaves = np.empty(len(records), np.int64)
        _native.tree_leaves(single, self.feature, self.threshold, self.left, self.right, self.missing_left, leaves)
        return np.asarray(self.shares.take(leaves, axis=0))

    def is_valid(self, n_features: int) -> bool:
        """Whether every path ends in a leaf and compares features below `n_features` with a threshold."""
        number = np.arange(len(self.left))
        leaf = self.left < 0
        below = (self.left > number) & (self.right > number)
        inside = np.maximum(self.left, self.right) < len(number)
        known = (self.feature >= 0) & (self.feature < n_features)
        return bool(len(number) and (leaf | (below & inside & known)).all() and not np.isnan(self.threshold).any())
