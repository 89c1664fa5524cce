"""A decision tree that learns record by record and forgets where its answers get worse."""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.parameters import real_number, whole_number
from anystream.drift.base import DriftClassifier
from anystream.drift.file import MOST_RECORDS
from anystream.drift.tree_file import tree_from_file, tree_to_arrays
from anystream.drift.tree_nodes import Leaf, Split, Window, best_split, gathered
from anystream.model_file import ModelFile, require_metadata


class OnlineTree2(DriftClassifier):
    """Incremental decision tree with local forgetting, in the manner of OnlineTree2 of Núñez et al.

    Each leaf keeps a window of records and watches its own hit rate. Where that falls, the window shrinks, so the tree
    forgets in the regions that change and remembers in the others. Splits that no longer pay become leaves again.

    **This is our reading, not the published program.** Of [1]_ its outline alone was at hand: a tree updated record by
    record, a time window and a performance measure in every leaf, windows that shrink when performance declines, and
    parameters that adjust themselves. Everything else, below, is our choice, and figures from this class say nothing
    certain about [1]_.

    Parameters
    ----------
    decline : float, default=0.15
        How far the hit rate of a leaf must be below its best to count as a decline.
    max_window : int, default=2000
        Most records of a leaf.
    min_window : int, default=8
        Records that forgetting leaves at least.
    test_every : int, default=10
        Records of a leaf between looks for a split; a twentieth of its window if that is more.
    review_every : int, default=60
        Records that reach a split between reviews of its use.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Features of a record.
    root_ : Leaf or Split
        The tree.
    n_records_ : int
        Records learned.

    Notes
    -----
    Answers: class shares of the leaf's window, or of the records of its parent if it is empty. A missing value goes
    right.

    Forgetting: the hit rate of a leaf follows its answers at a rate of 1/8. Once it was below its best by `decline` for
    4 + sqrt(window) records in a row (long-confirmed leaves forget later), the newer half of the window stays.

    Splitting: the threshold of highest information gain, with at least 3 records on either side, if it saves more than
    it costs to name it: gain > log(d (n - 1)) + 2 nats for n records of d features.

    Reviewing: a split whose hit rate (rate 1/32) is below the share of the largest class among its newest
    `review_every` records by more than 0.02, or whose newest records are all of one class, becomes a leaf with the
    newer half of its records, and may grow again at once.

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

    def _begin(self, n_features: int) -> None:
        real_number("decline", self.decline, 0, 1)
        whole_number("min_window", self.min_window, 1)
        whole_number("max_window", self.max_window, self.min_window)
        whole_number("test_every", self.test_every, 1)
        whole_number("review_every", self.review_every, 1)
        self.root_: Leaf | Split = Leaf(Window.empty(n_features), [])
        self.n_records_ = 0

    # -- learning --------------------------------------------------------------------------------------------------

    def _learn(self, rows: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        for row, number in zip(rows, numbers.tolist(), strict=True):
            self._learn_one_row(row, number)
            self.n_records_ += 1

    def _learn_one_row(self, row: NDArray[np.float64], number: int) -> None:
        path, leaf = self._descend(row)
        hit = leaf.label == number
        self._take(leaf, row, number, hit)
        for split in path:
            split.hit_rate += (hit - split.hit_rate) / 32
            split.newest.append(number)
            split.n_unreviewed += 1
        for depth, split in enumerate(path):  # the highest split that is of no use takes all below it along
            if split.n_unreviewed >= self.review_every:
                split.n_unreviewed = 0
                if self._is_useless(split):
                    self._replace(path[:depth], split, self._as_leaf(split))
                    return
        if leaf.n_untested >= max(self.test_every, len(leaf.window) // 20):
            leaf.n_untested = 0
            self._replace(path, leaf, self._grown(leaf))

    def _descend(self, row: NDArray[np.float64]) -> tuple[list[Split], Leaf]:
        path: list[Split] = []
        node = self.root_
        while isinstance(node, Split):
            path.append(node)
            node = node.side(row)
        return path, node

    def _take(self, leaf: Leaf, row: NDArray[np.float64], number: int, hit: bool) -> None:
        """Put a record into a leaf, and shrink the leaf's window if its answers have got worse."""
        leaf.hit_rate += (hit - leaf.hit_rate) / 8
        leaf.best_hit_rate = max(leaf.best_hit_rate, leaf.hit_rate)
        leaf.n_declined = leaf.n_declined + 1 if leaf.hit_rate < leaf.best_hit_rate - self.decline else 0
        leaf.n_untested += 1
        leaf.window.add(row, number, self.n_records_)
        leaf.counts += [0] * (number + 1 - len(leaf.counts))
        leaf.counts[number] += 1
        size = len(leaf.window)
        if leaf.n_declined > 4 + math.sqrt(size):
            leaf.window.keep_newest(max(self.min_window, size // 2))
            leaf.best_hit_rate, leaf.n_declined = leaf.hit_rate, 0
            leaf.recount()
        elif size > self.max_window:
            leaf.window.keep_newest(self.max_window)
            leaf.recount()

    def _grown(self, leaf: Leaf) -> Leaf | Split:
        """The leaf, or the splits that pay for themselves."""
        rows, labels, times = leaf.window.view()
        n, d = len(rows), self.n_features_in_
        if n < 10 or leaf.is_pure():
            return leaf
        found = best_split(rows, labels, least=3)
        if found is None or found[0] <= math.log(d * (n - 1)) + 2:
            return leaf
        _, feature, threshold = found
        goes_left = rows[:, feature] <= threshold
        left, right = (
            Leaf.of(Window(rows[part], labels[part], times[part]), leaf.counts) for part in (goes_left, ~goes_left)
        )
        hits = (left.hit_rate * len(left.window) + right.hit_rate * len(right.window)) / n
        newest = deque(labels[-self.review_every :].tolist(), maxlen=self.review_every)
        return Split(feature, threshold, self._grown(left), self._grown(right), hits, newest)

    def _is_useless(self, split: Split) -> bool:
        largest = Counter(split.newest).most_common(1)[0][1]
        return largest == len(split.newest) or split.hit_rate < largest / len(split.newest) - 0.02

    def _as_leaf(self, split: Split) -> Leaf | Split:
        window = gathered(split)
        before = np.bincount(window.view()[1]).tolist()
        window.keep_newest(min(self.max_window, max(self.min_window, len(window) // 2)))
        return self._grown(Leaf.of(window, before))

    def _replace(self, path: list[Split], old: Leaf | Split, new: Leaf | Split) -> None:
        if not path:
            self.root_ = new
        elif path[-1].left is old:
            path[-1].left = new
        else:
            path[-1].right = new

    # -- keeping ---------------------------------------------------------------------------------------------------

    def _learned(self) -> tuple[dict[str, int], dict[str, NDArray[Any]], list[ModelFile]]:
        arrays = tree_to_arrays(self.root_, len(self.classes_), self.n_features_in_)
        return {"n_records": self.n_records_}, arrays, []

    def _recall(self, file: ModelFile, parts: list[ModelFile], *, mapped: bool) -> None:
        self.root_ = tree_from_file(
            file,
            n_classes=len(self.classes_),
            n_features=self.n_features_in_,
            max_window=self.max_window,
            memory=self.review_every,
        )
        self.n_records_ = require_metadata(file, "n_records", int, low=1, high=MOST_RECORDS)

    # -- answering -------------------------------------------------------------------------------------------------

    def _proba(self, rows: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
        out = np.zeros((len(rows), n_classes))
        stack: list[tuple[Leaf | Split, NDArray[np.intp]]] = [(self.root_, np.arange(len(rows)))]
        while stack:
            node, here = stack.pop()
            if isinstance(node, Leaf):
                counts = node.spoken_counts
                out[here, : len(counts)] = np.array(counts) / max(1, sum(counts))
            elif len(here):
                column = rows[here, node.feature] if node.feature < rows.shape[1] else np.full(len(here), np.nan)
                goes_left = column <= node.threshold
                stack += [(node.left, here[goes_left]), (node.right, here[~goes_left])]
        return out
