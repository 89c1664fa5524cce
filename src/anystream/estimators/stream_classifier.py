"""Base of classifiers over a native stream model, which learns points in order."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream._native import ModelFileError
from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.anytime.query import Query
from anystream.anytime.stages import doubling_stages
from anystream.estimators.calibration import Calibration, native_calibration
from anystream.estimators.calibration_file import dump_calibration, read_calibration
from anystream.estimators.classifier import IncrementalClassifier, new_classes
from anystream.estimators.held_out import calibrate_on_quarter
from anystream.estimators.merging import MergeableMixin
from anystream.estimators.native_batch import fill_batch, fill_stages
from anystream.estimators.native_query import BytesQuery, check_bytes_state
from anystream.estimators.parameters import check_bool, check_int, resolve_threads
from anystream.estimators.saving import ModelState, SaveableMixin, name_file_in_errors
from anystream.model_file import ArraySpec, ModelFile, check_arrays

_LAST_CALIBRATED = 1024  # steps; after more, the calibration of these holds


class StreamClassifier(MergeableMixin, SaveableMixin, IncrementalClassifier, abstract=True):
    """Classifier over a native model that learns one point after another; `fit` learns in the given order.

    A subclass names its native model and defines the settings of that model and of its queries.
    """

    n_jobs: int | None
    calibrate: bool
    model_: Any  # the native model
    calibration_: Calibration | None
    """How probabilities are calibrated, as `fit` found it: learning on leaves it as it is; None for raw ones."""

    native_model: ClassVar[Any]
    """Type of the native model."""
    array_specs: ClassVar[Mapping[str, ArraySpec]]
    """Arrays of the native model, as a model file stores them."""

    # -- hooks: to be defined by subclasses ------------------------------------------------------------------------

    @abstractmethod
    def model_settings(self) -> Any:
        """Return the native settings for learning; raise ValueError if a parameter is invalid."""

    @abstractmethod
    def query_settings(self, planned_steps: int | None = None) -> Any:
        """Return the native settings for queries; raise ValueError if a parameter is invalid.

        `planned_steps` is the number of steps that each record gets at most; None if it is not known.
        """

    def learning_options(self) -> dict[str, Any]:
        """Return what the native model's `learn` takes beside records and classes."""
        return {}

    def check_columns(self) -> None:
        """Raise ValueError if a parameter names columns that the table does not have."""

    def check_points(self, points: NDArray[np.float64]) -> None:
        """Raise ValueError if the model cannot store the points."""

    # -- learning ----------------------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Check the parameters that do not depend on the columns, and the others if the columns are known."""
        self.query_settings()
        resolve_threads(self.n_jobs)
        check_int("budget", self.budget)
        check_bool("calibrate", self.calibrate)
        if hasattr(self, "columns_"):
            self.check_columns()
            self.model_settings()

    def set_columns(self) -> None:
        """Set `columns_` and check the parameters that name columns."""
        super().set_columns()
        self.check_columns()

    def fit_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn the records in their order; calibrate by a second model, which learns three quarters of them."""
        super().fit_records(records, numbers, n_classes)
        if self.calibrate:
            staged_proba = partial(self._classify_held_out, records, numbers, n_classes)
            stages = doubling_stages(_LAST_CALIBRATED)
            self.calibration_ = calibrate_on_quarter(records, numbers, self.seed_, stages, staged_proba)

    def _classify_held_out(
        self,
        records: NDArray[np.float64],
        numbers: NDArray[np.int32],
        n_classes: int,
        held_out: NDArray[np.int64],
        stages: NDArray[np.int64],
    ) -> Iterator[NDArray[np.float64]]:
        learner = copy.copy(self)
        learner.reset(records.shape[1])
        learned = np.delete(np.arange(len(numbers)), held_out)
        learner.learn_records(records[learned], numbers[learned], n_classes)
        return learner.staged_proba(records[held_out], stages)

    def reset(self, n_features: int) -> None:
        """Start an empty native model."""
        self.model_ = self.native_model.empty(self.model_settings(), n_features)
        self.calibration_ = None

    def learn_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Learn points in the native model."""
        self.check_points(records)
        self.model_.learn(records, numbers, n_classes, **self.learning_options())

    def learn_batch(self, records: NDArray[np.float64], numbers: NDArray[np.int32], classes: NDArray[Any]) -> None:
        """Learn points in the native model, which sets `classes_` together with its own change."""
        self.check_points(records)
        changes = new_classes(self, classes)
        self.model_.learn(records, numbers, len(classes), self.__dict__, changes, **self.learning_options())

    def add_features(self, n_features: int) -> None:
        """Add features to a copy of the native model."""
        self.model_ = self.model_.snapshot()
        self.model_.add_features(n_features)

    def merge_states(self, models: Sequence[Self], class_maps: Sequence[NDArray[np.int32]]) -> None:
        """Merge streams that were learned side by side: what is recent in its own stream is recent in the whole.

        Where memory is bounded, the oldest points are evicted.
        """
        maps = [class_map.tolist() for class_map in class_maps]
        self.model_ = self.native_model.merge([model.model_ for model in models], maps, len(self.classes_))
        self.calibration_ = models[0].calibration_

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the model holds in memory."""
        return int(self.model_.own_bytes)

    # -- classifying -------------------------------------------------------------------------------------------------

    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Classify in one native call on all threads."""
        model, threads = self.model_.snapshot(), resolve_threads(self.n_jobs)  # learning may add classes meanwhile
        settings, calibration = self.query_settings(budget.steps), self._native_calibration()
        fill = partial(model.answer, settings, records, *budget.limits(), threads, calibration=calibration)
        return fill_batch(len(records), model.classes, fill)

    def staged_proba(self, records: NDArray[np.float64], stages: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Classify in one native call that keeps the probabilities of every stage."""
        model, threads = self.model_.snapshot(), resolve_threads(self.n_jobs)  # learning may add classes meanwhile
        settings, calibration = self.query_settings(), self._native_calibration()
        fill = partial(model.answer_in_stages, settings, records, stages, threads, calibration=calibration)
        return fill_stages(len(records), len(stages), model.classes, fill)

    def open_query(self, record: NDArray[np.float64]) -> Query:
        """Open a native query."""
        native = self.model_.query(self.query_settings(self.budget), record)
        return BytesQuery(self.classes_, native, self._native_calibration())

    def resume_query(self, state: Any) -> Query:
        """Resume a native query from its bytes."""
        return BytesQuery(self.classes_, self.model_.resume(check_bytes_state(state)), self._native_calibration())

    def classify_one(self, record: NDArray[np.float64], steps: int) -> int:
        """Classify without the cost of a batch."""
        return int(self.model_.label_one(self.query_settings(steps), record, steps))

    def proba_one(self, record: NDArray[np.float64]) -> list[float]:
        """Return probabilities without the cost of a batch."""
        settings, calibration = self.query_settings(self.budget), self._native_calibration()
        proba: list[float] = self.model_.proba_one(settings, record, self.budget, calibration)
        return proba

    def _native_calibration(self) -> _native.Calibration | None:
        return native_calibration(self.calibration_ if self.calibrate else None)

    # -- saving ------------------------------------------------------------------------------------------------------

    def dump_state(self) -> ModelState:
        """Return the arrays of the native model."""
        arrays, d = self.model_.arrays(), self.n_features_in_
        metadata = dump_calibration(self.calibration_)
        return ModelState(
            metadata, {name: arrays[name].reshape(_shape(spec, d)) for name, spec in self.array_specs.items()}
        )

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Check shapes and ranges here; native code checks that the arrays fit each other."""
        d, n_classes = self.n_features_in_, len(self.classes_)
        arrays, _ = check_arrays(file, self.array_specs, {"d": d, "classes": n_classes})
        flat = {name: array.reshape(-1) for name, array in arrays.items()}
        self.calibration_ = read_calibration(file)
        with name_file_in_errors(type(self), file):
            settings = self.model_settings()
        try:
            self.model_ = self.native_model.from_arrays(settings, d, n_classes, flat)
        except ModelFileError as error:
            raise ModelFileError(f"{file.path}: {error}") from None


def _shape(spec: ArraySpec, d: int) -> tuple[int, ...]:
    if len(spec.shape) == 1:
        return (-1,)
    first, *rest = spec.shape
    return (first if isinstance(first, int) else -1, *(d if size == "d" else int(size) for size in rest))
