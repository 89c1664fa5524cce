"""Anytime nearest neighbours as a classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from anystream.anytime.base import AnytimeClassifierMixin
from anystream.anytime.budget import Budget
from anystream.anytime.class_labels import class_numbers, extend_classes
from anystream.anytime.merging import begin_merge
from anystream.anytime.profile import PerformanceProfile
from anystream.anytime.query import Query
from anystream.anytime.river_face import RiverFaceMixin
from anystream.anytime.stages import check_stages
from anystream.anytime.undo import as_it_was_on_error
from anystream.model_file import ModelFile
from anystream.neighbors.categories import category_number, numbered
from anystream.neighbors.distances import Distance, make_distance
from anystream.neighbors.distances.mixed import Mixed
from anystream.neighbors.file import model_from_file, model_to_file
from anystream.neighbors.fitting import AnyExemplars, first_exemplar, fit_exemplars, learn, merged
from anystream.neighbors.parameters import check_parameters
from anystream.neighbors.profile import doubling_stages, pooled
from anystream.neighbors.query import NeighborsQuery
from anystream.neighbors.records import check_records, labelled_records, vectors_wanted


class AnytimeNeighborsClassifier(AnytimeClassifierMixin, RiverFaceMixin, ClassifierMixin, BaseEstimator):
    """Anytime nearest neighbours: the useful exemplars are compared first.

    A query sees one exemplar of each class at once, and then one after another in the order that `fit` chose; it can be
    stopped at any time, and when it has seen all of them its answer is that of plain nearest neighbours. A step is one
    exemplar compared.

    Parameters
    ----------
    ordering : {"simple_rank", "greedy", "best_drop", "drop1", "drop2", "drop3", "random"}, default="simple_rank"
        In which order exemplars are compared. ``"simple_rank"`` is the paper's [1]_; ``"greedy"`` takes ten times as
        long and is better early on where classes are many and of equal weight (digits, letters). See
        `anystream.neighbors.orderings`.
    metric : str or callable, default="euclidean"
        The distance: a name of `anystream.neighbors.distances`, or a function of two objects. Named ones run in the
        native core; a function is called for every comparison, which is as slow as it is.
    metric_params : dict, optional
        What the distance takes: ``{"band": 0.1}`` (dtw), ``{"categorical": [0, 3]}`` (gower; categories are numbers
        or texts), ``{"VI": …}`` (mahalanobis).
    scaling : {None, "minmax", "standard"}, default=None
        Brings features to one scale, learned by `fit` or the first `partial_fit` and kept.
    search : {"ordered", "inverted"}, default="ordered"
        ``"inverted"`` makes the order depend on the query: the first exemplars are prototypes, all others lie in the
        list of their nearest prototype, and lists are visited from the nearest on. Where the triangle inequality
        holds it skips what cannot matter and certifies the end early.
    k : int, default=1
        How many nearest exemplars vote. 1 is best on short budgets.
    trim : {None, "auto"}, default=None
        ``"auto"`` drops the noisy end of the order if internal cross-validation finds that it does harm.
    window : int, optional
        Most exemplars to keep; the oldest leaves.
    max_bytes : int, optional
        Most bytes of memory for exemplars that are vectors or series; the oldest leaves.
    budget : int, default=2000
        Steps per record that calls without a budget of their own spend.
    seed : int, default=0
        Seeds what an ordering draws.
    n_jobs : int, optional
        Threads for ordering and for batches; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    exemplars_ : Exemplars or CallableExemplars
        The exemplars in the order of visits.
    trimmed_ : PerformanceProfile or None
        How the training data that `trim` dropped fare among the others.

    Notes
    -----
    Distances are decided in float64: exhausted answers are those of scikit-learn's ``KNeighborsClassifier`` with
    ``algorithm="brute"``, ties going to the lowest index of the training data. Missing values (NaN) are left out of
    Euclidean, Manhattan, Chebyshev and Gower distances and the rest is weighted up.

    `partial_fit` places a new exemplar where it helps: among the first ones if it sets right more of its neighbours
    than it spoils, else at the end. It moves O(log n) others. Only the first thousand are ordered anew, whenever their
    number has doubled (256 of series and texts, no objects of a Python metric). `predict` may run in many threads while
    one learns.

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
    exemplars_: AnyExemplars
    trimmed_: PerformanceProfile | None

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
        budget: int = 2000,
        seed: int = 0,
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
        self.budget = budget
        self.seed = seed
        self.n_jobs = n_jobs

    # -- learning --------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Order all exemplars.

        Parameters
        ----------
        X : array-like of shape (n_objects, n_features), or list of texts or objects
            Exemplars, as the distance takes them.
        y : array-like of shape (n_objects,)
            Their classes.
        """
        check_parameters(self)
        with as_it_was_on_error(self):
            points, labels = self._validate_training(X, y, reset=True)
            classes, numbers = np.unique(labels, return_inverse=True)
            self.exemplars_, self.trimmed_ = fit_exemplars(self, points, numbers.astype(np.int32), len(classes))
            self.classes_ = classes
            self._name_columns()
        return self

    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn exemplars one by one; a new model begins with them.

        Parameters
        ----------
        X : array-like of shape (n_objects, n_features), or list of texts or objects
            Exemplars, as the distance takes them.
        y : array-like of shape (n_objects,)
            Their classes; new ones may appear at any time.
        classes : array-like, optional
            Classes that may come later, so that `classes_` is complete from the beginning.
        """
        check_parameters(self)
        fresh = not hasattr(self, "exemplars_")
        with as_it_was_on_error(self):
            points, labels = self._validate_training(X, y, reset=fresh)
            known = getattr(self, "classes_", None)
            if classes is not None:
                known = extend_classes(known, classes)
            self._insert(points, labels, known)
            if fresh:
                self._name_columns()
        return self

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """One model of the exemplars of all; parameters and scale are those of the first.

        The orders are interleaved: what came early in its own model comes early in the whole.
        """
        whole, numbers = begin_merge(models)
        whole.exemplars_ = merged(whole, models, numbers, len(whole.classes_))
        trimmed = [model.trimmed_ for model in models if model.trimmed_ is not None]
        whole.trimmed_ = pooled(trimmed, trimmed[0].stages) if trimmed else None
        return whole

    @property
    def memory_bytes_(self) -> int:
        """Bytes of memory that the exemplars hold; what a mapped file lends is not counted."""
        return self.exemplars_.own_bytes

    def performance_profile(self, stages: Sequence[int] | None = None) -> PerformanceProfile:
        """What accuracy to expect after how many steps, from the exemplars themselves.

        Each exemplar is classified by the others, and what `trim` dropped by those that stayed, so nothing is fitted
        again. This is the paper's measurable quality [1]_: slightly optimistic, because the order was made for these
        exemplars; `anystream.performance_profile` holds data out instead.

        Parameters
        ----------
        stages : sequence of int, optional
            Ascending numbers of steps. Default: 0 and the powers of two.
        """
        check_is_fitted(self)
        steps = doubling_stages(len(self.exemplars_)) if stages is None else check_stages(stages)
        right = self.exemplars_.leave_one_out(self.k, steps, self._threads())
        own = PerformanceProfile(steps, right.mean(axis=0), len(right))
        return own if self.trimmed_ is None else pooled([own, self.trimmed_], steps)

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn one labelled record; texts are categories where the metric knows such."""
        super().learn_one(self._numbered_one(x), y)

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """The share of votes of each class seen so far; empty before anything was learned."""
        return super().predict_proba_one(self._numbered_one(x))

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """The likeliest class; None before anything was learned."""
        return super().predict_one(self._numbered_one(x))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame: the same as learning them one by one."""
        super().learn_many(numbered(X, "all") if self._has_categories() else X, y)

    def predict_proba_many(self, X: Any) -> Any:
        """The shares of votes of each row of a data frame, as a pandas data frame with the same index."""
        return super().predict_proba_many(numbered(X, "all") if self._has_categories() else X)

    def predict_many(self, X: Any) -> Any:
        """The likeliest class of each row of a data frame, as a pandas series with the same index."""
        return super().predict_many(numbered(X, "all") if self._has_categories() else X)

    # -- what the contract asks --------------------------------------------------------------------------------------

    def query(self, x: Any = None, *, state: Any = None) -> Query:
        """One classification to be refined step by step.

        Parameters
        ----------
        x : record, optional
            An array of shape (n_features,), a text or an object, as the distance takes it.
        state : optional
            The `state` of an earlier query of this model, instead of `x`: the query goes on from there.
        """
        if self._takes() in ("vectors", "series") or x is None:
            with vectors_wanted(self.metric):
                return super().query(self._numbered([x])[0] if self._has_categories() else x, state=state)
        check_is_fitted(self)
        if state is not None:
            raise TypeError("query takes a record or the state of an earlier query, and not both")
        return self._open_query(check_records([x], self._takes())[0])

    def _answer(self, queries: Any, budget: Budget) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        return self.exemplars_.answer(queries, self.k, budget, self._threads())

    def _staged_proba(self, queries: Any, stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        out = self.exemplars_.staged(queries, self.k, stages, self._threads())
        for stage in range(len(stages)):
            yield out[:, stage]

    def _open_query(self, row: Any) -> Query:
        return NeighborsQuery(self, row, self.exemplars_.open(row, self.k))

    def _resume_query(self, state: Any) -> Query:
        if not isinstance(state, tuple) or len(state) != 2:
            raise TypeError(f"state is a {type(state).__name__}; use the `state` of a query of this model")
        record, rest = state
        return NeighborsQuery(self, record, self.exemplars_.resume(record, self.k, rest))

    def _label_row(self, row: NDArray[np.float64]) -> int:
        return self.exemplars_.label_one(row, self.k, self.budget)

    def _proba_row(self, row: NDArray[np.float64]) -> list[float]:
        return self.exemplars_.proba_one(row, self.k, self.budget)

    def _learn_rows(self, rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        if not hasattr(self, "exemplars_"):
            check_parameters(self)
            if self._takes() not in ("vectors", "series"):
                raise ValueError(f"metric is {self.metric!r}; records by name are vectors, so use a metric for vectors")
            self.n_features_in_ = rows.shape[1]
        self._insert(rows, labels, getattr(self, "classes_", None))

    def _widen(self, n_features: int) -> None:
        self.exemplars_.widen(n_features)

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return model_to_file(self)

    @classmethod
    def _from_file(cls, file: ModelFile, *, mapped: bool) -> Self:
        return model_from_file(cls, file)

    # -- parameters and validation -----------------------------------------------------------------------------------

    def _insert(self, points: Any, labels: NDArray[Any], known: NDArray[Any] | None) -> None:
        classes = extend_classes(known, labels)
        numbers = class_numbers(classes, labels)
        if hasattr(self, "exemplars_"):
            learn(self, self.exemplars_, points, numbers)
            self.exemplars_.declare_classes(len(classes))
        else:
            if not callable(self.metric) and self._new_distance().needs_data:
                raise ValueError(
                    f"metric {self.metric!r} with scaling {self.scaling!r} learns how to measure from many records; "
                    "begin with fit, or scale the stream before (for instance with river's StandardScaler)"
                )
            exemplars = first_exemplar(self, points[:1], numbers[:1], len(classes))
            if len(numbers) > 1:
                learn(self, exemplars, points[1:], numbers[1:])
            self.exemplars_, self.trimmed_ = exemplars, None
        self.classes_ = classes

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _new_distance(self) -> Distance:
        return make_distance(self.metric, self.metric_params, self.scaling)

    def _takes(self) -> str:
        """What kind of records the metric compares."""
        if callable(self.metric):
            return "objects"
        return self._new_distance().records

    def _name_columns(self) -> None:
        if self._takes() in ("vectors", "series"):
            self.columns_ = self._column_names()

    def _validate_queries(self, X: Any) -> Any:
        takes = self._takes()
        if takes not in ("vectors", "series"):
            return check_records(X, takes)
        with vectors_wanted(self.metric):
            return super()._validate_queries(self._numbered(X))

    def _validate_training(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        takes = self._takes()
        if takes not in ("vectors", "series"):
            return labelled_records(X, y, takes)
        with vectors_wanted(self.metric):
            return super()._validate_training(self._numbered(X), y, reset=reset)

    def _has_categories(self) -> bool:
        return self.metric in ("gower", "hamming")

    def _numbered(self, X: Any) -> Any:
        """Records with numbers in place of categories that are texts."""
        distance = self._new_distance() if self._has_categories() else None
        return numbered(X, distance.categorical) if isinstance(distance, Mixed) else X

    def _numbered_one(self, x: Mapping[Any, Any]) -> Mapping[Any, Any]:
        if not self._has_categories():
            return x
        return {name: category_number(value) if isinstance(value, str) else value for name, value in x.items()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            distance = None if callable(self.metric) else self._new_distance()
        except ValueError:  # fit says what is wrong
            return tags
        tags.input_tags.allow_nan = distance is not None and distance.allows_missing
        tags.input_tags.two_d_array = distance is None or distance.records != "texts"
        tags.input_tags.string = distance is not None and distance.records == "texts"
        return tags
