"""KAOGINC: a principal graph that grows by the optimal graphs of labelled batches and follows changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from anystream import _native
from anystream.anytime.class_labels import class_numbers, extend_classes
from anystream.anytime.merging import begin_merge
from anystream.anytime.river_face import RiverFaceMixin
from anystream.anytime.undo import as_it_was_on_error
from anystream.graph.file import kaoginc_from_file, kaoginc_to_file
from anystream.graph.open_batch import SettledGraph
from anystream.graph.principal import PrincipalGraph, merged
from anystream.graph.settings import Settings, checked_settings, remembered_settings
from anystream.graph.surface import GraphClassifierMixin
from anystream.model_file import ModelFile


class KAOGINCClassifier(GraphClassifierMixin, RiverFaceMixin, ClassifierMixin, BaseEstimator):
    """Classify a stream by a principal graph that follows its changes.

    Labelled records are gathered into batches. The K-associated optimal graph of each batch is added to the principal
    graph, and a query is decided by the components among its nearest vertices (Eq. 1-4 of [1]_). What no longer holds
    leaves: the default recognises changes of the concept and gives old components their new labels if they have any;
    `paper` is the algorithm of [1]_, which prunes components that err and forgets those that are not used.

    Parameters
    ----------
    batch_size : int, default=80
        Labelled records that make a batch X_t. Those of the open batch take part in answers at once, see Notes.
    max_vertices : int, default=3000
        Most vertices of the principal graph; the oldest components leave first. It bounds memory and time.
    max_k : int, default=20
        Largest K of a batch's graph.
    k_floors : tuple of float, default=(0, 0.15, 0.3, 0.6, 1)
        Candidates c for the least neighbourhood: component a looks at max(K_a, round(c sqrt n)) of n vertices. With
        noise the K of small batches is too small. ``(0,)`` leaves K_a alone, as [1]_ does.
    metric : {"weighted", "scaled", "plain"}, default="weighted"
        Euclidean on the features as they are (``"plain"``, [1]_), divided by their running standard deviation
        (``"scaled"``), or with running Relief weights as a further candidate (``"weighted"``).
    moments : bool, default=True
        Whether one Gaussian with independent features per class, of the vertices' moments, is a further candidate.
    isolated : {"keep", "drop"}, default="keep"
        What becomes of vertices without an edge. ``"drop"``: they leave as noise, and purity is edges / possible edges,
        as in [1]_. ``"keep"``: they stay, and purity is (edges + 1) / (possible edges + 2).
    on_change : {"relabel", "restart", "ignore"}, default="relabel"
        What to do when the error of a batch exceeds the mean of the last 20 by 3 standard deviations. ``"relabel"``:
        old components take the label that the batch suggests, and leave if that is unsure, or if the batch alone does
        better. ``"restart"``: all old components leave.
    missed_changes : bool, default=True
        Whether older components leave when those of the last five batches have long done better without them.
    pruning : {None, "repeated", "once"}, default=None
        Whether components leave that a batch finds wrong more often than right [1]_: never, until none is left that
        does, or in one pass.
    tau : int, optional
        Components leave that none of the last tau classified records has used [1]_. None: never for this reason.
    budget : int, default=4096
        Steps per record that calls without a budget of their own spend. A step is one vertex compared.
    n_jobs : int, optional
        Threads for batches; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Features of a record.
    principal_ : anystream.graph.principal.PrincipalGraph
        What was learned from whole batches.
    view_ : anystream.graph.views.View
        How answers are decided at present: the candidate with the least error on recent batches, each judged before
        it was learned.

    See Also
    --------
    KAOGClassifier : The static graph.

    Notes
    -----
    `fit`, `partial_fit`, `learn_one` and `learn_many` learn alike: records join the open batch in their order, and
    whenever it has `batch_size` records it is judged and added. So the same records in the same order make the same
    model, however they are cut into calls. Until then the optimal graph of the open batch, made anew with every call,
    stands beside the principal graph and its vertices are compared like all others; only judging (changes, candidates,
    pruning) waits for the whole batch.

    Anytime, missing values and ties are as in `KAOGClassifier`. While the moments decide, an answer needs no steps.

    Where we depart from [1]_ even in `paper`: a classification that counts for tau is that of a labelled record before
    it is learned, because answering never changes a model.

    References
    ----------
    .. [1] Bertini, Lopes, Zhao, "Streaming data classification with the K-associated graph", 2011.

    Examples
    --------
    Labels that swap: after one bad batch the old components have their new labels.

    >>> from anystream.streams import MovingGaussians
    >>> stream = MovingGaussians(concepts=("plain", "swapped"), drifts=(800,), seed=1, n_records=1600)
    >>> model = KAOGINCClassifier()
    >>> for number, (X, y) in enumerate(stream.batches(80)):
    ...     if number in (9, 10, 11):
    ...         print(number, round(model.score(X, y), 1))
    ...     _ = model.partial_fit(X, y)
    9 0.8
    10 0.2
    11 0.9
    """

    kind: ClassVar[str] = "kaoginc"

    def __init__(
        self,
        *,
        batch_size: int = 80,
        max_vertices: int = 3000,
        max_k: int = 20,
        k_floors: tuple[float, ...] = (0.0, 0.15, 0.3, 0.6, 1.0),
        metric: str = "weighted",
        moments: bool = True,
        isolated: str = "keep",
        on_change: str = "relabel",
        missed_changes: bool = True,
        pruning: str | None = None,
        tau: int | None = None,
        budget: int = 4096,
        n_jobs: int | None = None,
    ) -> None:
        self.batch_size = batch_size
        self.max_vertices = max_vertices
        self.max_k = max_k
        self.k_floors = k_floors
        self.metric = metric
        self.moments = moments
        self.isolated = isolated
        self.on_change = on_change
        self.missed_changes = missed_changes
        self.pruning = pruning
        self.tau = tau
        self.budget = budget
        self.n_jobs = n_jobs

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """KAOGINC as published [1]_: pruning by error, repeated until nothing leaves, and forgetting by tau = 300.

        Parameters
        ----------
        **changes
            Parameters that differ: ``pruning="once"`` is the reading in which a batch prunes in one pass.
        """
        letter: dict[str, Any] = {
            "k_floors": (0.0,),
            "metric": "plain",
            "moments": False,
            "isolated": "drop",
            "on_change": "ignore",
            "missed_changes": False,
            "pruning": "repeated",
            "tau": 300,
        }
        return cls(**(letter | changes))

    # -- learning --------------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from the beginning, in the order of the records.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records; NaN stands for a missing value.
        y : array-like of shape (n_records,)
            Their classes.
        """
        self._settings()
        with as_it_was_on_error(self):
            points, labels = self._validate_training(X, y, reset=True)
            for learned in ("classes_", "principal_", "open_points_", "open_labels_", "graph_", "_settled"):
                self.__dict__.pop(learned, None)
            self.columns_ = self._column_names()
            self._learn(points, labels, np.unique(labels))
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn on; a new model begins with these records.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records, any number of them; NaN stands for a missing value.
        y : array-like of shape (n_records,)
            Their classes; new ones may appear at any time.
        classes : array-like, optional
            Classes that may come later, so that `classes_` is complete from the beginning.
        """
        self._settings()
        fresh = not hasattr(self, "principal_")
        with as_it_was_on_error(self):
            points, labels = self._validate_training(X, y, reset=fresh)
            if fresh:
                self.columns_ = self._column_names()
            known = getattr(self, "classes_", None)
            if classes is not None:
                known = extend_classes(known, classes)
            self._learn(points, labels, extend_classes(known, labels))
        return self

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """The union of the principal graphs of `models`; parameters are those of the first.

        Components compete for neighbourhoods as those of successive batches do, and the errors of the candidates add
        up. Models count as equally old. Open batches follow one another, and those that get full are learned.
        """
        whole, numbers = begin_merge(models)
        settings = whole._settings()
        if any(model._settings().views != settings.views for model in models):
            raise ValueError("the models choose among different views; merge models with the same parameters")
        whole.principal_ = merged([model.principal_ for model in models], numbers, settings)
        whole.open_points_ = models[0].open_points_[:0]
        whole.open_labels_ = models[0].open_labels_[:0]
        points = np.concatenate([model.open_points_ for model in models])
        labels = np.concatenate([model.classes_[model.open_labels_] for model in models])
        whole._learn(points, labels, whole.classes_)
        return whole

    @property
    def view_(self) -> Any:
        """How answers are decided at present."""
        return self.principal_.choice.views[self.principal_.choice.best]

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the model holds."""
        return (
            self.principal_.components.nbytes
            + self.graph_.own_bytes
            + self.open_points_.nbytes
            + self.open_labels_.nbytes
        )

    # -- what the contract asks --------------------------------------------------------------------------------------

    principal_: PrincipalGraph
    open_points_: NDArray[np.float64]
    open_labels_: NDArray[np.int32]
    _settled: SettledGraph

    def _learn(self, points: NDArray[np.float64], labels: NDArray[Any], classes: NDArray[Any]) -> None:
        """Fill the open batch, and learn it whenever it is full. Nothing changes before all of it is done."""
        settings, size = self._settings(), int(self.batch_size)
        numbers = class_numbers(classes, labels)
        if hasattr(self, "principal_"):
            principal, n_classes = self.principal_, len(self.classes_)
            points = np.concatenate([self.open_points_, points])
            numbers = np.concatenate([self.open_labels_, numbers])
        else:
            principal, n_classes = PrincipalGraph.none(points.shape[1], settings), 0
        whole = len(points) // size * size
        for start in range(0, whole, size):
            batch = slice(start, start + size)
            principal = principal.after(points[batch], numbers[batch], len(classes), settings)
        settled = getattr(self, "_settled", None)
        if settled is None or whole or n_classes != len(classes):
            settled = SettledGraph.of(principal, len(classes), settings)
        graph = settled.beside(points[whole:], numbers[whole:], principal, settings)
        self.classes_ = classes
        self.principal_, self._settled = principal, settled
        self.open_points_, self.open_labels_ = points[whole:].copy(), numbers[whole:].copy()
        self.n_features_in_ = points.shape[1]
        self.graph_ = graph

    def _make_graph(self) -> _native.AssociatedGraph:
        settings = self._settings()
        self._settled = SettledGraph.of(self.principal_, len(self.classes_), settings)
        return self._settled.beside(self.open_points_, self.open_labels_, self.principal_, settings)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_settled"}

    def _check_parameters(self) -> Settings:
        return self._settings()

    def _settings(self) -> Settings:
        floors = tuple(self.k_floors) if isinstance(self.k_floors, list) else self.k_floors
        given = (
            self.batch_size,
            self.max_vertices,
            self.max_k,
            floors,
            self.metric,
            self.isolated,
            self.moments,
            self.on_change,
            self.missed_changes,
            self.pruning,
            self.tau,
            self.budget,
            self._threads(),
        )
        try:
            return remembered_settings(*given)
        except TypeError:  # one of them cannot be remembered, so it is wrong: say which
            return checked_settings(*given)

    def _learn_rows(self, rows: NDArray[np.float64], labels: NDArray[Any]) -> None:
        self._learn(rows, labels, extend_classes(getattr(self, "classes_", None), labels))

    def _label_row(self, row: NDArray[np.float64]) -> int:
        return self.graph_.label_one(row, self.budget)

    def _proba_row(self, row: NDArray[np.float64]) -> list[float]:
        return self.graph_.proba_one(row, self.budget)

    def _widen(self, n_features: int) -> None:
        p = self.principal_
        self.principal_ = replace(p, components=p.components.widened(n_features), metric=p.metric.widened(n_features))
        lacking = np.full((len(self.open_points_), n_features - self.open_points_.shape[1]), np.nan)
        self.open_points_ = np.hstack([self.open_points_, lacking])
        self.graph_ = self._make_graph()

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return kaoginc_to_file(self)

    @classmethod
    def _from_file(cls, file: ModelFile, *, mapped: bool) -> Self:
        return kaoginc_from_file(cls, file)
