"""Anytime nearest neighbours as a classifier."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from anystream import _native
from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget, BudgetLike
from anystream.anytime.profile import PerformanceProfile
from anystream.anytime.query import Query
from anystream.anytime.stages import check_stages, doubling_stages
from anystream.estimators.calibration import Calibration, native_calibration
from anystream.estimators.calibration_file import dump_calibration, read_calibration
from anystream.estimators.classifier import IncrementalClassifier, new_classes
from anystream.estimators.labels import class_shares
from anystream.estimators.merging import MergeableMixin
from anystream.estimators.parameters import check_bool, check_int, resolve_threads
from anystream.estimators.saving import ModelState, SaveableMixin, name_file_in_errors
from anystream.model_file import ModelFile, ModelFileError
from anystream.neighbors.categories import encode_categories, encode_named_record
from anystream.neighbors.distances import DISTANCES, Distance, MixedDistance, get_distance_class, make_distance
from anystream.neighbors.exemplars import ExemplarQuery, Exemplars
from anystream.neighbors.file import dump_exemplars, dump_trimmed_profile, read_exemplars, read_trimmed_profile
from anystream.neighbors.fitting import count_until_reordered, fit_exemplars, insert_records, start_exemplars
from anystream.neighbors.merging import merge_exemplars
from anystream.neighbors.profile import pool_profiles
from anystream.neighbors.query import NeighborsQuery
from anystream.neighbors.recipe import NeighborsRecipe
from anystream.neighbors.records import check_labelled_records, check_records, explain_vector_error
from anystream.neighbors.training_set import AnyExemplars

MANY_EXEMPLARS = 100_000
"""Number of exemplars at which learning without `window` and `max_bytes` warns."""

_VECTORS = ("vectors", "series")
"""Types of records that have features."""


class AnytimeNeighborsClassifier(MergeableMixin, SaveableMixin, IncrementalClassifier):
    """Anytime nearest neighbours that compares the most useful exemplars first.

    An exemplar is a stored training record. A query compares one exemplar of each class at once, and then one after
    another in the order that `fit` chose. It can be stopped at any time; when it has compared all exemplars, its result
    is that of plain nearest neighbours. A step is one exemplar compared.

    Parameters
    ----------
    ordering : {"simple_rank", "greedy", "best_drop", "drop1", "drop2", "drop3", "random"}, default="simple_rank"
        Order in which exemplars are compared. ``"simple_rank"`` is that of the paper [1]_. ``"greedy"`` takes ten times
        as long to fit and is better on short budgets where there are many classes of equal weight (digits, letters).
        See `anystream.neighbors.orderings`.
    metric : str or callable, default="euclidean"
        The distance: a name from `anystream.neighbors.distances`, or a function of two records. Named distances run in
        the native core; a function is called for every comparison, so its speed decides.
    metric_params : dict, optional
        Parameters of the distance: ``{"band": 0.1}`` (dtw), ``{"categorical": [0, 3]}`` (gower; categories are numbers
        or texts), ``{"VI": …}`` (mahalanobis).
    scaling : {None, "minmax", "standard"}, default=None
        Brings features to one scale, which `fit` learns and which then never changes.
    search : {"ordered", "inverted"}, default="ordered"
        ``"inverted"`` makes the order depend on the query: the first exemplars are prototypes, all others are in the
        list of their nearest prototype, and the lists are visited from the nearest prototype on. Where the triangle
        inequality holds, exemplars that cannot matter are skipped and the label is certified early.
    k : int, default=1
        Number of nearest exemplars that vote. 1 is best on short budgets.
    trim : {None, "auto"}, default=None
        ``"auto"`` drops the end of the order, where noise collects, if cross-validation on the training data finds a
        shorter order more accurate.
    window : int, optional
        Maximum number of exemplars; the oldest are evicted. Without it and without `max_bytes`, learning one by one
        keeps every record, and warns at 100,000.
    max_bytes : int, optional
        Maximum memory of exemplars that are vectors or series, in bytes; the oldest are evicted.
    calibrate : bool, default=True
        Whether `fit` calibrates probabilities: a power and a floor for each number of steps are fitted to the log loss
        of a quarter of the records, which the others in their order classify. The order of the classes stays. False
        keeps the raw shares of votes; so does a model that starts with `partial_fit` or has fewer than 117 records. It
        may be changed by `set_params` after `fit`. With ``k=1`` all records have the same confidence after the same
        number of steps: how often labels are right then. It compares at most a tenth as many pairs as the order
        of the records does (2e9 pairs of values at least, a few seconds): with slow metrics fewer records are held out.
    budget : int, default=2000
        Steps per record for calls without a budget of their own.
    random_state : int, RandomState or None, default=0
        Seed for the random draws of an ordering. None draws one.
    n_jobs : int, optional
        Threads for ordering and for batches; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    exemplars_ : Exemplars or CallableExemplars
        The exemplars in the order of comparison.
    recipe_ : NeighborsRecipe
        The parameters as resolved by `fit` or the first `partial_fit`; later learning uses them until the next `fit`.
    trimmed_profile_ : PerformanceProfile or None
        Accuracy of the exemplars on the training records that `trim` dropped; None if it dropped none.
    calibration_ : anystream.estimators.calibration.Calibration or None
        The calibration, as `fit` found it: learning on leaves it as it is, `merge` takes that of the first model.

    Notes
    -----
    X is an array of shape (n_records, n_features) for distances of vectors and series, a list of strings for
    ``metric="edit"``, and a list of any objects for a callable; the record of `query` is one of these.

    Distances are compared in float64: exhausted labels and raw probabilities are those of scikit-learn's
    ``KNeighborsClassifier`` with
    ``algorithm="brute"``, ties going to the lowest row of the training data. Missing values (NaN) are left out of
    Euclidean, Manhattan, Chebyshev, Gower and Hamming distances and the rest is weighted up.

    `partial_fit` inserts a new exemplar where it helps: among the first ones if it corrects at least two more of its
    neighbours than it spoils, else at the end. It moves O(log n) others. Only the first thousand exemplars are ordered
    again, whenever their number has doubled (256 series or texts, none under a Python metric). A distance or scaling
    that is learned from the training data needs `fit` first. `predict` may run in many threads while one thread learns.

    `merge` interleaves the orders: what comes early in its own model comes early in the whole. If the models learned
    different scales, the scale is learned again from all exemplars.

    References
    ----------
    .. [1] Ueno, Xi, Keogh, Lee, "Anytime classification using the nearest neighbor algorithm with applications to
       stream mining", ICDM 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AnytimeNeighborsClassifier().fit(X[::2], y[::2])
    >>> for budget in (0, 20, 200):
    ...     print(budget, round(model.set_params(budget=budget).score(X[1::2], y[1::2]), 2))
    0 0.7...
    20 0.8...
    200 0.9...
    >>> names = AnytimeNeighborsClassifier(metric="edit").fit(["Meier", "Maier", "Rossi", "Russo"], [0, 0, 1, 1])
    >>> names.predict(["Mayer", "Rosso"])
    array([0, 1])
    """

    kind: ClassVar[str] = "neighbors"
    file_version: ClassVar[int] = 3
    has_columns: ClassVar[bool] = False  # texts have none; `restore_state` checks that vectors have them

    exemplars_: AnyExemplars
    recipe_: NeighborsRecipe
    trimmed_profile_: PerformanceProfile | None
    calibration_: Calibration | None

    def __init__(
        self,
        *,
        ordering: str = "simple_rank",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        scaling: str | None = None,
        search: str = "ordered",
        k: int = 1,
        trim: str | None = None,
        window: int | None = None,
        max_bytes: int | None = None,
        calibrate: bool = True,
        budget: int = 2000,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.ordering = ordering
        self.metric = metric
        self.metric_params = metric_params
        self.scaling = scaling
        self.search = search
        self.k = k
        self.trim = trim
        self.window = window
        self.max_bytes = max_bytes
        self.calibrate = calibrate
        self.budget = budget
        self.random_state = random_state
        self.n_jobs = n_jobs

    # -- learning ----------------------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Check all parameters; whether `max_bytes` suffices is checked when the number of features is known."""
        check_int("budget", self.budget)
        check_bool("calibrate", self.calibrate)
        resolve_threads(self.n_jobs)
        self._resolve_recipe(None)

    def fit_records(self, records: Any, numbers: NDArray[np.int32], n_classes: int) -> None:
        """Order all records and keep those that trimming does not drop."""
        if self._record_type() not in _VECTORS:
            for name in ("n_features_in_", "feature_names_in_", "columns_"):  # of an earlier fit on vectors
                self.__dict__.pop(name, None)
        recipe, threads = self._resolve_recipe(self._n_features()), resolve_threads(self.n_jobs)
        fitted = fit_exemplars(recipe, records, numbers, n_classes, threads, calibrate=self.calibrate)
        self.exemplars_, self.trimmed_profile_, self.calibration_ = fitted
        self.recipe_ = recipe

    def reset(self, n_features: int) -> None:
        """Discard all exemplars; the next record that is learned starts the new ones."""
        recipe = self._resolve_recipe(n_features)
        if not callable(recipe.metric) and recipe.new_distance().needs_training_data:
            raise ValueError(
                f"metric {self.metric!r} with scaling {self.scaling!r} learns from many records how to measure; "
                "start with fit, or scale the stream before (for instance with river's StandardScaler)"
            )
        self.__dict__.pop("exemplars_", None)
        self.trimmed_profile_, self.calibration_ = None, None
        self.recipe_ = recipe

    def reset_like(self, model: Self) -> None:
        """Raise: how to measure, and the order of the exemplars, are learned by `fit` from many records."""
        raise ValueError(
            "neighbours cannot start empty beside a fitted model; run them without learning, or on one worker"
        )

    def learn_records(self, records: Any, numbers: NDArray[np.int32], n_classes: int) -> None:
        """Insert records one by one into a copy of the exemplars."""
        recipe, threads = self.recipe_, resolve_threads(self.n_jobs)
        if hasattr(self, "exemplars_"):
            exemplars = self.exemplars_.snapshot()
        else:
            exemplars = start_exemplars(recipe, records[:1], numbers[:1], n_classes, threads)
            records, numbers = records[1:], numbers[1:]
        insert_records(recipe, exemplars, records, numbers, n_classes, threads)
        self.exemplars_ = exemplars

    def learn_batch(self, records: Any, numbers: NDArray[np.int32], classes: NDArray[Any]) -> None:
        """Insert records one by one: in place, unless the exemplars are in Python or will be ordered again."""
        exemplars = vars(self).get("exemplars_")
        n_before = 0 if exemplars is None else len(exemplars)
        if isinstance(exemplars, Exemplars) and count_until_reordered(exemplars) > len(numbers):
            encoded = exemplars.distance.transform(records)
            exemplars.insert(encoded, numbers, len(classes), self.__dict__, new_classes(self, classes))
        else:
            super().learn_batch(records, numbers, classes)
        if self.recipe_.capacity == 0 and n_before < MANY_EXEMPLARS <= n_before + len(numbers):
            warnings.warn(
                f"the model holds {MANY_EXEMPLARS} exemplars and keeps every further record: memory and the time to "
                "learn grow without bound; use window=… or max_bytes=… to evict the oldest",
                stacklevel=4,
            )

    def add_features(self, n_features: int) -> None:
        """Add features to a copy of the exemplars; only the norms support it."""
        recipe, exemplars = self._resolve_recipe(n_features), self.exemplars_.snapshot()
        exemplars.add_features(n_features)
        self.exemplars_, self.recipe_ = exemplars, recipe

    def merge_states(self, models: Sequence[Self], class_maps: Sequence[NDArray[np.int32]]) -> None:
        """Interleave the orders of the models; the capacity is that of the first."""
        self.recipe_ = self._resolve_recipe(self._n_features())
        parts, n_classes = [model.exemplars_ for model in models], len(self.classes_)
        self.exemplars_ = merge_exemplars(self.recipe_, parts, class_maps, n_classes, resolve_threads(self.n_jobs))
        trimmed = [model.trimmed_profile_ for model in models if model.trimmed_profile_ is not None]
        self.trimmed_profile_ = pool_profiles(trimmed, trimmed[0].stages) if trimmed else None
        self.calibration_ = models[0].calibration_

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the exemplars hold in memory; what is borrowed from a mapped file is not counted."""
        return self.exemplars_.own_bytes

    def leave_one_out_profile(self, stages: Sequence[int] | None = None) -> PerformanceProfile:
        """Return the accuracy to expect after each number of steps, estimated on the exemplars themselves.

        Each exemplar is classified by the others, and what `trim` dropped by those that were kept, so nothing is fitted
        again. This is the paper's measurable quality [1]_. It is slightly optimistic, because the order was made for
        these exemplars; `anystream.performance_profile` holds data out instead.

        Parameters
        ----------
        stages : sequence of int, optional
            Ascending numbers of steps. Default: 0 and the powers of two.
        """
        check_is_fitted(self)
        steps = doubling_stages(len(self.exemplars_)) if stages is None else check_stages(stages)
        correct = self.exemplars_.evaluate_leave_one_out(self.k, steps, resolve_threads(self.n_jobs))
        kept = PerformanceProfile(steps, correct.mean(axis=0), len(correct))
        return kept if self.trimmed_profile_ is None else pool_profiles([kept, self.trimmed_profile_], steps)

    # -- classifying -------------------------------------------------------------------------------------------------

    def classify_records(self, records: Any, budget: Budget) -> BatchResult:
        """Classify in one native call on all threads; in Python for a Python metric."""
        threads, calibration = resolve_threads(self.n_jobs), self._native_calibration()
        return self.exemplars_.classify(records, self.k, budget, threads, calibration)

    def staged_proba(self, records: Any, stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Classify in one native call that keeps the shares of votes of every stage."""
        threads, calibration = resolve_threads(self.n_jobs), self._native_calibration()
        proba = self.exemplars_.classify_stages(records, self.k, stages, threads, calibration)
        for stage in range(len(stages)):
            yield proba[:, stage]

    def open_query(self, record: Any) -> Query:
        """Open a query at budget 0."""
        exemplars = self.exemplars_
        native = exemplars.open_query(record, self.k)
        return self._new_query(native, record, exemplars)

    def resume_query(self, state: Any) -> Query:
        """Resume a query from its record and position."""
        if not isinstance(state, tuple) or len(state) != 2:
            raise TypeError(f"state is a {type(state).__name__}; use the `state` of a query of this model")
        record, position = state
        if self.exemplars_.record_type in _VECTORS:
            if not (isinstance(record, np.ndarray) and record.dtype == np.float64):
                raise TypeError(f"the record of the state is {record!r:.80}; use the `state` of a query of this model")
            record = super().validate_record(record)
        else:
            record = check_records([record], self.exemplars_.record_type)[0]
        exemplars = self.exemplars_
        native = exemplars.resume_query(record, self.k, position)
        return self._new_query(native, record, exemplars)

    def _new_query(self, native: ExemplarQuery, record: Any, exemplars: AnyExemplars) -> Query:
        calibration = self._native_calibration()
        return NeighborsQuery(self.classes_, native, record, exemplars.to_user_distance, calibration)

    def _native_calibration(self) -> _native.Calibration | None:
        return native_calibration(self.calibration_ if self.calibrate else None)

    def classify_one(self, record: NDArray[np.float64], steps: int) -> int:
        """Classify without the cost of a batch."""
        return self.exemplars_.classify_one(record, self.k, steps)

    def proba_one(self, record: NDArray[np.float64]) -> list[float]:
        """Return shares of votes without the cost of a batch."""
        return self.exemplars_.proba_one(record, self.k, self.budget, self._native_calibration())

    # -- river: categories may be texts --------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn one labelled record; texts are categories where the metric compares categories."""
        super().learn_one(self._encode_named(x), y)

    def predict_proba_one(self, x: Mapping[Any, Any], *, budget: BudgetLike = None) -> dict[Any, float]:
        """Return the share of votes of each class seen so far; empty before anything was learned."""
        return super().predict_proba_one(self._encode_named(x), budget=budget)

    def predict_one(self, x: Mapping[Any, Any], *, budget: BudgetLike = None) -> Any:
        """Return the most probable class; None before anything was learned."""
        return super().predict_one(self._encode_named(x), budget=budget)

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame: the same as learning them one by one."""
        super().learn_many(self._encode_frame(X), y)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the shares of votes of each row of a data frame, as a pandas data frame with the same index."""
        return super().predict_proba_many(self._encode_frame(X))

    def predict_many(self, X: Any) -> Any:
        """Return the most probable class of each row of a data frame, as a pandas series with the same index."""
        return super().predict_many(self._encode_frame(X))

    def _encode_named(self, x: Mapping[Any, Any]) -> Mapping[Any, Any]:
        return encode_named_record(x) if self._compares_categories() else x

    def _encode_frame(self, X: Any) -> Any:
        return encode_categories(X, "all") if self._compares_categories() else X

    def _compares_categories(self) -> bool:
        """Whether the metric compares categories; ValueError if it does not compare vectors at all."""
        distance_class = None if callable(self.metric) else get_distance_class(self.metric)
        if distance_class is None or distance_class.record_type not in _VECTORS:
            raise ValueError(f"metric is {self.metric!r}; records of named features need a metric for vectors")
        return distance_class is MixedDistance

    # -- saving ------------------------------------------------------------------------------------------------------

    def parameters_to_json(self) -> dict[str, Any]:
        """Return the constructor parameters as JSON values, arrays in `metric_params` as lists."""
        parameters = super().parameters_to_json()
        params = self.metric_params
        if params is None:
            return parameters
        lists = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in params.items()}
        return parameters | {"metric_params": lists}

    def dump_state(self) -> ModelState:
        """Return the arrays of the exemplars and of their distance; TypeError for a Python metric."""
        metadata = dump_trimmed_profile(self.trimmed_profile_) | dump_calibration(self.calibration_)
        return ModelState(metadata, dump_exemplars(self.exemplars_))

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Check shapes and ranges here; native code checks that the arrays fit each other."""
        if hasattr(self, "columns_") != (self._record_type() in _VECTORS):
            raise ModelFileError(f"{file.path}: has columns for texts, or none for vectors; save the model again")
        with name_file_in_errors(type(self), file):
            self.recipe_ = self._resolve_recipe(self._n_features())
        n_features, n_classes = self._n_features() or 0, len(self.classes_)
        self.exemplars_ = read_exemplars(file, self.recipe_, n_features, n_classes)
        self.trimmed_profile_ = read_trimmed_profile(file)
        self.calibration_ = read_calibration(file)

    # -- parameters and validation -----------------------------------------------------------------------------------

    def _resolve_recipe(self, n_features: int | None) -> NeighborsRecipe:
        return NeighborsRecipe.resolve(
            ordering=self.ordering,
            metric=self.metric,
            metric_params=self.metric_params,
            scaling=self.scaling,
            search=self.search,
            k=self.k,
            trim=self.trim,
            window=self.window,
            max_bytes=self.max_bytes,
            seed=self.seed_,
            n_features=n_features,
        )

    def _record_type(self) -> str:
        """Return the type of records that the metric compares: vectors, series, texts or objects."""
        return "objects" if callable(self.metric) else get_distance_class(self.metric).record_type

    def _n_features(self) -> int | None:
        """Return the number of features; None if records have none."""
        return getattr(self, "n_features_in_", None)

    def prior_proba(self) -> NDArray[np.float64]:
        """Return the shares of the classes among the exemplars."""
        return class_shares(self.exemplars_.class_numbers(), len(self.classes_))

    def allows_missing(self) -> bool:
        """Whether the metric leaves out missing values (NaN)."""
        known = isinstance(self.metric, str) and self.metric in DISTANCES
        return known and get_distance_class(self.metric).allows_missing

    def set_columns(self) -> None:
        """Set `columns_` if records have features."""
        if self._record_type() in _VECTORS:
            super().set_columns()

    def validate_training(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        """Return validated training records, as an array or a list, and labels."""
        record_type = self._record_type() if reset else self.exemplars_.record_type
        if record_type not in _VECTORS:
            return check_labelled_records(X, y, record_type)
        distance = make_distance(self.metric, self.metric_params, self.scaling) if reset else self._fitted_distance()
        try:
            return super().validate_training(_encode(X, distance), y, reset=reset)
        except ValueError as error:
            raise explain_vector_error(error, self.metric) from None

    def validate_records(self, X: Any) -> Any:
        """Return validated records to classify, as an array or a list."""
        record_type = self.exemplars_.record_type
        if record_type not in _VECTORS:
            return check_records(X, record_type)
        try:
            return super().validate_records(_encode(X, self._fitted_distance()))
        except ValueError as error:
            raise explain_vector_error(error, self.metric) from None

    def validate_record(self, x: Any) -> Any:
        """Return one validated record: an array, a text or an object."""
        record_type = self.exemplars_.record_type
        if record_type not in _VECTORS:
            return check_records([x], record_type)[0]
        if isinstance(x, Mapping):
            return super().validate_record(self._encode_named(x))
        distance = self._fitted_distance()
        try:
            return super().validate_record(_encode([x], distance)[0] if isinstance(distance, MixedDistance) else x)
        except ValueError as error:
            raise explain_vector_error(error, self.metric) from None

    def _fitted_distance(self) -> Distance | None:
        exemplars = self.exemplars_
        return exemplars.distance if isinstance(exemplars, Exemplars) else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        is_text = self.metric == "edit"
        tags.input_tags.two_d_array = not is_text
        tags.input_tags.string = is_text
        tags.input_tags.sparse = not is_text and not callable(self.metric)
        return tags


def _encode(X: Any, distance: Distance | None) -> Any:
    """Return records with numbers in place of texts in the columns that hold categories."""
    return encode_categories(X, distance.categorical) if isinstance(distance, MixedDistance) else X
