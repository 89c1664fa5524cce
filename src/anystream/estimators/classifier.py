"""Templates of `fit` and `partial_fit`: validation, column names, class numbers and drafts, written once."""

from __future__ import annotations

import copy
import pickle
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from anystream.anytime.classifier import AnytimeClassifier
from anystream.anytime.dense import to_dense
from anystream.anytime.feature_values import check_feature_values
from anystream.anytime.named_record import Columns
from anystream.anytime.river import RiverMixin
from anystream.estimators.draft import draft_of
from anystream.estimators.labels import check_labels, class_numbers, extend_classes
from anystream.estimators.parameters import check_random_state, draw_seed
from anystream.estimators.sample_weight import repeat_by_weight


class TrainedClassifier(AnytimeClassifier, abstract=True):
    """Classifier with a `fit` template; a subclass defines `fit_records` and how to classify."""

    random_state: Any
    """Seed of what is random: an int, a generator of NumPy or None; only of classifiers with this parameter."""
    seed_: int = 0
    """Seed that `fit` or the first `partial_fit` drew from `random_state`."""

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Raise ValueError if a constructor parameter is invalid. Called before anything changes."""

    @abstractmethod
    def fit_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Replace what was learned by these records; ``numbers[i] < n_classes`` is the class of record i.

        `columns_` and `n_features_in_` are set already. Assign new values to attributes instead of changing the old
        ones in place: `self` is a draft here, which replaces the model at the end.
        """

    # -- fit ---------------------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train from scratch; if it fails, the model stays as it was.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Training records; NaN stands for a missing value.
        y : array-like of shape (n_records,)
            Their classes.
        sample_weight : array-like of shape (n_records,), optional
            Whole numbers: a record of weight w counts as w copies in its place, one of weight 0 is left out.
        """
        self._check_all_parameters()
        with draft_of(self) as draft:
            records, labels = repeat_by_weight(*draft.validate_training(X, y, reset=True), sample_weight)
            draft.set_columns()
            draft._set_seed()
            draft.classes_, numbers = np.unique(labels, return_inverse=True)
            draft.fit_records(records, numbers.astype(np.int32), len(draft.classes_))
        return self

    def _check_all_parameters(self) -> None:
        check_random_state(vars(self).get("random_state", 0))
        self.check_parameters()

    def _set_seed(self) -> None:
        if "random_state" in vars(self):
            self.seed_ = draw_seed(self.random_state)

    def snapshot(self) -> Self:
        """Return the model as it is now; learning changes neither through the other.

        Native structures are shared until one of the two learns; nothing large is copied here.
        """
        twin = self.published()
        for name, value in vars(twin).items():
            if not hasattr(value, "snapshot"):
                twin.__dict__[name] = copy.deepcopy(value)
        return twin

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the model holds in memory; this default is the size of its pickle."""
        check_is_fitted(self)
        return len(pickle.dumps(self))

    # -- validation --------------------------------------------------------------------------------------------------

    def validate_training(self, X: ArrayLike, y: ArrayLike, *, reset: bool) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return validated training records and labels; `reset` sets the number and names of the features."""
        records, labels = validate_data(
            self,
            to_dense(X),
            y,
            dtype=np.float64,
            order="C",
            ensure_all_finite="allow-nan" if self.allows_missing() else True,
            ensure_min_features=1,
            reset=reset,
        )
        check_classification_targets(labels)
        return check_feature_values(np.asarray(records)), column_or_1d(labels)

    def set_columns(self) -> None:
        """Set `columns_` from the table that was validated last."""
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        self.columns_ = {name: column for column, name in enumerate(names)}


class IncrementalClassifier(TrainedClassifier, RiverMixin, abstract=True):
    """Classifier that learns record by record: `partial_fit`, and river's `learn_one` and `learn_many`.

    A subclass defines `reset`, `learn_records` and how to classify. Learning a batch equals learning its records one
    by one. Labels may appear at any time; known classes keep their positions in `classes_`.
    """

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def reset(self, n_features: int) -> None:
        """Discard everything learned and start an empty model for records of `n_features` features."""

    @abstractmethod
    def learn_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn records one after another; ``numbers[i] < n_classes``, and `n_classes` never decreases.

        Assign new values to attributes instead of changing the old ones in place: `self` is a draft here, which
        replaces the model at the end.
        """

    def add_features(self, n_features: int) -> None:
        """Extend what was learned to `n_features` features; the new ones are missing in all records so far.

        `columns_` contains the new names already. Assign new values to attributes, as in `learn_records`. The default
        suits models that ignore columns they have not seen.
        """

    def learn_batch(self, records: Any, numbers: NDArray[np.int32], classes: NDArray[Any]) -> None:
        """Learn records and set `classes_`: all of it or, if this raises, nothing.

        This default does so in a draft. A classifier whose native model learns in place overrides it.
        """
        with draft_of(self) as draft:
            draft.classes_ = classes
            draft.learn_records(records, numbers, len(classes))

    def fit_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Reset the model and learn the records in their order."""
        self.reset(records.shape[1])
        self.learn_records(records, numbers, n_classes)

    def classify_one(self, record: NDArray[np.float64], steps: int) -> int:
        """Return the class number of one record after at most `steps` steps."""
        return int(np.argmax(self.open_query(record).refine(steps).proba))

    def proba_one(self, record: NDArray[np.float64]) -> list[float]:
        """Return the probabilities of one record at the default budget."""
        proba: list[float] = self.open_query(record).refine(self.budget).proba.tolist()
        return proba

    # -- learning ----------------------------------------------------------------------------------------------------

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn further records; the first call starts a new model. If it fails, the model stays as it was.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Training records, the oldest first; NaN stands for a missing value.
        y : array-like of shape (n_records,)
            Their classes; new ones may appear at any time.
        classes : array-like, optional
            Classes that may appear later, so that `classes_` is complete from the start.
        sample_weight : array-like of shape (n_records,), optional
            Whole numbers, as in `fit`.
        """
        self._check_all_parameters()
        if hasattr(self, "classes_"):
            records, labels = repeat_by_weight(*self.validate_training(X, y, reset=False), sample_weight)
            self._learn(records, labels, self.classes_ if classes is None else extend_classes(self.classes_, classes))
            return self
        with draft_of(self) as draft:
            records, labels = repeat_by_weight(*draft.validate_training(X, y, reset=True), sample_weight)
            draft.set_columns()
            draft._set_seed()
            draft.reset(getattr(draft, "n_features_in_", 0))  # texts have no features
            draft._learn(records, labels, None if classes is None else extend_classes(None, classes))
        return self

    def learn_columns(self, records: NDArray[np.float64], labels: NDArray[Any], columns: Columns) -> None:
        """Learn records of river's surface, whose features may be new; see `RiverMixin`."""
        if columns is getattr(self, "columns_", None):
            self._learn(records, labels, self.classes_, by_appearance=True)
            return
        first = not hasattr(self, "classes_")
        if first:
            self._check_all_parameters()
        with draft_of(self) as draft:
            draft.columns_ = columns
            draft.n_features_in_ = len(columns)
            draft.__dict__.pop("feature_names_in_", None)
            if first:
                draft._set_seed()
                draft.reset(len(columns))
            else:
                draft.add_features(len(columns))
            draft._learn(records, labels, None if first else draft.classes_, by_appearance=True)

    def _learn(
        self, records: Any, labels: NDArray[Any], known: NDArray[Any] | None, *, by_appearance: bool = False
    ) -> None:
        # By appearance, a batch and its records one by one give the classes the same numbers.
        classes = extend_classes(known, check_labels(labels), by_appearance=by_appearance)
        self.learn_batch(records, class_numbers(classes, labels), classes)


def new_classes(model: TrainedClassifier, classes: NDArray[Any]) -> dict[str, Any]:
    """Return the attributes that a native model sets when it learns these classes; none if there is no new class."""
    return {} if classes is model.__dict__.get("classes_") else {"classes_": classes}
