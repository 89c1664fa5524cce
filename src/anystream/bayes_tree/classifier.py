"""The Bayes tree as a classifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from anystream import _native
from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.anytime.query import Query
from anystream.bayes_tree.building import build_forest, rebuild_in_space, train_root_model
from anystream.bayes_tree.file import SavedForest, dump_forest, read_forest
from anystream.bayes_tree.inspection import TreeInspector
from anystream.bayes_tree.metric import Metric, map_records
from anystream.bayes_tree.metric_learning import learn_metric
from anystream.bayes_tree.query import BayesTreeQuery
from anystream.bayes_tree.recipe import ForestRecipe, QueryRecipe, cached_query_settings
from anystream.bayes_tree.selection import choose
from anystream.estimators.classifier import IncrementalClassifier, new_classes
from anystream.estimators.merging import MergeableMixin
from anystream.estimators.native_batch import fill_batch, fill_stages
from anystream.estimators.native_query import check_bytes_state
from anystream.estimators.parameters import check_int, resolve_threads
from anystream.estimators.saving import ModelState, SaveableMixin, name_file_in_errors
from anystream.model_file import ModelFile
from anystream.progress import run_with_progress


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
        along a curve or in tiles), ``"guttman"`` (insertion into an R-tree; R in [1]_), or ``"nearest_mean"`` (the
        insertion of `partial_fit`).
    fanout : int, default=7
        Maximum number of entries per node, from 3 to 64; maxFanout in [1]_, M in [2]_.
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
    refined_classes : int, "auto" or "published", default="auto"
        Number of classes that are refined in turn before all classes are ordered by probability again; k of qbk.
        ``"published"`` is max(2, floor(log2 L)) for L classes, ``"auto"`` max(4, floor(log2 L)): with fewer, the true
        class is often not refined at all.
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
        Number of levels, from the roots down, whose entries have covariances; m in [1]_. An entry needs twice as many
        records as a block has features.
    margin_levels : int, default=0
        Number of levels, from the roots down, whose entries `fit` moves by margin maximisation (MM, Eq. 11-16); m in
        [1]_.
    margin_kappa, margin_lambda : float, default=1 and 0.1
        Exponents of the margin (Eq. 14 and 15), for `margin_levels` and for `root_model`.
    root_model : float, "auto" or None, default="auto"
        Vote of the root model: one Gaussian with full covariance per class, trained by margin maximisation. It decides
        alone before the first step; the trees take over in the first eight steps. From then on its posterior, raised to
        this power, multiplies that of the trees. ``"auto"`` chooses the power on held-out quarters of the training
        data; with more than 256 features or 1,000 classes, or fewer than 117 records to choose by, there is no root
        model.
    metric : str or None, default="auto"
        Space in which densities are estimated, learned by `fit`: ``"whiten"``, ``"quantile"``, ``"diagonal"`` (one
        learned weight per feature), ``"quantile+whiten"`` or ``"quantile+diagonal"``;
        `anystream.bayes_tree.metric_learning.learn_metric` describes them. ``"auto"`` tries all of them, and none, on
        held-out quarters of the training data, together with `bandwidth` and `decision` where these are ``"auto"``;
        `recipe_` shows what was chosen. Trying takes longer than building: use ``metric=None, root_model=None`` where
        fitting must be quick. Whitening is tried up to 256 features; with more than 1,000 classes nothing is tried.
    budget : int, default=200
        Steps per record for calls without a budget of their own.
    seed : int, default=0
        Seed of the samples on which large nodes are clustered, and of the quarters that are held out.
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

    See Also
    --------
    anystream.anytime_curve : Accuracy over budget.

    Notes
    -----
    Missing values (NaN): those of a query are integrated out; those of a training record count as distributed like the
    rest of its class. `fit` builds by EMTopDown [2]_; `partial_fit` inserts next to the nearest means. Bandwidths
    follow the data with every record, other entries in turn, a few with each record. A model that starts with
    `partial_fit` has no data to choose by: ``"auto"`` is then no metric and no root model. A metric stays as `fit`
    learned it. So does the root model, with a weight that falls as new records arrive, until a class or a feature
    appears that it does not have. An entry that `partial_fit` changes keeps its covariance until its records have grown
    by half, and loses the effect of margin maximisation. For records with missing values only the diagonals of
    covariances are used, and the root model has no vote. `predict` may run in many threads while one learns: each call
    uses the model as it was when the call started. `decision`, `descent`, `refined_classes` and `refine_for` may be
    changed by `set_params` after `fit`; they take effect with the next call. `merge` puts the trees of a class side by
    side below a new root, so the exhausted density is exactly that of a model of the whole; the recipe and the metric
    of the first model hold for all.

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
    file_version: ClassVar[int] = 4

    forest_: _native.BayesForest
    recipe_: ForestRecipe
    metric_: Metric | None

    def __init__(
        self,
        *,
        construction: str = "em_top_down",
        fanout: int = 7,
        bandwidth: str = "auto",
        inner_variance: str = "max",
        decision: str = "auto",
        descent: str = "global_best",
        refined_classes: int | str = "auto",
        refine_for: str = "accuracy",
        covariance: int | str = "auto",
        covariance_levels: int = 2,
        margin_levels: int = 0,
        margin_kappa: float = 1.0,
        margin_lambda: float = 0.1,
        root_model: float | str | None = "auto",
        metric: str | None = "auto",
        budget: int = 200,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.construction = construction
        self.fanout = fanout
        self.bandwidth = bandwidth
        self.inner_variance = inner_variance
        self.decision = decision
        self.descent = descent
        self.refined_classes = refined_classes
        self.refine_for = refine_for
        self.covariance = covariance
        self.covariance_levels = covariance_levels
        self.margin_levels = margin_levels
        self.margin_kappa = margin_kappa
        self.margin_lambda = margin_lambda
        self.root_model = root_model
        self.metric = metric
        self.budget = budget
        self.seed = seed
        self.n_jobs = n_jobs

    @classmethod
    def bt_star(cls, **changes: Any) -> Self:
        """Return BT* as published [1]_: EMTopDown, f0.05, the ensemble over time, plain variances and the small k.

        Parameters
        ----------
        **changes
            Parameters that differ.
        """
        published = {
            "bandwidth": "f0.05",
            "decision": "ensemble",
            "inner_variance": "plain",
            "refined_classes": "published",
            "covariance": "diagonal",
            "root_model": None,
            "metric": None,
        }
        return cls(**(published | changes))

    @property
    def memory_bytes_(self) -> int:
        """Bytes of memory that the trees hold; the pages of a mapped file are not counted."""
        return self.forest_.own_bytes

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
            seed=self.seed,
        )

    def _query_recipe(self) -> QueryRecipe:
        return QueryRecipe(self.descent, self.refined_classes, self.refine_for)

    def _query_settings(self) -> _native.BayesQuerySettings:
        recipe = self.recipe_
        decision = recipe.decision if self.decision == "auto" else self.decision
        return cached_query_settings(self.descent, self.refined_classes, self.refine_for, decision, recipe.root_weight)

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Choose what the parameters leave open, learn the metric and build the trees of all records at once."""
        threads = resolve_threads(self.n_jobs)
        undecided = self._resolve_recipe(records.shape[1])
        recipe = choose(undecided, records, numbers, self._query_recipe(), threads=threads)
        metric = learn_metric(recipe.metric, records, numbers, recipe.seed, threads)
        points = map_records(metric, records, threads)
        self.forest_ = run_with_progress(
            lambda placed, stop: build_forest(
                recipe, points, numbers, n_classes, threads=threads, placed=placed, stop=stop
            ),
            total=len(points),
            description="building the trees",
        )
        self.recipe_, self.metric_ = recipe, metric

    def reset(self, n_features: int) -> None:
        """Start empty trees, without a metric and a root model."""
        if self.metric not in (None, "auto"):
            raise ValueError(
                f"metric={self.metric!r} is learned by fit; call fit before partial_fit, or use metric=None"
            )
        self.recipe_ = replace(self._resolve_recipe(n_features).decided(), root_weight=None)
        self.metric_ = None
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

    def add_features(self, n_features: int) -> None:
        """Add features to a copy of the trees; the metric leaves them unchanged."""
        self.forest_ = self.forest_.snapshot()
        if self.metric_ is not None:
            self.metric_ = self.metric_.with_features(n_features)
        self.forest_.add_features(n_features)

    def merge_states(self, models: Sequence[Self], class_maps: Sequence[NDArray[np.int32]]) -> None:
        """Put the trees of a class side by side below a new root.

        The exhausted density is exactly that of a model of the whole. The recipe and the metric of the first model hold
        for all: records of a model with another metric are mapped to the first one's space and their trees are built
        again. A root model is trained again on all records. Any number of models can be merged.
        """
        threads = resolve_threads(self.n_jobs)
        self.recipe_, self.metric_ = models[0].recipe_, models[0].metric_
        forests = [
            rebuild_in_space(self.recipe_, self.metric_, model.forest_, model.metric_, threads=threads)
            for model in models
        ]
        maps = [class_map.tolist() for class_map in class_maps]
        self.forest_ = _native.BayesForest.merge(forests, maps, len(self.classes_))
        if self.recipe_.root_weight is not None:
            train_root_model(self.recipe_, self.forest_, threads=threads)

    # -- classifying -------------------------------------------------------------------------------------------------

    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Classify in one native call on all threads."""
        forest, threads = self.forest_.snapshot(), resolve_threads(self.n_jobs)
        settings, metric = self._query_settings(), self._native_metric()
        fill = partial(forest.answer, settings, records, *budget.limits(), threads, metric=metric)
        return fill_batch(len(records), forest.classes, fill)

    def staged_proba(self, records: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Classify in one native call that keeps the probabilities of every stage."""
        forest, threads = self.forest_.snapshot(), resolve_threads(self.n_jobs)
        settings, metric = self._query_settings(), self._native_metric()
        fill = partial(forest.answer_in_stages, settings, records, stages, threads, metric=metric)
        return fill_stages(len(records), len(stages), forest.classes, fill)

    def open_query(self, record: NDArray[np.float64]) -> Query:
        """Open a native query."""
        native = self.forest_.query(self._query_settings(), record, self._native_metric())
        return BayesTreeQuery(self.classes_, native)

    def resume_query(self, state: Any) -> Query:
        """Resume a native query from its bytes."""
        return BayesTreeQuery(self.classes_, self.forest_.resume(check_bytes_state(state)))

    def classify_one(self, record: NDArray[np.float64]) -> int:
        """Classify without the cost of a batch."""
        return self.forest_.label_one(self._query_settings(), record, self.budget, self._native_metric())

    def proba_one(self, record: NDArray[np.float64]) -> list[float]:
        """Return probabilities without the cost of a batch."""
        return self.forest_.proba_one(self._query_settings(), record, self.budget, self._native_metric())

    def _native_metric(self) -> _native.BayesMetric | None:
        return None if self.metric_ is None else self.metric_.native

    # -- saving ------------------------------------------------------------------------------------------------------

    def dump_state(self) -> ModelState:
        """Return the recipe, and the arrays of the metric and the trees."""
        return dump_forest(SavedForest(self.recipe_, self.metric_, self.forest_))

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Restore recipe, metric and trees."""
        n_features, n_classes = self.n_features_in_, len(self.classes_)
        self.recipe_, self.metric_, self.forest_ = read_forest(file, n_features, n_classes, mapped=mapped)
        with name_file_in_errors(type(self), file):
            self._query_settings()
