"""LOCUST on levels: the classifier to use."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

from anystream import _native
from anystream.estimators.parameters import check_float, check_int, resolve_threads
from anystream.subspace.arrays import LEVEL_ARRAYS
from anystream.subspace.block_locust import BlockLocustClassifier
from anystream.subspace.locust_base import LocustBase, error_rate


class LocustClassifier(LocustBase):
    """Anytime classifier that samples local subspaces of a bounded memory of the stream.

    Training only builds inverted lists: the stored points in each range of each feature. A step is one sample: features
    are drawn at random, those that separate classes around this record more often, until the points that share the
    record's ranges are of one class or few; these vote. Any number of samples gives a label.

    The memory consists of a few levels of equal size. Level ``l`` samples one point in ``stride ** l``, so that the
    levels together hold recent points densely and the past sparsely, and learning is constant work per point. All
    levels but the first keep the classes in proportion to their shares of the whole stream: a long run of one class
    does not evict the others. The weight of each level is learned from labelled points before they are stored.
    `LocustClassifier.paper` returns the classifier as published [1]_.

    Parameters
    ----------
    n_levels : int, default=4
        Number of levels.
    level_size : int, default=1024
        Points per level, at most 65,535.
    stride : int, default=4
        Sampling ratio between one level and the next.
    n_ranges : int, default=8
        Ranges of about equal depth into which a numeric feature is cut; Phi in [1]_. At most 254.
    support : int, default=24
        A sample stops narrowing its subspace when this many points are left.
    smoothing : float, default=1.0
        Weight of the class shares of the level in a vote, in points.
    kernel : float, default=0.5
        Rate at which the vote of a point falls with its distance from the record beyond that of the nearest point. A
        distance counts the ranges between two values, summed over the features.
    affinity : float, default=0.2
        Rate at which the weight of a whole sample falls with the distance of its nearest point: a level that holds
        nothing similar to the record gets little weight.
    class_floor : int, default=2
        Minimum number of points of every class kept in each level, however rare the class.
    label_delay : int, default=1000
        Number of points learned between classifying a record and learning its label, used to weigh levels by age: the
        block size if records are classified and learned in blocks, in general the number of records whose label is
        pending.
    categorical : sequence of int or str, optional
        Columns whose values are categories, coded as whole numbers. Each of the 253 most frequent is a range.
    max_samples : int, default=100
        Maximum samples per record; n_s in [1]_. After them a query is exhausted.
    confidence : float, optional
        Stop sampling a record as soon as its label equals that of infinitely many samples with this probability, by a
        sequential test evaluated after every sample; the label then counts as certified. None: sample until the budget
        ends or no sample can change the label.
    max_bytes : int, optional
        Maximum memory. The levels that reach furthest back are dropped until the rest fits.
    calibrate : bool, default=True
        Whether `fit` calibrates probabilities: a power and a floor for each number of steps are fitted to the log loss
        of a quarter of the records, which a second model of the others classifies. The order of the classes stays.
        False keeps the raw values; so does a model that starts with `partial_fit` or has fewer than 117 records. It may
        be changed by `set_params` after `fit`.
    budget : int, default=30
        Samples per record for calls without a budget of their own.
    random_state : int, RandomState or None, default=0
        Seed of the samples; None draws one. They depend on it and on the values of the record alone, not on its
        position in a batch.
    n_jobs : int, optional
        Threads for batches; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Features of a record.
    model_ : anystream._native.LocustLevels
        The levels.
    calibration_ : anystream.estimators.calibration.Calibration or None
        The calibration, as `fit` found it: learning on leaves it as it is, `merge` takes that of the first model.

    Notes
    -----
    Missing values (NaN): a feature that is missing in the record is not drawn; a point with a missing value is in none
    of the lists of that feature. Values are stored as 32-bit floats. A point takes part in votes as soon as it is
    learned. `fit` learns in the given order.

    A sample in level l draws features without replacement, with probability proportional to
    ``max(0, KL) * s + 0.01 * s + 1e-6`` where, for the record's list of the feature with ``n_v`` of the level's ``n``
    points, KL is the divergence of its (smoothed) class shares from those of the level and ``s = 1 - n_v / n``. A
    feature that would leave no point is skipped.

    References
    ----------
    .. [1] Aggarwal, Yu, "LOCUST: an online analytical processing framework for high dimensional classification of data
       streams", ICDE 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LocustClassifier().fit(X[::2], y[::2])
    >>> few, many = (model.set_params(budget=budget).score(X[1::2], y[1::2]) for budget in (1, 100))
    >>> few > 0.6, many > 0.8, many > few
    (True, True, True)
    """

    kind: ClassVar[str] = "locust"
    copies_mapped_files: ClassVar[bool] = True
    native_model: ClassVar[Any] = _native.LocustLevels
    array_specs: ClassVar[Any] = LEVEL_ARRAYS

    def __init__(
        self,
        *,
        n_levels: int = 4,
        level_size: int = 1024,
        stride: int = 4,
        n_ranges: int = 8,
        support: int = 24,
        smoothing: float = 1.0,
        kernel: float = 0.5,
        affinity: float = 0.2,
        class_floor: int = 2,
        label_delay: int = 1000,
        categorical: Sequence[Hashable] | None = None,
        max_samples: int = 100,
        confidence: float | None = None,
        max_bytes: int | None = None,
        calibrate: bool = True,
        budget: int = 30,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_levels = n_levels
        self.level_size = level_size
        self.stride = stride
        self.n_ranges = n_ranges
        self.support = support
        self.smoothing = smoothing
        self.kernel = kernel
        self.affinity = affinity
        self.class_floor = class_floor
        self.label_delay = label_delay
        self.categorical = categorical
        self.max_samples = max_samples
        self.confidence = confidence
        self.max_bytes = max_bytes
        self.calibrate = calibrate
        self.budget = budget
        self.random_state = random_state
        self.n_jobs = n_jobs

    def model_settings(self) -> Any:
        """Return the native settings for learning."""
        return _native.LocustLevelsSettings(
            n_levels=check_int("n_levels", self.n_levels, 1),
            level_size=check_int("level_size", self.level_size, 2),
            stride=check_int("stride", self.stride, 2),
            n_ranges=check_int("n_ranges", self.n_ranges, 2),
            support=check_int("support", self.support, 1),
            smoothing=check_float("smoothing", self.smoothing),
            kernel=check_float("kernel", self.kernel),
            affinity=check_float("affinity", self.affinity),
            class_floor=check_int("class_floor", self.class_floor),
            label_delay=check_int("label_delay", self.label_delay),
            max_bytes=-1 if self.max_bytes is None else check_int("max_bytes", self.max_bytes),
            seed=self.seed_,
            categorical=self.categorical_columns(),
        )

    def learning_options(self) -> dict[str, Any]:
        """Return the number of threads, on which levels learn side by side."""
        return {"threads": resolve_threads(self.n_jobs)}

    def query_settings(self, planned_steps: int | None = None) -> Any:
        """Return the native settings for queries."""
        return _native.LocustSamplingSettings(
            check_int("max_samples", self.max_samples, 1), error_rate(self.confidence)
        )

    @staticmethod
    def paper(**changes: Any) -> BlockLocustClassifier:
        """Return LOCUST as published [1]_: blocks of 20,000 points, the gini index, plain votes, decay by block.

        The bias follows the number of samples that the budget allows, failed samples vote, and a sample ends without a
        vote when no point is left (Figure 1 of [1]_). A block is built, and used, in the call that learns its last
        record. Probabilities are shares of votes, not calibrated.

        Parameters
        ----------
        **changes
            Parameters of `BlockLocustClassifier` to change.
        """
        published: dict[str, Any] = {
            "bias": "planned",
            "failed": "vote",
            "empty": "end",
            "build_within": 0,
            "calibrate": False,
        }
        return BlockLocustClassifier(**(published | changes))
