"""Tree ensembles as anytime classifiers: trained here, or imported from other frameworks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from anystream import _native
from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.anytime.query import Query
from anystream.anytime.river import RiverPredictMixin
from anystream.estimators.classifier import TrainedClassifier
from anystream.estimators.draft import draft_of
from anystream.estimators.labels import check_labels, class_numbers
from anystream.estimators.merging import MergeableMixin
from anystream.estimators.native_batch import fill_batch, fill_stages
from anystream.estimators.native_query import BytesQuery, check_bytes_state
from anystream.estimators.parameters import check_int, resolve_threads
from anystream.estimators.saving import ModelState, SaveableMixin, name_file_in_errors
from anystream.forest.confidence import check_record_count, choose_stop_margins
from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.file import dump_ensemble, read_ensemble_state
from anystream.forest.import_model import import_model
from anystream.forest.merging import merge_ensembles, merge_orders
from anystream.forest.native_forest import NONE, build_native_forest
from anystream.forest.ordering import ReadingOrder, choose_order, hold_out, measure_order, order_for_new_model
from anystream.forest.orders import fit_order, tree_depths
from anystream.forest.read_ensemble import read_ensemble
from anystream.forest.recipe import ForestRecipe
from anystream.forest.training import train_ensemble
from anystream.model_file import ModelFile, ModelFileError


class _NoLearning:
    """Attribute that does not exist, with a word about what to use instead."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError(
            f"{owner.__name__} has no {self._name}, because its trees do not learn incrementally; fit it again, or "
            "use BayesTreeClassifier or LocustClassifier for a stream with labels"
        )


class AnytimeForestClassifier(MergeableMixin, SaveableMixin, TrainedClassifier, RiverPredictMixin):
    """Classify by an ensemble of decision trees, one node of one tree at a time.

    A query starts with every tree at its root. A step moves one tree from a node to the child to which the record goes.
    A node's value is the mean of the leaves below it, weighted by their training records, so that a tree counts as what
    is known of it; the values of all trees give the probabilities. With an unlimited budget they are those of the
    framework that trained the ensemble.

    `from_model` makes an anytime classifier of a fitted model of scikit-learn, LightGBM, XGBoost or CatBoost, or of its
    file. `fit` trains with scikit-learn. An ensemble does not learn incrementally, so there is no ``partial_fit``: use
    `BayesTreeClassifier` or `LocustClassifier` for streams with labels.

    Parameters
    ----------
    base : {"extra_trees", "random_forest", "hist_gradient_boosting"}, default="extra_trees"
        Ensemble of scikit-learn that `fit` trains.
    n_estimators : int, default=100
        Number of trees, or of rounds of boosting.
    base_parameters : dict, optional
        Further parameters of scikit-learn's class, such as ``{"max_depth": 12}``.
    order : {"auto", "training", "contenders", "breadth_first", "squirrel", "gain"}, default="auto"
        Sequence in which steps advance the trees. ``"training"``: tree after tree. ``"contenders"``, for boosted models
        with trees for each class: tree after tree, next one of the class that is most likely to win, so that every
        record has an order of its own. ``"breadth_first"``: level after level. ``"squirrel"``: Backward Squirrel [1]_.
        ``"gain"``: tree after tree, next the one with which the log loss is least. The last two are measured on
        held-out training data, or by `order_on`. ``"auto"``: ``"contenders"`` where it applies, otherwise
        ``"training"``; `order_on` then measures whether ``"gain"`` is better.
    confidence : float, optional
        Share of the answers that must have the label of all trees, such as 0.99: work ends once one class leads
        clearly, and the answer is marked as `confident`, which is not certified. How large a lead suffices is chosen on
        a fifth of the training data that the trees do not learn from, or by `calibrate_on`, so that the stated share
        holds for records like these (with a probability of 95 % over the choice of the records). Only a budget without
        any limit then reads all trees.
    budget : int, default=10_000
        Steps per record for calls without a budget of their own. A budget of `max_steps_` or more reads all trees to
        their leaves.
    n_jobs : int, optional
        Threads for training and for batches; None or -1 is one per core. Results do not depend on it.
    random_state : int, RandomState or None, default=0
        Seed of the training; None draws one.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of a record.
    ensemble_ : anystream.forest.TreeEnsemble
        The trees.
    order_ : array of shape (max_steps_,)
        Tree that each step advances; slots of trees that are at a leaf already are skipped and not counted.
    expected_ : array
        Of the order ``"contenders"``: what the winning class gains by 0, 1, ... of its trees; otherwise empty.
    stop_margin_ : array
        With `confidence`: lead after 0, 1, ... trees above which the work ends; otherwise empty.
    max_steps_ : int
        Steps that suffice for every record.

    Notes
    -----
    Certified: for every node the least and the most that the leaves below can add to each class are known. Once the
    label can no longer change, whatever the remaining nodes are, rounding included, the answer is certified and the
    work ends; this is tried each time that a sixteenth of the trees was read. A call without a deadline whose budget
    suffices for all trees reads all of them nevertheless, so that its probabilities are those of the framework.

    Before the end: a boosted tree at its root adds the mean of its leaves. Trees that are averaged do not count at
    their root once another tree has left it: the class shares of all records say less about a tree than those that
    were read.

    Probabilities of one-vs-all models (LightGBM's ``multiclassova``, CatBoost's ``MultiClassOneVsAll``) are divided by
    their sum; the frameworks return them undivided.

    References
    ----------
    .. [1] Biebert, Hakert, Heider, Kuhse, Buschjaeger, Chen, "Jump like a squirrel", 2026.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> model = AnytimeForestClassifier.from_model(forest)
    >>> bool((model.predict_proba(X) == forest.predict_proba(X)).all())
    True
    >>> query = model.query(X[0])
    >>> int(query.refine(40).label), query.steps <= 40
    (0, True)
    """

    kind: ClassVar[str] = "forest"

    ensemble_: TreeEnsemble
    order_: NDArray[np.int32]
    expected_: NDArray[np.float64]
    stop_margin_: NDArray[np.float64]
    forest_: _native.DecisionForest

    def __init__(
        self,
        *,
        base: str = "extra_trees",
        n_estimators: int = 100,
        base_parameters: Mapping[str, Any] | None = None,
        order: str = "auto",
        confidence: float | None = None,
        budget: int = 10_000,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.base = base
        self.n_estimators = n_estimators
        self.base_parameters = base_parameters
        self.order = order
        self.confidence = confidence
        self.budget = budget
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- imported models ---------------------------------------------------------------------------------------------

    @classmethod
    def from_model(
        cls,
        model: Any,
        *,
        order: str = "auto",
        confidence: float | None = None,
        budget: int | None = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Return an anytime classifier of a fitted model.

        Parameters
        ----------
        model : object or path
            A fitted tree ensemble of scikit-learn, LightGBM, XGBoost or CatBoost; the path of a model file that one of
            the last three wrote, which is read without its framework and without running code from it; or a
            `TreeEnsemble`.
        order : str, default="auto"
            See the class. Orders that are measured on data need `order_on` afterwards.
        confidence : float, optional
            See the class. It needs `calibrate_on` or `order_on` afterwards; until then no lead ends the work.
        budget : int, optional
            Steps per record for calls without a budget of their own; by default all.
        n_jobs : int, optional
            Threads for batches.

        Raises
        ------
        ValueError
            When the model cannot be represented, such as one with linear leaves.
        """
        if isinstance(model, TreeEnsemble):
            ensemble = model
        elif isinstance(model, str | os.PathLike):
            ensemble = read_ensemble(model)
        else:
            ensemble = import_model(model)
        if ensemble.n_features == 0:
            raise ValueError("the model has no features; train it on at least one")
        made = cls(order=order, confidence=confidence, n_jobs=n_jobs)
        made.check_parameters()
        made.classes_ = ensemble.classes
        made.n_features_in_ = ensemble.n_features
        names = _own_names(ensemble.feature_names)
        if names is not None:
            made.feature_names_in_ = np.array(names, dtype=object)
        made.set_columns()
        made._set_ensemble(ensemble, choose_order(made._recipe(), ensemble))
        made.budget = made.max_steps_ if budget is None else check_int("budget", budget)
        return made

    def order_on(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Compute the order of a fitted or imported model on data that it was not trained on.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records. A random sample of up to 2,000 is used, fewer where there are many trees and classes. With
            `confidence`, one half of the records orders the trees and the other calibrates, as `calibrate_on` does.
        y : array-like of shape (n_records,)
            Their classes, all of which the model must have.
        """
        check_is_fitted(self)
        self.check_parameters()
        labels = check_labels(np.asarray(y))
        with draft_of(self) as draft:
            records = draft.validate_records(X)
            if len(records) != len(labels):
                raise ValueError(f"there are {len(records)} records and {len(labels)} labels; pass one per record")
            known = set(self.classes_.tolist())
            if unknown := [label for label in labels.tolist() if label not in known]:
                raise ValueError(f"label {unknown[0]!r} is no class of the model; leave its records out")
            numbers = class_numbers(self.classes_, labels)
            recipe, rows = draft._recipe(), slice(len(records))
            if recipe.confidence is not None:
                shuffled = np.random.default_rng(recipe.random_state).permutation(len(records))
                records, numbers = records[shuffled], numbers[shuffled]
                rows = slice(len(records) // 2)
                check_record_count(recipe.confidence, len(records) - len(records) // 2)
            order = measure_order(recipe, draft.ensemble_, records[rows], numbers[rows])
            draft._set_ensemble(draft.ensemble_, order)
            draft._calibrate(recipe, records[rows.stop :])
        return self

    def calibrate_on(self, X: ArrayLike) -> Self:
        """Choose how large a lead ends the work, for the parameter `confidence`; needs no labels.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records that the model was not trained on: for a confidence of 0.99 at least 299, for 0.999 at least 2,995.
            With more of them the work ends earlier.
        """
        check_is_fitted(self)
        self.check_parameters()
        recipe = self._recipe()
        if recipe.confidence is None:
            raise ValueError(
                "confidence is None; set the share of answers that must agree with all trees, such as 0.99"
            )
        with draft_of(self) as draft:
            draft._calibrate(recipe, draft.validate_records(X))
        return self

    def _calibrate(self, recipe: ForestRecipe, records: NDArray[np.float64]) -> None:
        """Set `stop_margin_` if a confidence is asked for."""
        if recipe.confidence is None:
            return
        forest = build_native_forest(self.ensemble_, self.order_, self.expected_)
        self.stop_margin_ = choose_stop_margins(
            forest,
            self.ensemble_,
            np.ascontiguousarray(records),
            recipe.confidence,
            recipe.random_state,
            recipe.threads,
        )
        self.forest_ = build_native_forest(self.ensemble_, self.order_, self.expected_, self.stop_margin_)

    def check_parameters(self) -> None:
        """Raise ValueError if a constructor parameter is invalid."""
        check_int("budget", self.budget)
        self._recipe()

    def marks_confident(self) -> bool:
        """Whether a lead may end the work."""
        return self.confidence is not None

    def _recipe(self) -> ForestRecipe:
        return ForestRecipe.resolve(
            base=self.base,
            n_estimators=self.n_estimators,
            base_parameters=self.base_parameters,
            order=self.order,
            n_jobs=self.n_jobs,
            random_state=self.seed_,
            confidence=self.confidence,
        )

    # -- learning ----------------------------------------------------------------------------------------------------

    def validate_training(self, X: ArrayLike, y: ArrayLike, *, reset: bool) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return validated training records and labels; whether NaN is allowed depends on what is trained now."""
        if reset:
            self.__dict__.pop("ensemble_", None)
        return super().validate_training(X, y, reset=reset)

    def fit_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Train with scikit-learn and order the trees."""
        recipe = self._recipe()
        held: NDArray[np.intp] = np.empty(0, np.intp)
        if recipe.confidence is not None:
            rows, held = hold_out(records, numbers, recipe.random_state)
            check_record_count(recipe.confidence, len(held))
            records, numbers, kept_back = records[rows], numbers[rows], records[held]
        order = order_for_new_model(recipe, records, numbers)
        ensemble = replace(train_ensemble(recipe, records, numbers), classes=self.classes_)
        self._set_ensemble(ensemble, choose_order(recipe, ensemble) if order is None else order)
        if len(held):
            self._calibrate(recipe, kept_back)

    def merge_states(self, models: Sequence[Self], class_maps: Sequence[NDArray[np.int32]]) -> None:
        """Average the forests, weighted by the number of records that each was trained on.

        Leads that were calibrated do not hold for the merged forest: call `calibrate_on` again.
        """
        ensemble = merge_ensembles([model.ensemble_ for model in models], class_maps, self.classes_)
        order = merge_orders([model.order_ for model in models], [model.ensemble_.n_trees for model in models])
        self._set_ensemble(ensemble, ReadingOrder(order, NONE))

    def _set_ensemble(self, ensemble: TreeEnsemble, order: ReadingOrder) -> None:
        slots = fit_order(order.slots, tree_depths(ensemble))
        self.forest_ = build_native_forest(ensemble, slots, order.expected)
        self.ensemble_ = ensemble
        self.order_ = slots
        self.expected_ = order.expected
        self.stop_margin_ = NONE

    def allows_missing(self) -> bool:
        """Whether records may hold missing values (NaN): as in the framework."""
        ensemble = self.__dict__.get("ensemble_")
        return ensemble is None or ensemble.accepts_missing

    @property
    def mergeable_parts(self) -> str:
        """Models of which parts of the data can be merged: those of parts that have all classes, or none if boosted."""
        return "none" if self.base == "hist_gradient_boosting" else "same classes"

    @property
    def max_steps_(self) -> int:
        """Steps that suffice for every record."""
        check_is_fitted(self)
        return int(self.forest_.max_steps)

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the model holds in memory."""
        check_is_fitted(self)
        rules = self.order_.nbytes + self.expected_.nbytes + self.stop_margin_.nbytes
        return int(self.forest_.own_bytes) + self.ensemble_.nbytes + rules

    # -- classifying -------------------------------------------------------------------------------------------------

    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Classify in one native call on all threads."""
        forest = self.forest_
        fill = partial(forest.answer, records, *budget.limits(), resolve_threads(self.n_jobs))
        return fill_batch(len(records), forest.classes, fill)

    def staged_proba(self, records: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Classify in one native call that keeps the probabilities of every stage."""
        forest = self.forest_
        fill = partial(forest.answer_in_stages, records, stages, resolve_threads(self.n_jobs))
        return fill_stages(len(records), len(stages), forest.classes, fill)

    def open_query(self, record: NDArray[np.float64]) -> Query:
        """Open a native query."""
        return ForestQuery(self.classes_, self.forest_.query(record))

    def resume_query(self, state: Any) -> Query:
        """Resume a native query from its bytes."""
        return ForestQuery(self.classes_, self.forest_.resume(check_bytes_state(state)))

    def classify_one(self, record: NDArray[np.float64], steps: int) -> int:
        """Classify without the cost of a batch."""
        return int(self.forest_.label_one(record, steps))

    def proba_of_one(self, record: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
        """Return probabilities without the cost of a batch."""
        proba = np.empty((1, self.forest_.classes))
        self.forest_.fill_proba(record, steps, proba)
        return proba

    def proba_one(self, record: NDArray[np.float64]) -> list[float]:
        """Return probabilities without the cost of a batch."""
        proba: list[float] = self.forest_.proba_one(record, self.budget)
        return proba

    partial_fit = _NoLearning()
    learn_one = _NoLearning()
    learn_many = _NoLearning()

    # -- copies and files --------------------------------------------------------------------------------------------

    def snapshot(self) -> Self:
        """Return the model as it is now; the two share everything, since nothing is changed in place."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(vars(self))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "forest_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "ensemble_"):
            self.__dict__.setdefault("expected_", NONE)
            self.__dict__.setdefault("stop_margin_", NONE)
            self.forest_ = build_native_forest(self.ensemble_, self.order_, self.expected_, self.stop_margin_)

    def dump_state(self) -> ModelState:
        """Return the arrays of the ensemble."""
        rules = {"expected": self.expected_, "stop_margin": self.stop_margin_}
        return dump_ensemble(self.ensemble_, {"order": self.order_, **rules})

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Restore the ensemble and build `forest_`, which copies the arrays; those of the ensemble stay mapped."""
        names = tuple(getattr(self, "feature_names_in_", ())) or None
        ensemble, rules = read_ensemble_state(file, self.classes_, names, self.n_features_in_)
        with name_file_in_errors(type(self), file):
            try:
                self.forest_ = build_native_forest(ensemble, **rules)
            except ModelFileError as error:
                raise ModelFileError(f"{file.path}: {error}") from None
        self.ensemble_ = ensemble
        self.order_, self.expected_, self.stop_margin_ = rules["order"], rules["expected"], rules["stop_margin"]


class ForestQuery(BytesQuery):
    """Native query of a forest."""

    __slots__ = ()

    @property
    def confident(self) -> bool:
        """Whether the work ended because one class leads clearly (`confidence`); not certified."""
        return bool(self._native.confident)


def _own_names(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the names of features, unless they are the numbers that a framework uses where it was given none."""
    if names is None or len(set(names)) < len(names):
        return None
    automatic = ([f"{prefix}{i}" for i in range(len(names))] for prefix in ("", "f", "Column_"))
    return None if list(names) in automatic else names
