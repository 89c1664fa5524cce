"""LOCUST as published: blocks, equi-depth ranges, the gini index."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.anytime.budget import Budget
from anystream.estimators.parameters import check_float, check_int
from anystream.subspace.arrays import BLOCK_ARRAYS
from anystream.subspace.locust_base import LocustBase, error_rate

_POWERS = {"unbiased": 0.0, "sqrt": 0.5, "proportional": 1.0}


def planned_power(n_samples: int) -> float:
    """Return the power of the gini index for a number of samples n_s: proportional below 3, unbiased above 50.

    Examples
    --------
    >>> planned_power(2), planned_power(3), planned_power(50), planned_power(51)
    (1.0, 0.5, 0.5, 0.0)
    """
    if n_samples < 3:
        return 1.0
    return 0.5 if n_samples <= 50 else 0.0


class BlockLocustClassifier(LocustBase):
    """LOCUST as published [1]_: local subspaces of blocks of the stream.

    The points of a block are stored in inverted lists by range and class. A step is one subspace sample (Figure 1 of
    [1]_): features are drawn with a bias towards lists of skewed classes until the class that dominates the points in
    the record's ranges does so significantly (Eq. 6), and that class gets a vote. Use `LocustClassifier` in practice;
    this class is for comparison. `LocustClassifier.paper` sets the parameters that the paper prints and whose defaults
    here differ: `bias`, `failed` and `empty`, because they are more accurate, and `build_within`.

    Parameters
    ----------
    block_size : int, default=20000
        Points per block, at most 65,535.
    n_ranges : int, default=10
        Ranges of about equal depth into which a numeric feature is cut; Phi in [1]_. At most 254.
    bias : {"adaptive", "planned", "unbiased", "sqrt", "proportional"} or float, default="adaptive"
        Power of the normalised gini index (Eq. 2-4) with which features are drawn: 0, a half, 1, or a number.
        ``"adaptive"``: 1 for the first two samples of a record, a half up to the 50th, then 0. ``"planned"``, as
        printed: 1 if fewer than 3 samples are planned, 0 if more than 50, else a half, the same for all samples of a
        record. Planned are the steps of the budget, which the scheduler `WaitingTime` sets to n_s; `max_samples` if the
        budget has no limit of steps; the parameter `budget` for a query. So results at different budgets do not
        continue each other.
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
    empty : {"skip", "end"}, default="skip"
        What happens when a feature would leave no point: it is skipped, or the sample ends and has no vote (Figure 1).
    decay : float, default=0.2
        When a new block is started, each older one is evicted with probability ``1 - 2 ** -decay``; lambda in [1]_.
    max_blocks : int, default=10
        Maximum number of blocks; q in [1]_. Beyond it the stalest one is evicted.
    build_within : int, default=256
        Number of records over which the building of a block is spread, at most a sixteenth of its points: each of them
        takes a step, and the block is used after the last. So no call of `learn_one` does all of it. 0: at once, as
        published. `fit` ends with everything built.
    categorical : sequence of int or str, optional
        Columns whose values are categories, coded as whole numbers. Each of the 253 most frequent is a range.
    max_samples : int, default=100
        Maximum samples per record; n_s in [1]_. After them a query is exhausted.
    confidence : float, optional
        Stop sampling a record as soon as its label equals that of infinitely many samples with this probability, by a
        sequential test evaluated after every sample; the label then counts as certified. Needs plain votes.
    max_bytes : int, optional
        Maximum memory; as many blocks are kept as fit.
    calibrate : bool, default=True
        Whether `fit` calibrates probabilities: a power and a floor for each number of steps are fitted to the log loss
        of a quarter of the records, which a second model of the others classifies. The order of the classes stays.
        False keeps the raw values; so does a model that starts with `partial_fit` or has fewer than 117 records. It may
        be changed by `set_params` after `fit`.
    budget : int, default=30
        Samples per record for calls without a budget of their own.
    random_state : int, RandomState or None, default=0
        Seed of the samples and of the eviction of blocks. None draws one.
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
    calibration_ : anystream.estimators.calibration.Calibration or None
        The calibration, as `fit` found it: learning on leaves it as it is, `merge` takes that of the first model.

    Notes
    -----
    Departures from [1]_ and choices that it leaves open: the block that is being filled is sampled from a sixteenth of
    its size on (the first block at once), with the points that it had when their number last doubled; it is used when
    its building ends, up to `build_within` records later. The samples of a record cycle through the blocks, the newest
    first, so that any number of them is spread evenly. Features are drawn without replacement; one whose range holds no
    point of the block has no gini index and is not drawn. By default the bias depends on the number of the sample
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
    copies_mapped_files: ClassVar[bool] = True
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
        empty: str = "skip",
        decay: float = 0.2,
        max_blocks: int = 10,
        build_within: int = 256,
        categorical: Sequence[Hashable] | None = None,
        max_samples: int = 100,
        confidence: float | None = None,
        max_bytes: int | None = None,
        calibrate: bool = True,
        budget: int = 30,
        random_state: Any = 0,
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
        self.empty = empty
        self.decay = decay
        self.max_blocks = max_blocks
        self.build_within = build_within
        self.categorical = categorical
        self.max_samples = max_samples
        self.confidence = confidence
        self.max_bytes = max_bytes
        self.calibrate = calibrate
        self.budget = budget
        self.random_state = random_state
        self.n_jobs = n_jobs

    def learn_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn points in the native model, for `fit`: end with everything built."""
        super().learn_records(records, numbers, n_classes)
        self.model_.finish_building()

    def model_settings(self) -> Any:
        """Return the native settings for learning."""
        return _native.LocustBlocksSettings(
            block_size=check_int("block_size", self.block_size, 2),
            n_ranges=check_int("n_ranges", self.n_ranges, 2),
            decay=check_float("decay", self.decay),
            max_blocks=check_int("max_blocks", self.max_blocks, 1),
            build_within=check_int("build_within", self.build_within),
            max_bytes=-1 if self.max_bytes is None else check_int("max_bytes", self.max_bytes),
            seed=self.seed_,
            categorical=self.categorical_columns(),
        )

    def query_settings(self, planned_steps: int | None = None) -> Any:
        """Return the native settings for queries."""
        error = error_rate(self.confidence)
        if error > 0.0 and self.votes == "gamma":
            raise ValueError("confidence is set and votes is 'gamma', whose weights have no bound; use plain votes")
        max_samples = check_int("max_samples", self.max_samples, 1)
        adaptive = self.bias == "adaptive"
        if self.bias == "planned":
            power: float | None = planned_power(
                max_samples if planned_steps is None else min(planned_steps, max_samples)
            )
        elif isinstance(self.bias, str) and not adaptive and self.bias not in _POWERS:
            known = ", ".join(["adaptive", "planned", *_POWERS])
            raise ValueError(f"bias is {self.bias!r}; use one of {known}, or a power of the gini index")
        else:
            power = 1.0 if adaptive else _POWERS.get(str(self.bias))
        return _native.LocustBlockSampling(
            power=check_float("bias", self.bias) if power is None else power,
            adaptive=adaptive,
            significance=check_float("significance", self.significance),
            min_points=check_int("min_points", self.min_points),
            dominant=str(self.dominant),
            votes=str(self.votes),
            failed=str(self.failed),
            empty=str(self.empty),
            max_samples=max_samples,
            error=error,
        )

    def staged_proba(self, records: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Classify in one native call; in one per stage if the bias follows the number of planned samples."""
        if self.bias != "planned":
            yield from super().staged_proba(records, stages)
            return
        for steps in stages.tolist():
            yield self.classify_records(records, Budget(steps=steps)).proba

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on two features the published rule stops at the first significant one
        return tags
