"""LOCUST as published: blocks, equi-depth ranges, the gini index."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

from anystream import _native
from anystream.estimators.parameters import check_float, check_int
from anystream.subspace.arrays import BLOCK_ARRAYS
from anystream.subspace.locust_base import LocustBase, error_rate

_POWERS = {"unbiased": 0.0, "sqrt": 0.5, "proportional": 1.0}


class BlockLocustClassifier(LocustBase):
    """LOCUST as published [1]_: local subspaces of blocks of the stream.

    The points of a block are stored in inverted lists by range and class. A step is one subspace sample (Figure 1 of
    [1]_): features are drawn with a bias towards lists of skewed classes until the class that dominates the points in
    the record's ranges does so significantly (Eq. 6), and that class gets a vote. Use `LocustClassifier` in practice;
    this class follows the paper exactly, for comparison.

    Parameters
    ----------
    block_size : int, default=20000
        Points per block, at most 65,535.
    n_ranges : int, default=10
        Ranges of about equal depth into which a numeric feature is cut; Phi in [1]_. At most 254.
    bias : {"adaptive", "unbiased", "sqrt", "proportional"} or float, default="adaptive"
        Power of the normalised gini index (Eq. 2-4) with which features are drawn: 0, a half, 1, or a number.
        ``"adaptive"``: 1 for the first two samples of a record, a half up to the 50th, then 0.
    significance : float, default=3.0
        Number of standard deviations by which the dominant class must exceed its overall share; t in [1]_.
    min_points : int, default=5
        A sample fails when only this many points are left; n_thresh in [1]_.
    dominant : {"count", "lift"}, default="count"
        The class that dominates a subspace: the one with the most points, or with the most in proportion to its share
        of the block.
    votes : {"plain", "gamma"}, default="plain"
        Weight of a vote: one, or its significance (Eq. 6).
    failed : {"fallback", "vote", "silent"}, default="fallback"
        Use of failed samples: decide only if none succeeded, vote like the others (Figure 1), or ignored (the text).
    decay : float, default=0.2
        When a new block is started, each older one is evicted with probability ``1 - 2 ** -decay``; lambda in [1]_.
    max_blocks : int, default=10
        Maximum number of blocks; q in [1]_. Beyond it the stalest one is evicted.
    categorical : sequence of int or str, optional
        Columns whose values are categories, coded as whole numbers. Each of the 253 most frequent is a range.
    max_samples : int, default=100
        Maximum samples per record; n_s in [1]_. After them a query is exhausted.
    confidence : float, optional
        Stop sampling a record as soon as its label equals that of infinitely many samples with this probability, by a
        sequential test evaluated after every sample; the label then counts as certified. Needs plain votes.
    max_bytes : int, optional
        Maximum memory; as many blocks are kept as fit.
    budget : int, default=30
        Samples per record for calls without a budget of their own.
    seed : int, default=0
        Seed of the samples and of the eviction of blocks.
    n_jobs : int, optional
        Threads for batches; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Features of a record.
    model_ : anystream._native.LocustBlocks
        The blocks.

    Notes
    -----
    Departures from [1]_ and choices that it leaves open: the block that is being filled is sampled from a sixteenth of
    its size on (the first block at once), with the points that it had when their number last doubled. The samples of a
    record cycle through the blocks, the newest first, so that any number of them is spread evenly. Features are drawn
    without replacement, and one that would leave no point is skipped. The bias depends on the number of the sample
    rather than on the total number, which is unknown when a deadline ends the work. In a block of one class Eq. 6 is
    0/0: its samples fail.

    References
    ----------
    .. [1] Aggarwal, Yu, "LOCUST: an online analytical processing framework for high dimensional classification of data
       streams", ICDE 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BlockLocustClassifier().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    kind: ClassVar[str] = "locust-blocks"
    native_model: ClassVar[Any] = _native.LocustBlocks
    array_specs: ClassVar[Any] = BLOCK_ARRAYS

    def __init__(
        self,
        *,
        block_size: int = 20_000,
        n_ranges: int = 10,
        bias: str | float = "adaptive",
        significance: float = 3.0,
        min_points: int = 5,
        dominant: str = "count",
        votes: str = "plain",
        failed: str = "fallback",
        decay: float = 0.2,
        max_blocks: int = 10,
        categorical: Sequence[Hashable] | None = None,
        max_samples: int = 100,
        confidence: float | None = None,
        max_bytes: int | None = None,
        budget: int = 30,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.block_size = block_size
        self.n_ranges = n_ranges
        self.bias = bias
        self.significance = significance
        self.min_points = min_points
        self.dominant = dominant
        self.votes = votes
        self.failed = failed
        self.decay = decay
        self.max_blocks = max_blocks
        self.categorical = categorical
        self.max_samples = max_samples
        self.confidence = confidence
        self.max_bytes = max_bytes
        self.budget = budget
        self.seed = seed
        self.n_jobs = n_jobs

    def model_settings(self) -> Any:
        """Return the native settings for learning."""
        return _native.LocustBlocksSettings(
            block_size=check_int("block_size", self.block_size, 2),
            n_ranges=check_int("n_ranges", self.n_ranges, 2),
            decay=check_float("decay", self.decay),
            max_blocks=check_int("max_blocks", self.max_blocks, 1),
            max_bytes=-1 if self.max_bytes is None else check_int("max_bytes", self.max_bytes),
            seed=check_int("seed", self.seed),
            categorical=self.categorical_columns(),
        )

    def query_settings(self) -> Any:
        """Return the native settings for queries."""
        error = error_rate(self.confidence)
        if error > 0.0 and self.votes == "gamma":
            raise ValueError("confidence is set and votes is 'gamma', whose weights have no bound; use plain votes")
        adaptive = self.bias == "adaptive"
        if isinstance(self.bias, str) and not adaptive and self.bias not in _POWERS:
            known = ", ".join(["adaptive", *_POWERS])
            raise ValueError(f"bias is {self.bias!r}; use one of {known}, or a power of the gini index")
        power = 1.0 if adaptive else _POWERS.get(str(self.bias))
        return _native.LocustBlockSampling(
            power=check_float("bias", self.bias) if power is None else power,
            adaptive=adaptive,
            significance=check_float("significance", self.significance),
            min_points=check_int("min_points", self.min_points),
            dominant=str(self.dominant),
            votes=str(self.votes),
            failed=str(self.failed),
            max_samples=check_int("max_samples", self.max_samples, 1),
            error=error,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on two features the published rule stops at the first significant one
        return tags
