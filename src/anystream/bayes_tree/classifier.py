"""The Bayes tree as a classifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anystream import _native
from anystream.anytime.base import AnytimeClassifierMixin
from anystream.anytime.budget import Budget
from anystream.anytime.class_labels import class_numbers, extend_classes
from anystream.anytime.merging import begin_merge
from anystream.anytime.native_answer import answer_batch, answer_in_stages
from anystream.anytime.parameters import positive_number, real_number, whole_number
from anystream.anytime.query import Query
from anystream.anytime.river_face import RiverFaceMixin
from anystream.anytime.undo import as_it_was_on_error
from anystream.bayes_tree.bandwidth import parse_bandwidth
from anystream.bayes_tree.file import forest_from_file, forest_to_file
from anystream.bayes_tree.inside import BayesTrees
from anystream.bayes_tree.metric import Metric, check_metric, learn_metric
from anystream.bayes_tree.query import BayesTreeQuery
from anystream.bayes_tree.selection import MANY_FEATURES, Plan, choose
from anystream.model_file import ModelFile
from anystream.progress import run_with_progress

CONSTRUCTIONS = (
    "em_top_down",
    "goldberger",
    "virtual_sampling",
    "hilbert",
    "z_curve",
    "str",
    "guttman",
    "nearest_mean",
)


class BayesTreeClassifier(AnytimeClassifierMixin, RiverFaceMixin, ClassifierMixin, BaseEstimator):
    """Anytime Bayes classifier over one tree of Gaussian components per class.

    A query starts at the root entry of each class and refines its frontiers while the budget lasts: each step replaces
    one entry by its children. Stopping early gives a coarser density, never an invalid one; at the end stands the
    kernel density of all the data. The defaults are the best we know; `bt_star` is [1]_ to the letter.

    Parameters
    ----------
    construction : str, default="em_top_down"
        How `fit` builds the trees: ``"em_top_down"`` (recursive clustering, the best), ``"goldberger"`` and
        ``"virtual_sampling"`` (components merged bottom up), ``"hilbert"``, ``"z_curve"`` and ``"str"`` (objects packed
        along a curve or in tiles), ``"guttman"`` (insertion into an R-tree; R in [1]_), or ``"nearest_mean"`` (the
        insertion of `partial_fit`).
    fanout : int, default=7
        Most entries of a node, from 3 to 64; maxFanout in [1]_, M in [2]_.
    bandwidth : str, default="auto"
        Width of the kernels: ``"langley"``, ``"haerdle"``, or ``"f"`` and a factor (Eq. 17-19 of [1]_). See
        `anystream.bayes_tree.bandwidth`. ``"auto"`` is ``"f0.05"``, unless ``metric="auto"`` finds a better factor.
    inner_variance : {"max", "plain"}, default="max"
        The variance of an inner entry: Eq. 5 of [1]_ as it stands (``"plain"``), or at least that of a kernel, so that
        few objects make no spike.
    decision : {"auto", "ensemble", "mixture", "nearest"}, default="auto"
        What decides: the frontiers of all steps so far (ENS, Eq. 20), the present ones (Eq. 7), or the one strongest
        component of each class (NN, Eq. 21). ``"auto"`` is ``"ensemble"``, unless ``metric="auto"`` finds ``"mixture"``
        better.
    descent : {"global_best", "breadth_first", "depth_first"}, default="global_best"
        Which entry of a frontier is refined next: the one of highest density (Eq. 6), the one that has waited
        longest, or the one read last.
    refined_classes : int, "auto" or "published", default="auto"
        How many classes take turns before they are ordered by probability again; k of qbk. ``"published"`` is
        max(2, floor(log2 L)) for L classes, ``"auto"`` max(4, floor(log2 L)): with less, the true class starves.
    refine_for : {"accuracy", "certificate"}, default="accuracy"
        What refinements are for. ``"accuracy"`` follows `descent`, and an answer is certified when nothing is left to
        refine. ``"certificate"`` keeps bounds on the density that each class will have in the end, refines where they
        are widest, and stops as soon as they prove which class will be the likeliest by the mixture of all kernels;
        that label is then the answer, whatever `decision` said on the way. It needs far fewer steps than exhaustion
        (tens to hundreds), and each costs about twice as much.
    covariance : {"auto", "full", "diagonal"} or int, default="auto"
        The covariances of upper entries with enough objects (BN): all of them, none, or blocks of at most this many
        features that hill climbing on the likelihood finds (s in [1]_, Eq. 8-10). ``"auto"`` is ``"full"`` up to 256
        features and ``"diagonal"`` beyond.
    covariance_levels : int, default=2
        How many levels of entries have covariances, from the roots down; m in [1]_. An entry needs twice as many
        objects as a block has features.
    margin_levels : int, default=0
        How many levels of entries `fit` moves by margin maximisation (MM, Eq. 11-16), from the roots down; m in [1]_.
    margin_kappa, margin_lambda : float, default=1 and 0.1
        Exponents of the margin (Eq. 14 and 15), for `margin_levels` and for `root_model`.
    root_model : float, "auto" or None, default="auto"
        The vote of a model of the roots: one Gaussian with full covariance per class, trained by margin maximisation,
        which answers alone before the first step and whose posterior in the end multiplies that of the trees with this
        power; the trees take over in the first eight steps. ``"auto"`` chooses the power on held-out quarters of the
        training data; it leaves the model out if there are more than 256 features or too few objects to judge by (120).
    metric : str or None, default="auto"
        The space in which densities are estimated, learned by `fit`: ``"whiten"``, ``"quantile"``, ``"diagonal"`` (one
        learned weight per feature), ``"quantile+whiten"`` or ``"quantile+diagonal"``; `learn_metric` describes them.
        ``"auto"`` tries all of them, and none, on held-out quarters of the training data, together with `bandwidth` and
        `decision` where these are ``"auto"``; `plan_` says what was chosen. Trying takes longer than building: use
        ``metric=None, root_model=None`` where fitting must be quick.
    budget : int, default=200
        Steps per record that calls without a budget of their own spend.
    seed : int, default=0
        Seeds the samples on which large nodes are clustered.
    n_jobs : int, optional
        Threads for building and for batches; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Features of a record.
    forest_ : anystream._native.BayesForest
        The trees.
    plan_ : anystream.bayes_tree.selection.Plan
        Metric, bandwidth, decision and weight of the root model in use.

    See Also
    --------
    anystream.anytime_curve : Accuracy over budget.

    Notes
    -----
    Missing values (NaN): a query's are integrated out; those of a training object count as distributed like the
    rest of its class. `fit` builds by EMTopDown [2]_; `partial_fit` inserts next to the nearest means, and takes scale
    and bandwidths anew whenever the data have grown by half. A model that begins with `partial_fit` has nothing to
    choose by: ``"auto"`` is then no metric and no root model. A metric stays as `fit` learned it; the root model, too,
    with a weight that falls as new objects come, until a class or a feature appears that it does not know. An entry
    that `partial_fit` changes keeps its covariance until its objects have grown by half, and loses what margin
    maximisation did to it. Records with missing values see the diagonals of covariances, and the root model has no vote
    on them. `predict` may run in many threads while one learns: each call answers from the model as it was when the
    call began.

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
    >>> right = [(model.predict(X[1::2], budget=budget) == y[1::2]).mean() for budget in (0, 10, 100)]
    >>> bool(right[0] > 0.85), bool(right[1] > 0.93), bool(right[2] > 0.94)
    (True, True, True)
    """

    kind: ClassVar[str] = "bayes-tree"
    file_version: ClassVar[int] = 2

    forest_: _native.BayesForest
    plan_: Plan
    _metric: Metric | None  # learned by fit

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
        """BT* as published [1]_: EMTopDown, f0.05 and the ensemble over time, with plain variances and the small k.

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

    # -- learning --------------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Build the trees of all objects at once.

        Parameters
        ----------
        X : array-like of shape (n_objects, n_features)
            Objects; NaN stands for a missing value.
        y : array-like of shape (n_objects,)
            Their classes.
        """
        self._check_parameters()
        with as_it_was_on_error(self):
            points, labels = self._validate_training(X, y, reset=True)
            classes, found = np.unique(labels, return_inverse=True)
            numbers = found.astype(np.int32)
            plan = choose(self, points, numbers)
            metric = None
            if plan.metric is not None:
                metric = learn_metric(plan.metric, points, numbers, self.seed, self._threads())
            mapped = points if metric is None else metric.apply(points, self._threads())
            self.forest_ = run_with_progress(
                lambda placed, stop: self._build(plan, mapped, numbers, len(classes), placed, stop),
                total=len(points),
                what="building the trees",
            )
            self.plan_, self._metric = plan, metric
            self.classes_ = classes
            self.columns_ = self._column_names()
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Insert objects one by one; a new model begins with them.

        Parameters
        ----------
        X : array-like of shape (n_objects, n_features)
            Objects; NaN stands for a missing value.
        y : array-like of shape (n_objects,)
            Their classes; new ones may appear at any time.
        classes : array-like, optional
            Classes that may come later, so that `classes_` is complete from the beginning.
        """
        fresh = not hasattr(self, "forest_")
        self._check_parameters()
        with as_it_was_on_error(self):
            points, labels = self._validate_training(X, y, reset=fresh)
            if fresh:
                self._begin(points.shape[1])
                self.columns_ = self._column_names()
            if classes is not None:
                self.classes_ = extend_classes(getattr(self, "classes_", None), classes)
            self._insert(points, labels)
        return self

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """One model of all the data that `models` were fitted on; parameters are those of the first.

        The trees of a class hang side by side below a new root, so the exhausted density is exactly that of a model of
        the whole. What was chosen and learned for the first model holds for all: objects of a model with another metric
        are taken to the first one's space and their trees are built anew. A root model is trained anew on all objects.
        Models of the same features merge in any number.
        """
        whole, numbers = begin_merge(models)
        whole.plan_, whole._metric = models[0].plan_, models[0]._metric
        forests = [whole._in_own_space(model) for model in models]
        whole.forest_ = _native.BayesForest.merge(forests, [each.tolist() for each in numbers], len(whole.classes_))
        if whole.plan_.root_weight is not None:
            whole._train_root_model(whole.forest_)
        return whole

    @property
    def memory_bytes_(self) -> int:
        """Bytes of memory that the trees hold; what a mapped file lends is not counted."""
        return self.forest_.own_bytes

    @property
    def tree_(self) -> BayesTrees:
        """The trees to look at: ``model.tree_.describe()``, ``model.tree_.plot_frontier(query)``."""
        check_is_fitted(self)
        return BayesTrees(self)

    # -- what the contract asks --------------------------------------------------------------------------------------

    def _answer(
        self, queries: NDArray[np.float64], budget: Budget
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        settings, metric = self._query_settings(self.plan_), self._native_metric
        return answer_batch(
            len(queries),
            len(self.classes_),
            lambda proba, steps, certified: self.forest_.answer(
                settings, queries, *budget.limits(), self._threads(), proba, steps, certified, metric
            ),
        )

    def _staged_proba(self, queries: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        settings, metric = self._query_settings(self.plan_), self._native_metric
        return answer_in_stages(
            len(queries),
            len(stages),
            len(self.classes_),
            lambda out: self.forest_.answer_in_stages(settings, queries, stages, self._threads(), out, metric),
        )

    def _open_query(self, row: NDArray[np.float64]) -> Query:
        return BayesTreeQuery(self, self.forest_.query(self._query_settings(self.plan_), row, self._native_metric))

    def _resume_query(self, state: Any) -> Query:
        if not isinstance(state, bytes):
            raise TypeError(f"state is a {type(state).__name__}; use the `state` of a query of this model")
        return BayesTreeQuery(self, self.forest_.resume(state))

    def _label_row(self, row: NDArray[np.float64]) -> int:
        return self.forest_.label_one(self._query_settings(self.plan_), row, self.budget, self._native_metric)

    def _proba_row(self, row: NDArray[np.float64]) -> list[float]:
        return self.forest_.proba_one(self._query_settings(self.plan_), row, self.budget, self._native_metric)

    def _learn_rows(self, rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        if not hasattr(self, "forest_"):
            self._check_parameters()
            self._begin(rows.shape[1])
            self.n_features_in_ = rows.shape[1]
        self._insert(rows, labels)

    def _widen(self, n_features: int) -> None:
        if self._metric is not None:
            self._metric = self._metric.widened(n_features)
        self.forest_.add_features(n_features)

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return forest_to_file(self)

    @classmethod
    def _from_file(cls, file: ModelFile, *, mapped: bool) -> Self:
        return forest_from_file(cls, file, mapped=mapped)

    # -- parameters --------------------------------------------------------------------------------------------------

    def _insert(self, points: NDArray[np.float64], labels: NDArray[Any]) -> None:
        classes = extend_classes(getattr(self, "classes_", None), labels)
        numbers = class_numbers(classes, labels)
        self.forest_.declare_classes(len(classes))
        self.forest_.insert(self._mapped(points), numbers)
        self.classes_ = classes

    def _begin(self, n_features: int) -> None:
        if self.metric not in (None, "auto"):
            raise ValueError(
                f"metric={self.metric!r} is learned by fit; call fit before partial_fit, or use metric=None"
            )
        self.plan_, self._metric = replace(Plan.unjudged(self), root_weight=None), None
        self.forest_ = _native.BayesForest.empty(self._forest_settings(self.plan_, n_features), n_features)

    def _build(
        self,
        plan: Plan,
        points: NDArray[np.float64],
        numbers: NDArray[np.int32],
        n_classes: int,
        placed: _native.Counter | None = None,
        stop: _native.StopToken | None = None,
        margin_iterations: int = 30,
    ) -> _native.BayesForest:
        """The trees of points in the space of the plan's metric, and what margin maximisation makes of them."""
        forest = _native.BayesForest.build(
            self._forest_settings(plan, points.shape[1]),
            points,
            numbers,
            n_classes,
            construction=self.construction,
            threads=self._threads(),
            seed=self.seed,
            placed=placed,
            stop=stop,
        )
        if self.margin_levels > 0:
            levels, threads = self.margin_levels, self._threads()
            forest.maximise_margin(
                levels, self.margin_kappa, self.margin_lambda, margin_iterations, threads=threads, stop=stop
            )
        if plan.root_weight is not None:
            self._train_root_model(forest, stop, margin_iterations)
        return forest

    def _in_own_space(self, other: Self) -> _native.BayesForest:
        """The trees of another model in the space of this one's metric."""
        if other._metric == self._metric:
            return other.forest_
        arrays = other.forest_.arrays()
        points = arrays["points"].reshape(-1, other.n_features_in_)
        raw = points if other._metric is None else other._metric.undo(points)
        trees_alone = replace(self.plan_, root_weight=None)
        return self._build(trees_alone, self._mapped(raw), arrays["point_class"], len(other.classes_))

    def _train_root_model(
        self, forest: _native.BayesForest, stop: _native.StopToken | None = None, iterations: int = 30
    ) -> None:
        per_object = max(1, forest.classes) * max(8, forest.dimensions) ** 2 // 2
        forest.train_root_model(
            self.margin_kappa,
            self.margin_lambda,
            max_records=max(2000, _ROOT_MODEL_WORK // per_object),
            iterations=iterations,
            seed=self.seed,
            threads=self._threads(),
            stop=stop,
        )

    def _mapped(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        return records if self._metric is None else self._metric.apply(records, self._threads())

    @property
    def _native_metric(self) -> _native.BayesMetric | None:
        return None if self._metric is None else self._metric.native

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense before anything is learned."""
        if self.construction not in CONSTRUCTIONS:
            raise ValueError(f"construction is {self.construction!r}; use one of {', '.join(CONSTRUCTIONS)}")
        whole_number("margin_levels", self.margin_levels)
        whole_number("budget", self.budget)
        whole_number("seed", self.seed)
        self._threads()
        if self.metric != "auto":
            check_metric(self.metric)
        if self.root_model not in (None, "auto"):
            real_number("root_model", self.root_model, 0.0)
        real_number("margin_kappa", self.margin_kappa, 1.0)
        positive_number("margin_lambda", self.margin_lambda)
        plan = Plan.unjudged(self)
        self._forest_settings(plan, 1)
        self._query_settings(plan)

    def _forest_settings(self, plan: Plan, n_features: int) -> _native.BayesForestSettings:
        method, alpha = parse_bandwidth(plan.bandwidth)
        return _native.BayesForestSettings(
            whole_number("fanout", self.fanout),
            method,
            alpha,
            str(self.inner_variance),
            covariance_block=_block_size(self.covariance, n_features),
            covariance_levels=whole_number("covariance_levels", self.covariance_levels),
            common_scale=plan.metric is not None,
        )

    def _query_settings(self, plan: Plan) -> _native.BayesQuerySettings:
        k = _NAMED_K.get(self.refined_classes)
        if k is None:
            k = whole_number("refined_classes", self.refined_classes, 1)
        decision = plan.decision if self.decision == "auto" else self.decision
        return _native.BayesQuerySettings(
            self.descent, decision, k, plan.root_weight or 0.0, certify=self._for_certificate(decision)
        )

    def _for_certificate(self, decision: str) -> bool:
        if self.refine_for == "accuracy":
            return False
        if self.refine_for != "certificate":
            raise ValueError(f"refine_for is {self.refine_for!r}; use 'accuracy' or 'certificate'")
        if decision == "nearest":
            raise ValueError(
                "refine_for='certificate' proves the label of the mixture of all kernels, which is not that of "
                "decision='nearest'; use decision='mixture' or 'ensemble'"
            )
        if self.descent != "global_best" or self.refined_classes != "auto":
            raise ValueError(
                "refine_for='certificate' chooses by itself what to refine; leave descent and refined_classes out"
            )
        return True


_NAMED_K: dict[object, int] = {"auto": 0, "published": -1}  # as native code knows them


_ROOT_MODEL_WORK = 300_000_000  # products per evaluation of the root model's objective, about


def _block_size(covariance: object, n_features: int) -> int:
    """Most features of a block, as native code knows it: 0 is all of them, 1 the diagonal."""
    if covariance == "auto":
        return 0 if n_features <= MANY_FEATURES else 1
    if covariance in ("full", "diagonal"):
        return 0 if covariance == "full" else 1
    if isinstance(covariance, str):
        raise ValueError(f"covariance is {covariance!r}; use 'auto', 'full', 'diagonal' or the size of a block")
    return whole_number("covariance", covariance, 1)
