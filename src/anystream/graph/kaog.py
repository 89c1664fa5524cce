"""KAOG: the K-associated optimal graph of all records, as a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anystream.estimators.labels import class_shares
from anystream.estimators.parameters import check_int
from anystream.estimators.saving import ModelState
from anystream.graph.components import Components, build_components
from anystream.graph.file import dump_components, name_damaged_file, read_components
from anystream.graph.graph_classifier import GraphClassifier
from anystream.graph.native_graph import build_native_graph
from anystream.graph.recipe import ComponentRecipe
from anystream.model_file import ModelFile
from anystream.progress import run_with_progress


class KAOGClassifier(GraphClassifier):
    """Classify by the pure components of a graph that connects neighbours of the same class.

    The K-associated graph has an edge from every record to those of its K nearest that share its class. Its components
    and their purity Phi = D / (2 K), with D the mean of in- and out-degree, show where classes mix. K grows by one at a
    time, and each component is kept in the form in which it was purest: the optimal graph. A query then belongs to
    component a in proportion to Phi_a and to the share of a among its K_a nearest vertices (Eq. 1-4 of [1]_).

    The graph is static; `KAOGINCClassifier` learns incrementally.

    Parameters
    ----------
    max_k : int, default=20
        Maximum K. K stops growing earlier when the mean degree grows too slowly, D(K) - D(K-1) < D(K) / K.
    isolated : {"drop", "keep"}, default="drop"
        Treatment of vertices without an edge. ``"drop"`` drops them as noise, as [1]_ does, except for those of a class
        that has no edge at all. ``"keep"`` keeps them and computes purity as (edges + 1) / (possible edges + 2).
    budget : int, default=4096
        Steps per record for calls without a budget of their own. A step compares one vertex.
    n_jobs : int, optional
        Threads for building and for batches; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of a record.
    components_ : anystream.graph.components.Components
        The optimal graph.

    See Also
    --------
    KAOGINCClassifier : Learns from a stream and follows its changes.

    Notes
    -----
    Anytime: the vertices of a class are grouped in cells of up to 16 neighbours, regardless of their components, and
    the mean of a cell represents the components in it. A query first compares its record with these representatives: at
    budget 0 the vertices of the nearest cells serve as its neighbours. Each step then compares one vertex, near cells
    first, and positions in the neighbourhood that no compared vertex has taken yet stay with the representatives. The
    answer is certified as soon as none of the remaining cells can hold a nearer vertex; it is then the answer of the
    exact neighbourhood.

    Distances are Euclidean, without any scaling of the features: scale them first if their units differ. A value that
    is missing (NaN) on either side is left out, and the other features are weighted up. Ties of distance go to the
    earlier record.

    Where [1]_ leaves a choice open: a component of the K-graph replaces those it contains if its purity is at least
    that of each of them. Neighbours are all other records; the neighbourhood of a query is taken among the vertices
    that were kept.

    References
    ----------
    .. [1] Bertini, Lopes, Zhao, "Streaming data classification with the K-associated graph", 2011; the static graph is
       by Bertini, Zhao, Motta, Lopes, "A nonparametric classification method based on K-associated graphs",
       Information Sciences 181, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KAOGClassifier().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    >>> query = model.query(X[1])
    >>> int(query.label), query.refine(5).steps, query.refine().certified
    (0, 5, True)
    """

    kind: ClassVar[str] = "kaog"
    file_version: ClassVar[int] = 2
    copies_mapped_files: ClassVar[bool] = True

    components_: Components

    def __init__(
        self,
        *,
        max_k: int = 20,
        isolated: str = "drop",
        budget: int = 4096,
        n_jobs: int | None = None,
    ) -> None:
        self.max_k = max_k
        self.isolated = isolated
        self.budget = budget
        self.n_jobs = n_jobs

    def check_parameters(self) -> None:
        """Raise ValueError if a constructor parameter is invalid."""
        check_int("budget", self.budget)
        self._recipe()

    def _recipe(self) -> ComponentRecipe:
        return ComponentRecipe.resolve(max_k=self.max_k, isolated=self.isolated, n_jobs=self.n_jobs)

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit_records(self, records: NDArray[np.float64], numbers: NDArray[np.int32], n_classes: int) -> None:
        """Build the optimal graph of the records."""
        build = partial(build_components, records, numbers, np.ones(records.shape[1]), self._recipe())
        components = run_with_progress(
            lambda done, stop: build(done=done, stop=stop), total=len(records), description="finding neighbours"
        )
        self._set_components(components, n_classes)

    def merge_states(self, models: Sequence[Self], class_maps: Sequence[NDArray[np.int32]]) -> None:
        """Take the union of the graphs.

        As when KAOGINC adds the graph of a batch, components do not change and compete for the neighbourhoods.
        """
        parts = [
            replace(model.components_, label=class_map[model.components_.label])
            for model, class_map in zip(models, class_maps, strict=True)
        ]
        self._set_components(reduce(Components.concatenate, parts), len(self.classes_))

    def rebuild_graph(self) -> None:
        """Build `graph_` from the components."""
        self._set_components(self.components_, len(self.classes_))

    def _set_components(self, components: Components, n_classes: int) -> None:
        self.graph_ = build_native_graph(components, np.ones(components.points.shape[1]), n_classes)
        self.components_ = components

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the model holds in memory."""
        return self.components_.nbytes + self.graph_.own_bytes

    def prior_proba(self) -> NDArray[np.float64]:
        """Return the shares of the classes among the vertices."""
        return class_shares(self.components_.class_numbers(), len(self.classes_))

    # -- saving ------------------------------------------------------------------------------------------------------

    def dump_state(self) -> ModelState:
        """Return the arrays of the components."""
        return ModelState({}, dump_components(self.components_))

    def restore_state(self, file: ModelFile, *, mapped: bool) -> None:
        """Restore the components and build `graph_`; the arrays are copied, mapped or not."""
        components = read_components(file, self.n_features_in_, len(self.classes_))
        with name_damaged_file(file):
            self._set_components(components, len(self.classes_))
