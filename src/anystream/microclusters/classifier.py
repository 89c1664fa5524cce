"""On-Demand classifier: the nearest supervised micro-cluster within a chosen horizon."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.estimators.parameters import check_float, check_int
from anystream.estimators.stream_classifier import StreamClassifier
from anystream.microclusters.arrays import CLUSTER_ARRAYS


class MicroClusterClassifier(StreamClassifier):
    """Anytime classifier by the nearest micro-cluster of the recent past: On-Demand classification [1]_.

    Nearby points of one class form a micro-cluster, which stores their count, their first two moments and those of
    their times. Snapshots of the clusters are kept in a pyramidal time frame; the difference between the present and a
    snapshot describes the stream since then. The horizon is chosen by points held out for it. A step compares the
    record with one cluster, the largest cluster of each class first.

    Parameters
    ----------
    n_clusters : int, default=1000
        Maximum number of micro-clusters, of all classes together.
    boundary : float, default=2.0
        A cluster absorbs points of its class within this many of its root mean squared deviations.
    stale_after : int, default=20000
        At capacity, clusters that received no point during the last this many points are evicted; if there are none,
        the closest pairs of a class are merged.
    snapshot_every : int, default=1000
        Points between two snapshots.
    snapshots_per_order : int, default=3
        Every ``2 ** i``-th snapshot is of order ``i``; of each order the last this many are kept.
    choose_every : int, default=2000
        Points between two choices of the horizon.
    choose_within : int, optional
        Points over which the work of a choice is spread; the chosen horizon is used after that many. A choice takes
        tens of milliseconds, so that 0, all at once, delays what waits for that call. None is half of `choose_every`;
        at most `choose_every`. `fit` makes every choice at once.
    hold_back : int, default=16
        One point in this many evaluates the horizons of the next choice. Then it waits to be learned: whenever a point
        is held back, the one that waits longest is learned; with ``choose_within=0`` all of them right after the
        choice.
    standardise : bool, default=True
        Divide features by their standard deviations over the stream so far.
    calibrate : bool, default=True
        Whether `fit` calibrates probabilities: a power and a floor for each number of steps are fitted to the log loss
        of a quarter of the records, which a second model of the others classifies. The order of the classes stays.
        False keeps the raw values; so does a model that starts with `partial_fit` or has fewer than 117 records. It may
        be changed by `set_params` after `fit`.
    budget : int, default=1000
        Clusters compared per record for calls without a budget of their own.
    n_jobs : int, optional
        Threads for batches; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Features of a record.
    model_ : anystream._native.MicroClusters
        The clusters.
    calibration_ : anystream.estimators.calibration.Calibration or None
        The calibration, as `fit` found it: learning on leaves it as it is, `merge` takes that of the first model.

    Notes
    -----
    Missing values (NaN) are left out of moments and distances. Probabilities are the inverse squared distances to the
    nearest cluster of each class, normalised to sum to 1 and then calibrated; before the first step they are the shares
    of the classes.

    Departures from [1]_: a tenth of the clusters is evicted at once; there is one horizon, not a majority of several;
    scales are learned from the stream; the work of choosing
    a horizon is spread over the points that follow, unless ``choose_within=0``.

    References
    ----------
    .. [1] Aggarwal, Han, Wang, Yu, "On demand classification of data streams", KDD 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MicroClusterClassifier().fit(X[::2], y[::2])
    >>> for budget in (10, 100, 1000):
    ...     print(budget, round(model.set_params(budget=budget).score(X[1::2], y[1::2]), 2))
    10 0.8...
    100 0.9...
    1000 0.9...
    """

    kind: ClassVar[str] = "micro-clusters"
    file_version: ClassVar[int] = 2
    copies_mapped_files: ClassVar[bool] = True
    native_model: ClassVar[Any] = _native.MicroClusters
    array_specs: ClassVar[Any] = CLUSTER_ARRAYS

    def __init__(
        self,
        *,
        n_clusters: int = 1000,
        boundary: float = 2.0,
        stale_after: int = 20_000,
        snapshot_every: int = 1000,
        snapshots_per_order: int = 3,
        choose_every: int = 2000,
        choose_within: int | None = None,
        hold_back: int = 16,
        standardise: bool = True,
        calibrate: bool = True,
        budget: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.boundary = boundary
        self.stale_after = stale_after
        self.snapshot_every = snapshot_every
        self.snapshots_per_order = snapshots_per_order
        self.choose_every = choose_every
        self.choose_within = choose_within
        self.hold_back = hold_back
        self.standardise = standardise
        self.calibrate = calibrate
        self.budget = budget
        self.n_jobs = n_jobs

    def model_settings(self) -> Any:
        """Return the native settings for learning."""
        choose_every = check_int("choose_every", self.choose_every, 1)
        choose_within = choose_every // 2 if self.choose_within is None else self.choose_within
        return _native.MicroClusterSettings(
            n_clusters=check_int("n_clusters", self.n_clusters, 1),
            boundary=check_float("boundary", self.boundary),
            stale_after=check_int("stale_after", self.stale_after, 1),
            snapshot_every=check_int("snapshot_every", self.snapshot_every, 1),
            snapshots_per_order=check_int("snapshots_per_order", self.snapshots_per_order, 1),
            choose_every=choose_every,
            choose_within=check_int("choose_within", choose_within),
            hold_back=check_int("hold_back", self.hold_back, 2),
            standardise=bool(self.standardise),
        )

    def fit_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn the records in their order with every choice made at once, since nothing waits for single records."""
        given, self.choose_within = self.choose_within, 0  # `self` is a draft
        super().fit_records(records, numbers, n_classes)
        self.choose_within = given
        arrays = self.model_.arrays()
        self.model_ = _native.MicroClusters.from_arrays(self.model_settings(), records.shape[1], n_classes, arrays)

    def query_settings(self, planned_steps: int | None = None) -> Any:
        """Return the native settings for queries."""
        return _native.MicroClusterQuerySettings()
