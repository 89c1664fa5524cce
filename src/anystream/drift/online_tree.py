"""Decision tree that learns record by record and forgets where its predictions become worse."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream.drift.drift_classifier import DriftClassifier
from anystream.drift.tree_file import tree_from_file, tree_to_arrays
from anystream.drift.tree_learning import TreeSettings, learn_record
from anystream.drift.tree_nodes import Leaf, Node, copy_path, copy_tree, find_leaf
from anystream.drift.window import Window
from anystream.estimators.labels import class_shares
from anystream.estimators.parameters import MAX_INT, check_float, check_int
from anystream.estimators.saving import ModelState, SaveableMixin
from anystream.model_file import ModelFile, require_metadata

_FEW_RECORDS = 8  # up to so many below a node descend one by one, which is quicker then


class OnlineTree2(SaveableMixin, DriftClassifier):
    """Incremental decision tree with local forgetting, in the manner of OnlineTree2 of Núñez et al.

    Each leaf keeps a window of records and measures its own hit rate. Where the hit rate falls, the window shrinks, so
    the tree forgets in the regions that change and remembers in the others. Splits that are no longer useful become
    leaves again.

    **This is our reading, not the published program.** Only the outline of [1]_ was available: a tree updated record
    by record, a time window and a performance measure in every leaf, windows that shrink when performance declines, and
    parameters that adjust themselves. Everything else, below, is our choice, and results of this class prove nothing
    about [1]_.

    Parameters
    ----------
    decline : float, default=0.15
        How far the hit rate of a leaf must be below its maximum to count as a decline.
    max_window : int, default=2000
        Maximum number of records of a leaf.
    min_window : int, default=8
        Minimum number of records that remain when a leaf forgets.
    test_every : int, default=10
        Number of records of a leaf from one search for a split to the next; a twentieth of its window if that is more.
    review_every : int, default=60
        Number of records that pass a split from one review of its use to the next.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels. New ones are appended.
    n_features_in_ : int
        Features of a record.
    root_ : Leaf or Split
        The tree.
    n_records_ : int
        Records learned.

    Notes
    -----
    There is no `merge`: two trees split on different features, and the records above their leaves are gone.

    Probabilities: class shares of the leaf's window, or of the records of its parent if it is empty. A missing value
    goes right.

    Forgetting: the hit rate of a leaf is an exponential average of its hits with a rate of 1/8. When it was below its
    maximum by `decline` for 4 + sqrt(window) records in a row (leaves with long windows forget later), only the newer
    half of the window is kept.

    Splitting: the threshold of highest information gain, with at least 3 records on either side, if the gain exceeds
    the cost of describing it: gain > log(d (n - 1)) + 2 nats for n records of d features.

    Reviewing: a split whose hit rate (rate 1/32) is below the share of the largest class among its newest
    `review_every` records by more than 0.02, or whose newest records are all of one class, becomes a leaf with the
    newer half of its records, which may be split again at once.

    References
    ----------
    .. [1] Núñez, Fidalgo, Morales, "Learning in environments with unknown dynamics: towards more robust concept
       learners", JMLR 8, 2007.

    Examples
    --------
    >>> from anystream.streams import SEA
    >>> stream = SEA(concepts=(7, 9), drifts=(2000,), seed=1)
    >>> model = OnlineTree2().fit(*stream.take(2000))
    >>> before = model.score(*stream.take(500, start=3000))
    >>> model.partial_fit(*stream.take(1000, start=2000)).score(*stream.take(500, start=3000)) > before
    True
    """

    kind: ClassVar[str] = "online-tree"
    file_version: ClassVar[int] = 2
    copies_mapped_files: ClassVar[bool] = True

    def __init__(
        self,
        *,
        decline: float = 0.15,
        max_window: int = 2000,
        min_window: int = 8,
        test_every: int = 10,
        review_every: int = 60,
    ) -> None:
        self.decline = decline
        self.max_window = max_window
        self.min_window = min_window
        self.test_every = test_every
        self.review_every = review_every

    # -- learning ----------------------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Check all parameters."""
        check_float("decline", self.decline, 0, 1)
        check_int("min_window", self.min_window, 1)
        check_int("max_window", self.max_window, self.min_window)
        check_int("test_every", self.test_every, 1)
        check_int("review_every", self.review_every, 1)

    def reset(self, n_features: int) -> None:
        """Start with an empty leaf."""
        self.root_: Node = Leaf(Window.empty(n_features), [])
        self.n_records_ = 0

    def learn_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn one record after another, in copies of the nodes that they change."""
        settings = TreeSettings(
            self.decline, self.max_window, self.min_window, self.test_every, self.review_every, records.shape[1]
        )
        root = copy_path(self.root_, records[0]) if len(numbers) == 1 else copy_tree(self.root_)
        n_learned = self.n_records_
        for record, number in zip(records, numbers.tolist(), strict=True):
            root = learn_record(root, settings, record, number, n_learned)
            n_learned += 1
        self.root_, self.n_records_ = root, n_learned

    # -- classifying -------------------------------------------------------------------------------------------------

    def prior_proba(self) -> NDArray[np.float64]:
        """Return the shares of the classes among the newest records."""
        root, n_classes = self.root_, len(self.classes_)
        if isinstance(root, Leaf):
            return np.asarray(self.records_proba(np.full((1, self.n_features_in_), np.nan))[0])
        return class_shares(np.array(root.newest, dtype=np.int64), n_classes)

    def records_proba(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the class shares of the leaf of each record."""
        root = self.root_
        proba = np.zeros((len(records), len(self.classes_)))
        pending: list[tuple[Node, NDArray[np.intp]]] = [(root, np.arange(len(records)))]
        while pending:
            node, here = pending.pop()
            if isinstance(node, Leaf):
                _set_shares(proba, here, node)
            elif len(here) <= _FEW_RECORDS:
                for row in here.tolist():
                    _set_shares(proba, row, find_leaf(node, records[row]))
            else:
                column = records[here, node.feature] if node.feature < records.shape[1] else np.full(len(here), np.nan)
                goes_left = column <= node.threshold
                pending += [(node.left, here[goes_left]), (node.right, here[~goes_left])]
        return proba

    # -- saving ------------------------------------------------------------------------------------------------------

    def dump_state(self) -> ModelState:
        """Return the tree as arrays, and the number of records."""
        arrays = tree_to_arrays(self.root_, len(self.classes_), self.n_features_in_)
        return ModelState({"n_records": self.n_records_}, arrays)

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Restore the tree and the number of records."""
        self.root_ = tree_from_file(
            file,
            n_classes=len(self.classes_),
            n_features=self.n_features_in_,
            max_window=self.max_window,
            max_newest=self.review_every,
        )
        self.n_records_ = require_metadata(file, "n_records", int, low=1, high=MAX_INT)


def _set_shares(proba: NDArray[np.float64], rows: int | NDArray[np.intp], leaf: Leaf) -> None:
    """Set the probabilities of rows to the class shares of a leaf."""
    counts = leaf.used_counts
    n = max(1, sum(counts))
    proba[rows, : len(counts)] = [count / n for count in counts]
