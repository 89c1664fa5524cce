"""Members that are decision trees of scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from anystream.drift.ensemble_members.base import Member, first_columns
from anystream.drift.flat_tree import FlatTree
from anystream.drift.tree_training import train_tree


class TreeMember(Member):
    """One of scikit-learn's decision trees, of which only the nodes are kept."""

    tree: FlatTree

    def __init__(self, estimator: DecisionTreeClassifier | None) -> None:
        self.estimator = estimator  # None once it is fitted

    @classmethod
    def from_tree(cls, tree: FlatTree, n_features: int) -> TreeMember:
        """Return a fitted member."""
        member = cls(None)
        member.tree, member.n_features = tree, n_features
        return member

    def fit(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Train the estimator and keep its nodes."""
        if self.estimator is None:
            raise TypeError("the tree of this member is fitted already; make a new member")
        self.n_features = records.shape[1]
        self.tree = FlatTree.from_trained(train_tree(self.estimator, records, numbers), n_classes)
        self.estimator = None

    def proba(self, records: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        """Return the class shares of the leaf of each record."""
        return _pad_classes(self.tree.proba(first_columns(records, self.n_features)), n_classes)

    def class_shares(self, n_classes: int) -> NDArray[np.float64]:
        """Return the class shares of the root."""
        return np.asarray(_pad_classes(self.tree.shares[:1], n_classes)[0])

    def renumber(self, class_map: NDArray[np.int32]) -> Member:
        """Return a member whose nodes have their shares in the columns of the new numbers."""
        shares = np.zeros((len(self.tree.shares), int(class_map.max()) + 1))
        shares[:, class_map[: self.tree.shares.shape[1]]] = self.tree.shares
        return self.from_tree(replace(self.tree, shares=shares), self.n_features)


def _pad_classes(shares: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return shares with a column for each class; of those that the tree has not learned they are 0."""
    return shares if shares.shape[1] == n_classes else np.pad(shares, ((0, 0), (0, n_classes - shares.shape[1])))
