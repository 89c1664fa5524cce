"""KAOG: the K-associated optimal graph of all the data, as a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from anystream import _native
from anystream.anytime.merging import begin_merge
from anystream.anytime.parameters import one_of, whole_number
from anystream.graph.components import Components, optimal_components
from anystream.graph.file import kaog_from_file, kaog_to_file
from anystream.graph.surface import GraphClassifierMixin
from anystream.model_file import ModelFile
from anystream.progress import run_with_progress


class KAOGClassifier(GraphClassifierMixin, ClassifierMixin, BaseEstimator):
    """Classify by the pure components of a graph in which neighbours of one class are joined.

    The K-associated graph has an edge from every record to those of its K nearest that share its class. Its components
    and their purity Phi = D / (2 K), with D the mean of in- and out-degree, say where classes mix. K grows by one at a
    time, and each component is kept as it was when it was purest: the optimal graph. A query then belongs to component
    a in proportion to Phi_a and to the share of a among its K_a nearest vertices (Eq. 1-4 of [1]_).

    The graph is static; `KAOGINCClassifier` learns on.

    Parameters
    ----------
    max_k : int, default=20
        Largest K. K stops growing by itself when the mean degree falls behind, D(K) - D(K-1) < D(K) / K.
    isolated : {"drop", "keep"}, default="drop"
        What becomes of vertices without any edge. ``"drop"`` takes them for noise, as [1]_ does; the last ones of a
        class stay. ``"keep"`` keeps them and counts purity as (edges + 1) / (possible edges + 2).
    budget : int, default=4096
        Steps per record that calls without a budget of their own spend. A step is one vertex compared.
    n_jobs : int, optional
        Threads for building and for batches; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Features of a record.
    components_ : anystream.graph.components.Components
        The optimal graph.

    See Also
    --------
    KAOGINCClassifier : Learns from a stream and follows its changes.

    Notes
    -----
    Anytime: the vertices of a class lie in cells of up to 16 neighbours, whatever their components, and the mean of a
    cell represents the components in it. A query compares its record with the representatives first: at budget 0 the
    vertices of the nearest cells stand for its neighbours. Each step then compares one vertex, near cells first, and
    places in the neighbourhood that no compared vertex has taken yet stay with the representatives. The answer is
    certified as soon as no cell that is left can hold a nearer vertex; it is then that of the exact neighbourhood.

    Distances are Euclidean on the features as they are: scale them first if their units differ. A value that is missing
    (NaN) on either side is left out, and the rest is weighted up. Ties of distance go to the earlier record.

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

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Build the optimal graph.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Records; NaN stands for a missing value.
        y : array-like of shape (n_records,)
            Their classes.
        """
        max_k, isolated = self._check_parameters()
        points, labels = self._validate_training(X, y, reset=True)
        classes, numbers = np.unique(labels, return_inverse=True)
        self.components_ = run_with_progress(
            lambda done, stop: optimal_components(
                points,
                numbers.astype(np.int32),
                np.ones(points.shape[1]),
                max_k=max_k,
                isolated=isolated,
                threads=self._threads(),
                done=done,
                stop=stop,
            ),
            total=len(points),
            description="finding neighbours",
        )
        self.classes_ = classes
        self.columns_ = self._column_names()
        self.graph_ = self._make_graph()
        return self

    @classmethod
    def merge(cls, models: Sequence[Self]) -> Self:
        """The union of the graphs of `models`; parameters are those of the first.

        As when KAOGINC adds the graph of a batch, components stay what they are and compete for the neighbourhoods.
        """
        whole, numbers = begin_merge(models)
        parts = [model.components_ for model in models]
        parts = [replace(part, label=places[part.label]) for part, places in zip(parts, numbers, strict=True)]
        whole.components_ = reduce(Components.joined, parts)
        whole.graph_ = whole._make_graph()
        return whole

    @property
    def memory_bytes_(self) -> int:
        """Bytes that the model holds."""
        return self.components_.nbytes + self.graph_.own_bytes

    # -- what the contract asks --------------------------------------------------------------------------------------

    components_: Components

    def _make_graph(self) -> _native.AssociatedGraph:
        c = self.components_
        empty = _native.AssociatedGraph(np.ones(c.points.shape[1]), len(self.classes_))
        return empty.with_part(1, np.ascontiguousarray(c.points), c.owner, c.k, c.purity, c.label)

    def _check_parameters(self) -> tuple[int, str]:
        whole_number("budget", self.budget, 0)
        self._threads()
        return whole_number("max_k", self.max_k, 1), one_of("isolated", self.isolated, ("drop", "keep"))

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return kaog_to_file(self)

    @classmethod
    def _from_file(cls, file: ModelFile, *, mapped: bool) -> Self:
        return kaog_from_file(cls, file)
