"""KAOGINC: a principal graph that grows by the optimal graphs of labelled batches and follows changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from anystream import _native
from anystream.anytime.answer import BatchResult
from anystream.anytime.budget import Budget
from anystream.estimators.calibration import Calibration, native_calibration
from anystream.estimators.classifier import IncrementalClassifier
from anystream.estimators.draft import draft_of
from anystream.estimators.labels import class_shares
from anystream.estimators.parameters import check_bool
from anystream.estimators.saving import ModelState
from anystream.graph.batch import Batch
from anystream.graph.file import dump_stream, name_damaged_file, read_stream
from anystream.graph.graph_classifier import GraphClassifier
from anystream.graph.learned_stream import LearnedStream, PrincipalInProgress
from anystream.graph.learning import STEPS, count_classified
from anystream.graph.native_graph import PrincipalIndex
from anystream.graph.principal import PrincipalGraph, merge_graphs
from anystream.graph.recipe import StreamRecipe
from anystream.graph.views import View
from anystream.model_file import ModelFile


class KAOGINCClassifier(GraphClassifier, IncrementalClassifier):
    """Classify a stream by a principal graph that follows its changes.

    Labelled records are collected in batches. The K-associated optimal graph of each batch is added to the principal
    graph, and a query is decided by the components among its nearest vertices (Eq. 1-4 of [1]_). Components that no
    longer hold are dropped: the default detects changes of the concept and gives old components their new labels if it
    can; `paper` is the algorithm of [1]_, which prunes components that are wrong and forgets those that are not used.

    Parameters
    ----------
    batch_size : int, default=80
        Number of labelled records in a batch X_t. Those of the open batch are used for classification at once, see
        Notes.
    max_vertices : int, default=3000
        Maximum number of vertices of the principal graph; the oldest components are dropped first. It bounds memory and
        time.
    max_k : int, default=20
        Maximum K of a batch's graph.
    k_floors : tuple of float, default=(0, 0.15, 0.3, 0.6, 1)
        Candidates c for the minimum neighbourhood: component a uses max(K_a, round(c sqrt n)) of n vertices. With noise
        the K of small batches is too small. ``(0,)`` uses K_a alone, as [1]_ does.
    metric : {"weighted", "scaled", "plain"}, default="weighted"
        Euclidean distance on the features without scaling (``"plain"``, [1]_), divided by their running standard
        deviation (``"scaled"``), or with running Relief weights as a further candidate (``"weighted"``).
    moments : bool, default=True
        Whether one Gaussian with independent features per class, from the moments of the vertices, is a further
        candidate.
    isolated : {"keep", "drop"}, default="keep"
        Treatment of vertices without an edge. ``"drop"``: they are dropped as noise, and purity is edges / possible
        edges, as in [1]_. ``"keep"``: they are kept, and purity is (edges + 1) / (possible edges + 2).
    on_change : {"relabel", "restart", "ignore"}, default="relabel"
        What to do when the error of a batch exceeds the mean of the last 20 by 3 standard deviations. ``"relabel"``:
        old components get the label that the batch suggests, and are dropped if that label is uncertain, or if the
        batch alone classifies better; nothing is done if the unchanged components are clearly better than both on the
        batch: a false alarm. ``"restart"``: all old components are dropped. ``"ignore"``: nothing.
    missed_changes : bool, default=True
        Whether older components are dropped when those of the last five batches alone have classified better for long
        enough.
    pruning : {None, "repeated", "once"}, default=None
        Whether to drop components that are wrong on a batch more often than right [1]_: never, repeatedly until there
        are none, or in one pass.
    tau : int, optional
        Components that none of the last tau classified records has used are dropped [1]_. None: never for this reason.
    tau_counts : {"learned", "classified"}, default="learned"
        Which records count for tau: labelled ones, each before it is learned, or, as printed in [1]_, those that were
        classified. Classifying never changes a model: `note_classified` tells it about them.
    calibrate : bool, default=True
        Whether probabilities are calibrated: by the power and the floor with the lowest log loss on recent batches,
        each tested before it was learned. The order of the classes stays the same. False: shares of the neighbourhood,
        as in [1]_.
    budget : int, default=4096
        Steps per record for calls without a budget of their own. A step compares one vertex.
    n_jobs : int, optional
        Threads for batches; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels. Those that appear later are appended.
    n_features_in_ : int
        Number of features of a record.
    principal_ : anystream.graph.principal.PrincipalGraph
        What was learned from full batches.
    open_batch_ : anystream.graph.batch.Batch
        The records since the last full batch.
    view_ : anystream.graph.views.View
        The candidate that classifies at present: the one with the lowest error on recent batches, each tested before it
        was learned.
    calibration_ : anystream.estimators.calibration.Calibration or None
        The calibration of that view; None before the first batch was tested.

    See Also
    --------
    KAOGClassifier : The static graph.

    Notes
    -----
    `fit`, `partial_fit`, `learn_one` and `learn_many` learn in the same way: records are added to the open batch in
    their order, and whenever it has `batch_size` records the model is tested on it and learns it. So the same records
    in the same order give the same model, however they are divided into calls. Until the batch is full, its optimal
    graph is used together with the principal graph and its vertices are compared like all others; only tests (changes,
    candidates, pruning) wait for the full batch.

    A call that learns several records does all work at once. One that learns a single record takes some steps of the
    work on the last full batch, so that no call takes long; the graph of the open batch is not built. Whoever needs the
    model before (to classify, to save, an attribute) takes the steps that are left. The results are the same. Calls
    with a deadline or a stop token do not wait: until all steps are taken, they use the model before that batch.

    Anytime behaviour, missing values and ties are as in `KAOGClassifier`. While the moments classify, no steps are
    needed.

    A component takes part in the classification of a record if one of its vertices is among the record's K_a nearest,
    at an unlimited budget.

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
    file_version: ClassVar[int] = 4
    copies_mapped_files: ClassVar[bool] = True
    derived_attributes: ClassVar[tuple[str, ...]] = ()

    _learned: LearnedStream

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
        tau_counts: str = "learned",
        calibrate: bool = True,
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
        self.tau_counts = tau_counts
        self.calibrate = calibrate
        self.budget = budget
        self.n_jobs = n_jobs

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """Return KAOGINC as published [1]_: pruning by error, repeated until nothing is dropped, and tau = 300.

        Call `note_classified` with the records that you classify, or let `run_interleaved`, `run_prequential` or a
        learner of the engine do it: without it no component is forgotten because of tau.

        Parameters
        ----------
        **changes
            Parameters that differ: ``pruning="once"`` is the reading in which a batch prunes in one pass.
        """
        published: dict[str, Any] = {
            "k_floors": (0.0,),
            "metric": "plain",
            "moments": False,
            "isolated": "drop",
            "on_change": "ignore",
            "missed_changes": False,
            "pruning": "repeated",
            "tau": 300,
            "tau_counts": "classified",
            "calibrate": False,
        }
        return cls(**(published | changes))

    @property
    def principal_(self) -> PrincipalGraph:
        """What was learned from full batches."""
        return self._learned.principal.result()

    @property
    def open_batch_(self) -> Batch:
        """The records since the last full batch."""
        return self._learned.open_batch

    @property
    def graph_(self) -> _native.AssociatedGraph:  # type: ignore[override]  # read-only
        """The graph to classify with."""
        return self._learned.graph

    @property
    def calibration_(self) -> Calibration | None:
        """The calibration of the view that classifies at present."""
        return self._learned.principal.calibration

    @property
    def view_(self) -> View:
        """The view that classifies at present."""
        return self.principal_.selection.best

    def native_calibration(self) -> _native.Calibration | None:
        """Return the calibration if probabilities are calibrated."""
        return self._calibration_of(self._learned)

    def _calibration_of(self, learned: LearnedStream) -> _native.Calibration | None:
        return native_calibration(learned.principal.calibration if self.calibrate else None)

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the model holds in memory."""
        return self.principal_.components.nbytes + self.graph_.own_bytes + self.open_batch_.nbytes

    def check_parameters(self) -> None:
        """Raise ValueError if a constructor parameter is invalid."""
        check_bool("calibrate", self.calibrate)
        self._recipe()

    def _recipe(self) -> StreamRecipe:
        return StreamRecipe.resolve(
            batch_size=self.batch_size,
            max_vertices=self.max_vertices,
            max_k=self.max_k,
            k_floors=self.k_floors,
            metric=self.metric,
            moments=self.moments,
            isolated=self.isolated,
            on_change=self.on_change,
            missed_changes=self.missed_changes,
            pruning=self.pruning,
            tau=self.tau,
            tau_counts=self.tau_counts,
            budget=self.budget,
            n_jobs=self.n_jobs,
        )

    # -- learning ----------------------------------------------------------------------------------------------------

    def reset(self, n_features: int) -> None:
        """Start an empty principal graph and an empty open batch."""
        recipe = self._recipe()
        self._set_learned(PrincipalGraph.empty(n_features, recipe.views), Batch.empty(n_features), recipe)

    def _set_learned(self, principal: PrincipalGraph, open_batch: Batch, recipe: StreamRecipe) -> None:
        self._learned = LearnedStream(PrincipalInProgress.done(principal, recipe), open_batch, recipe)

    def learn_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Add the records to the open batch, and learn it whenever it is full."""
        recipe = self._recipe()
        full, rest = self.open_batch_.append(records, numbers, n_classes).split(recipe.batch_size)
        principal = self._learned.principal
        if full:
            principal.index()  # few steps are left, if any; calls with a deadline use it until the batch is learned
        for batch in full:
            principal = PrincipalInProgress(principal.result(), batch, recipe)
        learned = LearnedStream(principal, rest, recipe, None if principal.is_done else self._learned.ready())
        if len(numbers) == 1:
            principal.advance(-(-STEPS // recipe.batch_size))
        else:
            _ = learned.graph
        self._learned = learned

    def note_classified(self, X: ArrayLike) -> Self:
        """Count records as classified: components that none of the last `tau` of them used are dropped.

        Without effect unless `tau` is set and `tau_counts` is ``"classified"``. All records count as classified before
        any component is dropped, as the test batches Y_t of [1]_.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records that were classified, in order.
        """
        check_is_fitted(self)
        records, recipe = self.validate_records(X), self._recipe()
        if recipe.tau is None or recipe.tau_counts == "learned":
            return self
        with draft_of(self) as draft:
            before, batch = draft._learned.principal, draft.open_batch_
            graph = count_classified(before.result(), records, recipe)
            unchanged = len(graph.components) == len(before.result().components)
            index = before.index() if unchanged else PrincipalIndex.build(graph, recipe)
            draft._learned = LearnedStream(PrincipalInProgress.done(graph, recipe, index), batch, recipe)
        return self

    def add_features(self, n_features: int) -> None:
        """Add features that are missing in all vertices and in the open batch."""
        principal, batch = self.principal_.with_features(n_features), self.open_batch_.with_features(n_features)
        self._set_learned(principal, batch, self._recipe())

    def merge_states(self, models: Sequence[Self], class_maps: Sequence[NDArray[np.int32]]) -> None:
        """Take the union of the principal graphs.

        Components compete for neighbourhoods like those of successive batches, and the errors of the views are added
        up. Models count as equally old. Open batches are concatenated, and those that become full are learned.
        """
        recipe = self._recipe()
        if any(model._recipe().views != recipe.views for model in models):
            raise ValueError("the models choose among different views; merge models with the same parameters")
        principal = merge_graphs([model.principal_ for model in models], class_maps, recipe)
        self._set_learned(principal, Batch.empty(self.n_features_in_), recipe)
        batches = [model.open_batch_ for model in models]
        points = np.concatenate([batch.points for batch in batches])
        numbers = [class_map[batch.labels] for class_map, batch in zip(class_maps, batches, strict=True)]
        self.learn_records(points, np.concatenate(numbers), len(self.classes_))

    def rebuild_graph(self) -> None:
        """Take the principal graph and the open batch of a pickle, and build `graph_`."""
        pickled = self.__dict__
        self._set_learned(pickled.pop("principal_"), pickled.pop("open_batch_"), self._recipe())
        _ = self.graph_

    # -- classifying -------------------------------------------------------------------------------------------------

    def classify_records(self, records: NDArray[np.float64], budget: Budget) -> BatchResult:
        """Classify in one native call; within a deadline by the graph before the last batch while that is learned."""
        if not budget.timed:
            return super().classify_records(records, budget)
        n_classes, learned = self._learned.open_batch.n_classes, self._learned.ready()
        result = self.classify_by_graph(learned.graph, self._calibration_of(learned), records, budget)
        n_unknown = n_classes - result.proba.shape[1]
        return result._replace(proba=np.pad(result.proba, ((0, 0), (0, n_unknown)))) if n_unknown > 0 else result

    # -- single records ----------------------------------------------------------------------------------------------

    def classify_one(self, record: NDArray[np.float64], steps: int) -> int:
        """Classify without the cost of a batch."""
        return self.graph_.label_one(record, steps)

    def proba_one(self, record: NDArray[np.float64]) -> list[float]:
        """Return probabilities without the cost of a batch."""
        return self.graph_.proba_one(record, self.budget, self.native_calibration())

    def prior_proba(self) -> NDArray[np.float64]:
        """Return the shares of the classes among the vertices."""
        learned = self._learned.ready()
        vertices = learned.principal.result().components.class_numbers()
        return class_shares(np.concatenate([vertices, learned.open_batch.labels]), len(self.classes_))

    # -- saving ------------------------------------------------------------------------------------------------------

    @classmethod
    def parameters_from_json(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with `k_floors` as a tuple again."""
        floors = parameters["k_floors"]
        return dict(parameters) | {"k_floors": tuple(floors) if isinstance(floors, list) else floors}

    def dump_state(self) -> ModelState:
        """Return the arrays of the principal graph and of the open batch."""
        return ModelState({}, dump_stream(self.principal_, self.open_batch_))

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Restore the principal graph and the open batch, and build `graph_`; the arrays are copied, mapped or not."""
        recipe = self._recipe()
        principal, open_batch = read_stream(file, self.n_features_in_, len(self.classes_), recipe)
        with name_damaged_file(file):
            self._set_learned(principal, open_batch, recipe)
            _ = self.graph_

    def snapshot(self) -> Self:
        """Return the model as it is now, ready to classify; the two share everything."""
        if hasattr(self, "_learned"):
            _ = self.graph_  # built here, once, rather than by the first call of each snapshot
        return super().snapshot()

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        learned = state.pop("_learned", None)
        if learned is not None:
            state |= {"principal_": learned.principal.result(), "open_batch_": learned.open_batch}
        return state
