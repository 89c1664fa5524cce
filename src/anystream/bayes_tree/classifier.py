"""The Bayes tree as a classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from anystream import _native
from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.anytime.query import Query
from anystream.bayes_tree.building import (
    build_from_parts,
    build_with_progress,
    check_root_model_memory,
    maximise_margin,
    rebuild_in_space,
    records_of,
    train_root_model,
)
from anystream.bayes_tree.class_weights import check_class_weight, resolve_class_weights
from anystream.bayes_tree.file import SavedForest, dump_forest, read_forest
from anystream.bayes_tree.first_look import FirstLook, check_first_look, learn_first_look, wants_first_look
from anystream.bayes_tree.inspection import TreeInspector
from anystream.bayes_tree.metric import Metric, map_records
from anystream.bayes_tree.metric_learning import learn_metric
from anystream.bayes_tree.options import CONSTRUCTION_PRINTED, COVARIANCE_PRINTED, MARGIN_PRINTED
from anystream.bayes_tree.paging import check_page_bytes
from anystream.bayes_tree.query import BayesTreeQuery
from anystream.bayes_tree.recipe import ForestRecipe, QueryRecipe, cached_query_settings
from anystream.bayes_tree.selection import choose
from anystream.estimators.calibration import Calibration, native_calibration
from anystream.estimators.classifier import IncrementalClassifier, new_classes
from anystream.estimators.merging import MergeableMixin
from anystream.estimators.native_batch import fill_batch, fill_stages
from anystream.estimators.native_query import check_bytes_state
from anystream.estimators.parameters import check_bool, check_int, resolve_threads
from anystream.estimators.saving import ModelState, SaveableMixin, name_file_in_errors
from anystream.model_file import ModelFile


class _ForestChoice(NamedTuple):
    """What `fit` decides before it builds the trees."""

    recipe: ForestRecipe
    metric: Metric | None
    calibration: Calibration | None
    rebuild: bool = False  # of models of parts: whether trees are built again from the records of all parts


class BayesTreeClassifier(MergeableMixin, SaveableMixin, IncrementalClassifier):
    """Anytime Bayes classifier over one tree of Gaussian components per class.

    A query starts at the root entry of each class and refines its frontiers while the budget lasts: each step replaces
    one entry by its children. Stopping early gives a coarser density, never an invalid one. An exhausted query has the
    kernel density of all the data. The defaults are the best we know; `bt_star` is exactly the algorithm of [1]_.

    Parameters
    ----------
    construction : str, default="em_top_down"
        How `fit` builds the trees: ``"em_top_down"`` (recursive clustering, the best), ``"goldberger"`` and
        ``"virtual_sampling"`` (components merged bottom up), ``"hilbert"``, ``"z_curve"`` and ``"str"`` (records packed
        along a curve or in tiles), ``"guttman"`` (insertion into an R-tree; R in [1]_), or ``"nearest_mean"``
        (insertion next to the nearest mean). `partial_fit` inserts as an R-tree does with ``"guttman"``, and next to
        the nearest mean with all others, which need all records at once.
    construction_options : dict, optional
        Of ``"em_top_down"``: ``sample`` (2000), the maximum number of records that one split is fitted to, None for all
        of them. Of ``"goldberger"`` and ``"virtual_sampling"``: ``window`` (512), the number of groups up to which an
        entry is compared with all of them, of more with those nearby; None for always all. Of ``"virtual_sampling"``:
        ``tolerance`` (0.01), the rise of the mean log likelihood at which EM ends; 0 for none at all. [2]_ prints None,
        None and 0.
    fanout : int or "page", default=7
        Maximum number of entries per node, from 3 to 64; maxFanout in [1]_, M in [2]_. ``"page"``: as many as a page of
        `page_bytes` holds.
    bandwidth : str, default="auto"
        Width of the kernels: ``"langley"``, ``"haerdle"``, or ``"f"`` and a factor (Eq. 17-19 of [1]_). See
        `anystream.bayes_tree.bandwidth`. ``"auto"`` is ``"f0.05"``, unless ``metric="auto"`` finds a better factor.
    inner_variance : {"max", "plain"}, default="max"
        Variance of an inner entry: Eq. 5 of [1]_ unchanged (``"plain"``), or at least the variance of a kernel, so that
        an entry of few records is not a spike.
    decision : {"auto", "ensemble", "mixture", "nearest"}, default="auto"
        What decides: the frontiers of all steps so far (ENS, Eq. 20), the present ones (Eq. 7), or the strongest
        component of each class alone (NN, Eq. 21). ``"auto"`` is ``"ensemble"``, unless ``metric="auto"`` finds
        ``"mixture"`` better.
    descent : {"global_best", "breadth_first", "depth_first"}, default="global_best"
        Which entry of a frontier is refined next: the one of highest density (Eq. 6), the one read first, or the one
        read last.
    refined_classes : int, "auto", "published" or "printed", default="auto"
        Number of classes that are refined in turn before all classes are ordered by probability again; k of qbk.
        ``"printed"`` is min(2, floor(log2 L)) for L classes, as [1]_ has it, ``"published"`` max(2, floor(log2 L)), as
        we read it, ``"auto"`` max(4, floor(log2 L)): with fewer, the true class is often not refined at all.
    refine_for : {"accuracy", "certificate"}, default="accuracy"
        Purpose of the refinements. ``"accuracy"`` follows `descent`; a record is certified when nothing is left to
        refine. ``"certificate"`` keeps bounds on the density that each class has in the end, refines where they are
        widest, and stops as soon as they prove which class is the most probable by the mixture of all kernels. That
        class is then the label, whatever `decision` was before. It needs far fewer steps than exhaustion (tens to
        hundreds), and each costs about twice as much.
    covariance : {"auto", "full", "diagonal"} or int, default="auto"
        Covariances of upper entries with enough records (BN): all of them, none, or blocks of at most this many
        features that hill climbing on the likelihood finds (s in [1]_, Eq. 8-10). ``"auto"`` is ``"full"`` up to 256
        features and ``"diagonal"`` beyond.
    covariance_levels : int, default=2
        Number of levels, from the roots down, whose entries have covariances; m in [1]_.
    covariance_options : dict, optional
        ``min_records`` (2): records per feature of a block that an entry needs to have covariances. ``shrinkage`` (1):
        covariances of n records of d features are shrunk by a / (a + n), a = shrinkage * d, but by at least 0.001, so
        that they are invertible. [1]_ prints 0 and 0.
    margin_levels : int, default=0
        Number of levels, from the roots down, whose entries `fit` moves by margin maximisation (MM, Eq. 11-16); m in
        [1]_. `partial_fit` moves none: entries that a record passes become plain again, the others stay as they were
        moved. `retrain_margin` moves all of them again.
    margin_options : dict, optional
        Guards of margin maximisation. ``weights`` (False): whether the weights of entries move too; the weights of a
        frontier that mixes levels then do not sum to 1. ``min_records`` (10): entries of fewer records do not move.
        ``floor`` (True): whether variances stay as large as that of a kernel. [1]_ prints True, 0 and False.
    margin_kappa, margin_lambda : float, default=1 and 0.1
        Exponents of the margin (Eq. 14 and 15), for `margin_levels` and for `root_model`.
    root_model : float, "auto" or None, default="auto"
        Vote of the root model: one Gaussian with full covariance per class, trained by margin maximisation. It decides
        alone before the first step; then the trees take over, and in the end its posterior, raised to this power,
        multiplies that of the trees. ``"auto"`` chooses the power, and how much the trees count after 1, 2, 4, ... 128
        steps, on held-out quarters of the training data; a number hands over evenly in eight steps. With more than 256
        features or 1,000 classes, or fewer than 117 records to choose by, there is no root model.
    first_look : bool or "auto", default="auto"
        Whether the answer before the first step is that of a linear discriminant over the features of the record and
        their squares (`anystream.bayes_tree.first_look`), which `fit` learns: about a tenth of the cost of a root
        model. The first step then replaces it by the answer of the root model, or of the root entries if there is none,
        and all further steps refine the trees. ``"auto"``: from 32 to 256 features, if there is a root model.
    metric : str or None, default="auto"
        Space in which densities are estimated, learned by `fit`: ``"whiten"``, ``"quantile"``, ``"diagonal"`` (one
        learned weight per feature), ``"quantile+whiten"`` or ``"quantile+diagonal"``;
        `anystream.bayes_tree.metric_learning.learn_metric` describes them. ``"auto"`` tries all of them, and none, on
        held-out quarters of the training data, together with `bandwidth` and `decision` where these are ``"auto"``;
        `recipe_` shows what was chosen. Trying takes longer than building: use ``metric=None, root_model=None`` where
        fitting must be quick. Whitening is tried up to 256 features; with more than 1,000 classes nothing is tried.
    class_weight : dict, "balanced" or None, default=None
        What `fit` multiplies the priors of the classes by: a number above 0 for some labels, 1 for the others;
        ``"balanced"`` makes the priors equal. Densities stay as they are, at every budget. A class that appears later
        has the factor 1.
    window : int, optional
        Maximum number of records that the trees hold; the oldest leave, and everything but `metric` and `root_model`
        follows. `fit` uses the last `window` records that it is given. Takes effect with the next `fit` or first
        `partial_fit`. None: the trees grow without bound.
    calibrate : bool, default=True
        Whether probabilities are calibrated on the quarters of the training data that `fit` holds out to choose by: by
        a power and a floor that depend on the number of steps taken, fitted to the log loss. The order of the classes
        stays. False keeps the raw densities; so does a model for which `fit` chooses nothing, and one that starts with
        `partial_fit`. It may be changed by `set_params` after `fit`.
    page_bytes : int, optional
        Size of a page, such as 4096, for models that are read from disk (``load(path, mmap=True)``): `save` writes no
        node across two pages, unless it is larger than one, and nodes that are read together side by side. Answers are
        the same; files are about a tenth larger. None: nodes are packed.
    budget : int, default=200
        Steps per record for calls without a budget of their own.
    random_state : int, RandomState or None, default=0
        Seed of the samples on which large nodes are clustered, and of the quarters that are held out. None draws one.
    n_jobs : int, optional
        Threads for building and for batches; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Number of features of a record.
    forest_ : anystream._native.BayesForest
        The trees.
    recipe_ : anystream.bayes_tree.recipe.ForestRecipe
        What the trees were built with. Its `metric`, `bandwidth`, `decision` and `root_weight` are what was chosen
        where the parameters are ``"auto"``.
    metric_ : anystream.bayes_tree.metric.Metric or None
        The learned metric.
    first_look_ : anystream.bayes_tree.first_look.FirstLook or None
        The first look, as `fit` learned it: learning on leaves it as it is, `merge` learns it from all records. It is
        out of use once a class appears that it does not have, a feature is added, or a class has left the window.
    calibration_ : anystream.estimators.calibration.Calibration or None
        The calibration, as `fit` found it: learning on leaves it as it is, `merge` takes that of the first model.

    See Also
    --------
    anystream.anytime_curve : Accuracy over budget.

    Notes
    -----
    Missing values (NaN): those of a query are integrated out, also from the root model (whose weight is then at most
    0.3) and under a metric that mixes features; a record without any value has the priors. For incomplete records only
    the diagonals of covariances are used, and certificates under such a metric need all steps. Those of a training
    record count as distributed like the rest of its class, or as the mean where a metric mixes features. `fit` builds
    by EMTopDown [2]_; `partial_fit` inserts next to the nearest means, or as into an R-tree. Bandwidths follow the data
    with every record, other entries in turn, a few with each record. A model that starts with `partial_fit` has no data
    to choose by: ``"auto"`` is then no metric and no root model. A metric stays as `fit` learned it. So does the root
    model, with a weight that falls as new records arrive, until a class or a feature appears that it does not have. An
    entry that `partial_fit` changes keeps its covariance until its records have grown by half, and loses the effect of
    margin maximisation; all do when a feature is added, when models are merged, or when the data outgrow the scale by
    which the trees measure them. A record that leaves the window is subtracted from the moments of its class and of all
    data, which are measured again from the records themselves whenever a third of the window has been replaced; the
    ranges of a class with missing values (``bandwidth="langley"``) narrow only then. `predict` may run in many threads
    while one learns: each call uses the model as it was when the call started. `decision`, `descent`, `refined_classes`
    and `refine_for` may be changed by `set_params` after `fit`; they take effect with the next call. `merge` puts the
    trees of a class side by side below a new root, so the exhausted density is exactly that of a model of the whole;
    the recipe and the metric of the first model hold for all.

    Where we depart from [1]_: Eq. 2 needs the square root of the determinant; h of Eq. 19 is a variance, of Eq. 17 and
    18 a standard deviation per class; densities are kept as powers of two, so nothing underflows.

    References
    ----------
    .. [1] Kranen, Hassani, Seidl, "BT* - an advanced algorithm for anytime classification", SSDBM 2012.
    .. [2] Kranen, Krieger, Denker, Seidl, "Bulk loading hierarchical mixture models for efficient stream
       classification", PAKDD 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = BayesTreeClassifier().fit(X[::2], y[::2])
    >>> accuracy = [(model.predict(X[1::2], budget=budget) == y[1::2]).mean() for budget in (0, 10, 100)]
    >>> bool(accuracy[0] > 0.85), bool(accuracy[1] > 0.93), bool(accuracy[2] > 0.94)
    (True, True, True)
    """

    kind: ClassVar[str] = "bayes-tree"
    file_version: ClassVar[int] = 8
    older_file_versions: ClassVar[tuple[int, ...]] = (7,)  # without a first look

    forest_: _native.BayesForest
    recipe_: ForestRecipe
    metric_: Metric | None
    calibration_: Calibration | None
    first_look_: FirstLook | None

    def __init__(
        self,
        *,
        construction: str = "em_top_down",
        construction_options: dict[str, Any] | None = None,
        fanout: int | str = 7,
        bandwidth: str = "auto",
        inner_variance: str = "max",
        decision: str = "auto",
        descent: str = "global_best",
        refined_classes: int | str = "auto",
        refine_for: str = "accuracy",
        covariance: int | str = "auto",
        covariance_levels: int = 2,
        covariance_options: dict[str, Any] | None = None,
        margin_levels: int = 0,
        margin_options: dict[str, Any] | None = None,
        margin_kappa: float = 1.0,
        margin_lambda: float = 0.1,
        root_model: float | str | None = "auto",
        first_look: bool | str = "auto",
        metric: str | None = "auto",
        calibrate: bool = True,
        class_weight: Any = None,
        window: int | None = None,
        page_bytes: int | None = None,
        budget: int = 200,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.construction = construction
        self.construction_options = construction_options
        self.fanout = fanout
        self.bandwidth = bandwidth
        self.inner_variance = inner_variance
        self.decision = decision
        self.descent = descent
        self.refined_classes = refined_classes
        self.refine_for = refine_for
        self.covariance = covariance
        self.covariance_levels = covariance_levels
        self.covariance_options = covariance_options
        self.margin_levels = margin_levels
        self.margin_options = margin_options
        self.margin_kappa = margin_kappa
        self.margin_lambda = margin_lambda
        self.root_model = root_model
        self.first_look = first_look
        self.metric = metric
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.window = window
        self.page_bytes = page_bytes
        self.budget = budget
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def bt_star(cls, **changes: Any) -> Self:
        """Return BT* as printed [1]_: EMTopDown on all records, f0.05, the ensemble over time, plain variances, k <= 2.

        BN and MM, if they are switched on, are as printed too, and so is every other construction.

        Parameters
        ----------
        **changes
            Parameters that differ.
        """
        construction = changes.get("construction", "em_top_down")
        published = {
            "construction_options": CONSTRUCTION_PRINTED.get(construction),
            "covariance_options": dict(COVARIANCE_PRINTED),
            "margin_options": dict(MARGIN_PRINTED),
            "bandwidth": "f0.05",
            "decision": "ensemble",
            "inner_variance": "plain",
            "refined_classes": "printed",
            "covariance": "diagonal",
            "root_model": None,
            "first_look": False,
            "metric": None,
            "calibrate": False,
        }
        return cls(**(published | changes))

    @property
    def memory_bytes_(self) -> int:
        """Bytes of memory that the trees and the first look hold; the pages of a mapped file are not counted."""
        return self.forest_.own_bytes + (0 if self.first_look_ is None else self.first_look_.nbytes)

    @property
    def tree_(self) -> TreeInspector:
        """Tables and plots of the trees: ``model.tree_.describe()``, ``model.tree_.plot_frontier(query)``."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return TreeInspector(self.forest_, self.classes_, feature_names=names, metric=self.recipe_.metric)

    # -- parameters --------------------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Raise ValueError if a parameter is invalid."""
        check_int("budget", self.budget)
        check_bool("calibrate", self.calibrate)
        check_class_weight(self.class_weight)
        check_first_look(self.first_look)
        resolve_threads(self.n_jobs)
        recipe = self._resolve_recipe(n_features=1)
        self._query_recipe().settings(recipe.decision, recipe.root_weight)

    def _resolve_recipe(self, n_features: int) -> ForestRecipe:
        return ForestRecipe.resolve(
            n_features=n_features,
            metric=self.metric,
            bandwidth=self.bandwidth,
            decision=self.decision,
            root_model=self.root_model,
            construction=self.construction,
            fanout=self.fanout,
            inner_variance=self.inner_variance,
            covariance=self.covariance,
            covariance_levels=self.covariance_levels,
            margin_levels=self.margin_levels,
            margin_kappa=self.margin_kappa,
            margin_lambda=self.margin_lambda,
            window=self.window,
            seed=self.seed_,
            construction_options=self.construction_options,
            covariance_options=self.covariance_options,
            margin_options=self.margin_options,
            page_bytes=self._page_bytes(),
        )

    def _page_bytes(self) -> int | None:
        return None if self.page_bytes is None else check_page_bytes(self.page_bytes)

    def _query_recipe(self) -> QueryRecipe:
        return QueryRecipe(self.descent, self.refined_classes, self.refine_for)

    def _query_settings(self) -> _native.BayesQuerySettings:
        recipe = self.recipe_
        decision = recipe.decision if self.decision == "auto" else self.decision
        return cached_query_settings(
            self.descent, self.refined_classes, self.refine_for, decision, recipe.root_weight, recipe.hand_over
        )

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Choose what the parameters leave open, learn the metric and build the trees of all records at once."""
        threads = resolve_threads(self.n_jobs)
        undecided = self._resolve_recipe(records.shape[1])
        if undecided.window is not None:
            records, numbers = records[-undecided.window :], numbers[-undecided.window :]
        if undecided.root_weight is not None:
            check_root_model_memory(self.root_model, len(records), n_classes, records.shape[1])
        choice = vars(self).get("_choice") or self._choose(undecided, records, numbers)
        recipe = replace(choice.recipe, class_weights=resolve_class_weights(self.class_weight, self.classes_, numbers))
        metric = choice.metric
        points = map_records(metric, records, threads)
        self.forest_ = build_with_progress(recipe, points, numbers, n_classes, threads=threads)
        self.recipe_, self.metric_, self.calibration_ = recipe, metric, choice.calibration
        self._look_at(records, numbers, n_classes)

    def _look_at(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn the first look from raw records, if there is to be one."""
        recipe = self.recipe_
        if not wants_first_look(self.first_look, records.shape[1], recipe.root_weight):
            self.first_look_ = None
            return
        self.first_look_ = learn_first_look(
            records,
            numbers,
            n_classes,
            class_weights=recipe.class_weights,
            seed=recipe.seed,
            calibrate=self.calibrate,
        )

    def _look_at_trees(self) -> None:
        """Learn the first look from the records that the trees hold."""
        if wants_first_look(self.first_look, self.forest_.dimensions, self.recipe_.root_weight):
            self._look_at(*records_of(self.forest_, self.metric_), len(self.classes_))
        else:
            self.first_look_ = None

    def _choose(
        self, undecided: ForestRecipe, records: NDArray[np.float64], numbers: NDArray[np.int32]
    ) -> _ForestChoice:
        threads = resolve_threads(self.n_jobs)
        recipe, calibration = choose(
            undecided, records, numbers, self._query_recipe(), calibrate=self.calibrate, threads=threads
        )
        return _ForestChoice(recipe, learn_metric(recipe.metric, records, numbers, recipe.seed, threads), calibration)

    def reset(self, n_features: int) -> None:
        """Start empty trees, without a metric and a root model."""
        if self.metric not in (None, "auto"):
            raise ValueError(
                f"metric={self.metric!r} is learned by fit; call fit before partial_fit, or use metric=None"
            )
        if self.class_weight is not None:
            raise ValueError(
                f"class_weight is {self.class_weight!r}, which fit applies; call fit before partial_fit, or pass "
                "sample_weight"
            )
        self.recipe_ = replace(self._resolve_recipe(n_features).decided(), root_weight=None)
        self.metric_, self.calibration_, self.first_look_ = None, None, None
        self.forest_ = _native.BayesForest.empty(self.recipe_.forest_settings(), n_features)

    def learn_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Insert records one by one."""
        self.forest_.insert(self._map_records(records), numbers, n_classes)

    def learn_batch(self, records: NDArray[np.float64], numbers: NDArray[np.int32], classes: NDArray[Any]) -> None:
        """Insert records one by one; the trees set `classes_` together with their own change."""
        points = self._map_records(records)
        self.forest_.insert(points, numbers, len(classes), self.__dict__, new_classes(self, classes))

    def _map_records(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        return map_records(self.metric_, records, resolve_threads(self.n_jobs))

    def retrain_margin(self) -> Self:
        """Move the entries of the upper levels again, by margin maximisation on all records that the trees hold.

        `fit` moves them once; each record that `partial_fit` inserts makes the entries on its way plain again. Training
        starts from the moments of the records, as in `fit`, whatever was moved before.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self.recipe_.margin_levels == 0:
            raise ValueError("the trees have margin_levels=0; fit with margin_levels=1 or more")
        forest = self.forest_.snapshot()
        maximise_margin(self.recipe_, forest, threads=resolve_threads(self.n_jobs))
        self.forest_ = forest
        return self

    def add_features(self, n_features: int) -> None:
        """Add features to a copy of the trees; the metric leaves them unchanged."""
        self.forest_, self.first_look_ = self.forest_.snapshot(), None
        if self.metric_ is not None:
            self.metric_ = self.metric_.with_features(n_features)
        self.forest_.add_features(n_features)

    def merge_states(self, models: Sequence[Self], class_maps: Sequence[NDArray[np.int32]]) -> None:
        """Put the trees of a class side by side below a new root.

        The exhausted density is exactly that of a model of the whole. The recipe and the metric of the first model hold
        for all: records of a model with another metric are mapped to the first one's space and their trees are built
        again. A root model and a first look are trained again on all records. Any number of models can be merged. With
        a window, the trees are built again from the newest records of all models.
        """
        threads = resolve_threads(self.n_jobs)
        self.recipe_, self.metric_ = models[0].recipe_, models[0].metric_
        self.calibration_ = models[0].calibration_
        forests = [
            rebuild_in_space(self.recipe_, self.metric_, model.forest_, model.metric_, threads=threads)
            for model in models
        ]
        if self.recipe_.window is None:
            maps = [class_map.tolist() for class_map in class_maps]
            self.forest_ = _native.BayesForest.merge(forests, maps, len(self.classes_))
        else:
            self.forest_ = build_from_parts(self.recipe_, forests, class_maps, len(self.classes_), threads)
        if self.recipe_.root_weight is not None:
            train_root_model(self.recipe_, self.forest_, threads=threads)
        self._look_at_trees()

    def reset_like(self, model: Self) -> None:
        """Start empty trees in the space of another model, built as its own are; without root model and first look."""
        self.recipe_ = replace(model.recipe_, root_weight=None)
        self.metric_, self.calibration_, self.first_look_ = model.metric_, model.calibration_, None
        self.forest_ = _native.BayesForest.empty(self.recipe_.forest_settings(), model.forest_.dimensions)

    def choose_for_parts(self, X: ArrayLike, y: ArrayLike, *, rebuild: bool) -> _ForestChoice:
        """Return recipe, metric and calibration by a sample of all parts.

        `fit` itself builds the forests that it chooses by from at most 20,000 records: a sample of 27,000 serves it as
        well as the whole.
        """
        if self.class_weight is not None:
            raise ValueError(
                f"class_weight is {self.class_weight!r}, which holds for all of the data; fit on the whole, or use None"
            )
        self._check_all_parameters()
        draft = clone(self)
        records, labels = draft.validate_training(X, y, reset=True)
        draft._set_seed()
        numbers = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        choice: _ForestChoice = draft._choose(draft._resolve_recipe(records.shape[1]), records, numbers)
        return choice._replace(rebuild=rebuild)

    def fit_part(self, X: ArrayLike, y: ArrayLike, choice: _ForestChoice) -> Self:
        """Return trees of a part, in the space that was chosen; the root model is trained once, by `finish_parts`.

        Trees that are built again are packed along a curve here, which is the quickest.
        """
        recipe = replace(choice.recipe, root_weight=None)
        if choice.rebuild:
            recipe = replace(recipe, construction="z_curve", construction_options={})
        part = clone(self)
        part._choice = choice._replace(recipe=recipe)
        part.fit(X, y)
        del part._choice
        return cast(Self, part)

    def finish_parts(self, choice: _ForestChoice) -> None:
        """Build the trees of all records, if the choice says so, and train the root model."""
        threads = resolve_threads(self.n_jobs)
        self.recipe_ = choice.recipe
        if choice.rebuild:
            n_classes = len(self.classes_)
            class_maps = [np.arange(n_classes, dtype=np.int32)]
            self.forest_ = build_from_parts(self.recipe_, [self.forest_], class_maps, n_classes, threads)
        elif self.recipe_.margin_levels > 0:
            maximise_margin(self.recipe_, self.forest_, threads=threads)
        if self.recipe_.root_weight is not None:
            train_root_model(self.recipe_, self.forest_, threads=threads)
        self._look_at_trees()

    # -- classifying -------------------------------------------------------------------------------------------------

    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Classify in one native call on all threads."""
        forest, threads = self.forest_.snapshot(), resolve_threads(self.n_jobs)
        settings, metric, calibration = self._query_settings(), self._native_metric(), self._native_calibration()
        limits, look = budget.limits(), self._native_look()
        fill = partial(
            forest.answer, settings, records, *limits, threads, metric=metric, calibration=calibration, look=look
        )
        return fill_batch(len(records), forest.classes, fill)

    def staged_proba(self, records: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Classify in one native call that keeps the probabilities of every stage."""
        forest, threads = self.forest_.snapshot(), resolve_threads(self.n_jobs)
        settings, metric, calibration = self._query_settings(), self._native_metric(), self._native_calibration()
        fill = partial(
            forest.answer_in_stages,
            settings,
            records,
            stages,
            threads,
            metric=metric,
            calibration=calibration,
            look=self._native_look(),
        )
        return fill_stages(len(records), len(stages), forest.classes, fill)

    def open_query(self, record: NDArray[np.float64]) -> Query:
        """Open a native query."""
        native = self.forest_.query(self._query_settings(), record, self._native_metric(), self._native_look())
        return BayesTreeQuery(self.classes_, native, self._native_calibration())

    def resume_query(self, state: Any) -> Query:
        """Resume a native query from its bytes."""
        native = self.forest_.resume(check_bytes_state(state))
        return BayesTreeQuery(self.classes_, native, self._native_calibration())

    def classify_one(self, record: NDArray[np.float64], steps: int) -> int:
        """Classify without the cost of a batch."""
        return self.forest_.label_one(self._query_settings(), record, steps, self._native_metric(), self._native_look())

    def proba_one(self, record: NDArray[np.float64]) -> list[float]:
        """Return probabilities without the cost of a batch."""
        return self.forest_.proba_one(
            self._query_settings(),
            record,
            self.budget,
            self._native_metric(),
            self._native_calibration(),
            self._native_look(),
        )

    def _native_calibration(self) -> _native.Calibration | None:
        return native_calibration(self.calibration_ if self.calibrate else None)

    def _native_metric(self) -> _native.BayesMetric | None:
        return None if self.metric_ is None else self.metric_.native

    def _native_look(self) -> _native.BayesFirstLook | None:
        return None if self.first_look_ is None else self.first_look_.native

    # -- saving ------------------------------------------------------------------------------------------------------

    def parameters_to_json(self) -> dict[str, Any]:
        """Return the constructor parameters as JSON values, class weights as pairs of a label and a number."""
        parameters = super().parameters_to_json()
        if isinstance(self.class_weight, Mapping):
            labels = [label.item() if isinstance(label, np.generic) else label for label in self.class_weight]
            weights = [float(weight) for weight in self.class_weight.values()]
            return parameters | {"class_weight": [list(pair) for pair in zip(labels, weights, strict=True)]}
        return parameters

    @classmethod
    def parameters_from_json(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return constructor parameters from JSON values; TypeError or ValueError if they are invalid."""
        weight = parameters.get("class_weight")
        return dict(parameters) | ({"class_weight": dict(weight)} if isinstance(weight, list) else {})

    def dump_state(self) -> ModelState:
        """Return the recipe, and the arrays of the metric, the first look and the trees."""
        saved = SavedForest(self.recipe_, self.metric_, self.calibration_, self.first_look_, self.forest_)
        return dump_forest(saved, self._page_bytes())

    @property
    def file_page_bytes(self) -> int:
        """Bytes at whose multiples large arrays begin in files of the model."""
        return self._page_bytes() or super().file_page_bytes

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Restore recipe, metric, first look and trees."""
        n_features, n_classes = self.n_features_in_, len(self.classes_)
        saved = read_forest(file, n_features, n_classes, mapped=mapped)
        self.recipe_, self.metric_, self.calibration_, self.first_look_, self.forest_ = saved
        with name_file_in_errors(type(self), file):
            self._query_settings()
