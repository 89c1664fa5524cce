"""The principal graph: what KAOGINC learns, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anystream.graph.change import (
    CONTACT_K,
    MEMORY,
    NO_BALANCE,
    Balance,
    halves,
    is_change,
    new_labels,
    wrong_more_than_right,
)
from anystream.graph.components import Components, Counts, Floats, Mask, Numbers, optimal_components
from anystream.graph.metric import Metric
from anystream.graph.moments import Moments
from anystream.graph.settings import Settings
from anystream.graph.views import Choice, View

YOUNG_BATCHES = 5
"""Batches against which older components must hold their own."""
YOUNG_DECAY = 0.8
YOUNG_DEVIATIONS = 2.0
TRANSFERRED_DEVIATIONS = 1.0


@dataclass(frozen=True, slots=True)
class PrincipalGraph:
    """Components, metric and choice after some batches; `after` is the graph after one more.

    Nothing here is ever changed, so a graph can be asked while its successor is being made.

    Parameters
    ----------
    components : Components
        G_P, the oldest first.
    metric : Metric
        Spreads and weights of the features.
    choice : Choice
        The errors of the ways to decide.
    recent : tuple of float
        The errors of the batches since the last change, at most 20.
    transferred, older : Balance
        The whole graph against the components born since the last change; and against those of the last batches.
    n_batches, n_records : int
        What was learned so far.
    """

    components: Components
    metric: Metric
    choice: Choice
    recent: tuple[float, ...] = ()
    transferred: Balance = NO_BALANCE
    older: Balance = NO_BALANCE
    n_batches: int = 0
    n_records: int = 0

    @classmethod
    def none(cls, n_features: int, settings: Settings) -> PrincipalGraph:
        """A graph that has learned nothing."""
        return cls(Components.none(n_features), Metric.none(n_features), Choice.among(settings.views))

    # -- asking ------------------------------------------------------------------------------------------------------

    def scale(self, settings: Settings, view: View | None = None) -> Floats:
        """What features are multiplied by before distances are taken, in one view or in the chosen one."""
        if settings.metric == "plain":
            return np.ones(self.components.points.shape[1])
        return self.metric.scale(weighted=(self.choice.best_of_graph if view is None else view).weighted)

    def batch_components(self, points: Floats, labels: Numbers, scale: Floats, settings: Settings) -> Components:
        """The optimal graph of a batch in the metric of `scale`, as it is added to the principal graph."""
        return optimal_components(
            points,
            labels,
            scale,
            max_k=settings.max_k,
            isolated=settings.isolated,
            born=self.n_batches,
            at=self.n_records,
            threads=settings.threads,
        )

    def moments(self, n_classes: int) -> Moments:
        """The moments of the vertices."""
        c = self.components
        return Moments.of(c.points, c.label[c.owner], n_classes, self.metric.origin)

    # -- learning ----------------------------------------------------------------------------------------------------

    def after(self, points: Floats, labels: Numbers, n_classes: int, settings: Settings) -> PrincipalGraph:
        """The graph after one more batch of labelled records.

        The batch first judges the graph, and the graph gives way where it errs; then the optimal graph of the batch is
        added, and the oldest components leave if there are too many vertices.
        """
        graph = self
        if len(graph.components):
            graph = graph._judged(_Batch(points, labels, n_classes, settings))
        metric = graph.metric.after(points, labels, weighted=settings.metric == "weighted", threads=settings.threads)
        graph = replace(graph, metric=metric)
        added = graph.batch_components(points, labels, graph.scale(settings), settings)
        return replace(
            graph,
            components=_bounded(graph.components.joined(added), settings.max_vertices),
            n_batches=self.n_batches + 1,
            n_records=self.n_records + len(points),
        )

    def _judged(self, batch: _Batch) -> PrincipalGraph:
        right = self._rights(batch)
        error = 1.0 - float(right[self.choice.best].mean())
        graph = replace(self, choice=self.choice.after(1.0 - right.mean(axis=1)))
        settings = batch.settings
        if settings.tau is not None:
            graph = graph._forgetting(batch, settings.tau)
        if settings.on_change != "ignore" and is_change(error, self.recent, len(batch.labels)):
            kept = graph._relabelled(batch) if settings.on_change == "relabel" else graph._with_components(None)
            return replace(kept, recent=(), transferred=NO_BALANCE, older=NO_BALANCE)
        graph = replace(graph, recent=(*self.recent, error)[-MEMORY:])
        if settings.pruning is not None:
            graph = graph._pruned(batch, repeated=settings.pruning == "repeated")
        moved = graph.components.transferred
        if moved.any() and not moved.all():
            return graph._watched(batch)
        return graph._missed_change(batch) if settings.missed_changes else graph

    def _rights(self, batch: _Batch) -> Mask:
        """Which records of a batch each view classifies rightly: (n_views, n_records)."""
        components, rights = self.components, []
        n = components.n_vertices
        graph_views = [view for view in self.choice.views if not view.moments]
        most = {w: max(v.least_k(n) for v in graph_views if v.weighted == w) for w in {v.weighted for v in graph_views}}
        nearest: dict[bool, Counts] = {}
        for view in graph_views:
            if view.weighted not in nearest:
                k = components.largest_k(most[view.weighted])
                nearest[view.weighted] = self._nearest(components, batch, k, view)
            scores = components.scores(nearest[view.weighted], view.least_k(n), batch.n_classes)
            rights.append(scores.argmax(axis=1) == batch.labels)
        if len(graph_views) < len(self.choice.views):
            log_joint = self.moments(batch.n_classes).log_joint(batch.points)
            rights.append(log_joint.argmax(axis=1) == batch.labels)
        return np.array(rights)

    def _right(self, components: Components, batch: _Batch) -> Mask:
        """Which records of a batch some components classify rightly, in the best view of the graph."""
        view = self.choice.best_of_graph
        least_k = view.least_k(components.n_vertices)
        nearest = self._nearest(components, batch, components.largest_k(least_k), view)
        return np.asarray(components.scores(nearest, least_k, batch.n_classes).argmax(axis=1) == batch.labels)

    def _nearest(self, components: Components, batch: _Batch, k: int, view: View | None = None) -> Counts:
        return components.nearest(batch.points, self.scale(batch.settings, view), k, batch.settings.threads)

    def _with_components(self, mask: Mask | None) -> PrincipalGraph:
        """The same with fewer components; None: without any."""
        if mask is None:
            mask = np.zeros(len(self.components), np.bool_)
        return replace(self, components=self.components.kept(mask))

    # -- forgetting --------------------------------------------------------------------------------------------------

    def _forgetting(self, batch: _Batch, tau: int) -> PrincipalGraph:
        """Without the components that none of the last tau classifications has used."""
        components = self.components
        nearest = self._nearest(components, batch, components.largest_k(1))
        owner = components.owner[nearest]
        used = np.arange(1, nearest.shape[1] + 1) <= components.k[owner]
        last_used = components.last_used.copy()
        number = np.broadcast_to(self.n_records + 1 + np.arange(len(nearest))[:, np.newaxis], owner.shape)
        np.maximum.at(last_used, owner[used], number[used])
        graph = replace(self, components=replace(components, last_used=last_used))
        return graph._with_components(self.n_records + len(nearest) - last_used <= tau)

    def _pruned(self, batch: _Batch, *, repeated: bool) -> PrincipalGraph:
        """Without the components that err on the batch more often than not; repeated until none does."""
        graph = self
        while len(graph.components):
            components = graph.components
            nearest = graph._nearest(components, batch, components.largest_k(1))
            erring = wrong_more_than_right(components, nearest, batch.labels, batch.n_classes, 1)
            if not erring.any():
                break
            graph = graph._with_components(~erring)
            if not repeated:
                break
        return graph

    # -- changes -----------------------------------------------------------------------------------------------------

    def _relabelled(self, batch: _Batch) -> PrincipalGraph:
        """After a change: the components by what they now seem to be, or none if the batch knows better alone."""
        with_old = alone = 0
        for learned, tested in halves(len(batch.labels)):
            if len(learned) == 0 or len(tested) == 0:
                continue
            half, rest = batch.of(learned), batch.of(tested)
            fresh = self.batch_components(half.points, half.labels, self.scale(batch.settings), batch.settings)
            old = self._transferred(half)
            alone += int(self._right(fresh, rest).sum())
            with_old += int(self._right(old.joined(fresh), rest).sum())
        if with_old < alone:
            return self._with_components(None)
        return replace(self, components=self._transferred(batch))

    def _transferred(self, batch: _Batch) -> Components:
        nearest = self._nearest(self.components, batch, self.components.largest_k(CONTACT_K))
        label, sure = new_labels(self.components, nearest, batch.labels, batch.n_classes)
        moved = np.ones(len(label), np.bool_)
        return replace(self.components, label=label, transferred=moved).kept(sure)

    def _watched(self, batch: _Batch) -> PrincipalGraph:
        """Transferred components leave, all of them if the graph does better without, else those that err."""
        components, young = self.components, ~self.components.transferred
        balance = self.transferred.after(
            self._right(components, batch), self._right(components.kept(young), batch), decay=1.0
        )
        if balance.exceeds(TRANSFERRED_DEVIATIONS):
            return replace(self._with_components(young), transferred=NO_BALANCE)
        nearest = self._nearest(components, batch, components.largest_k(CONTACT_K))
        erring = wrong_more_than_right(components, nearest, batch.labels, batch.n_classes, CONTACT_K)
        return replace(self._with_components(young | ~erring), transferred=balance)

    def _missed_change(self, batch: _Batch) -> PrincipalGraph:
        """Older components leave if the last batches alone do better: a change that no single batch has shown."""
        components = self.components
        young = components.born >= self.n_batches - YOUNG_BATCHES
        if young.all() or not young.any():
            return self
        balance = self.older.after(
            self._right(components, batch), self._right(components.kept(young), batch), decay=YOUNG_DECAY
        )
        if balance.exceeds(YOUNG_DEVIATIONS):
            return replace(self._with_components(young), older=NO_BALANCE)
        return replace(self, older=balance)


@dataclass(frozen=True, slots=True)
class _Batch:
    points: Floats
    labels: Numbers
    n_classes: int
    settings: Settings

    def of(self, rows: np.typing.NDArray[np.intp]) -> _Batch:
        return replace(self, points=self.points[rows], labels=self.labels[rows])


def _bounded(components: Components, max_vertices: int) -> Components:
    """Without as many of the oldest components as it takes to have at most `max_vertices` vertices."""
    surplus = components.n_vertices - max_vertices
    if surplus <= 0:
        return components
    sizes = components.sizes
    return components.kept(np.cumsum(sizes) - sizes >= surplus)


def merged(graphs: Sequence[PrincipalGraph], class_maps: Sequence[Numbers], settings: Settings) -> PrincipalGraph:
    """The union of graphs whose class numbers are translated by `class_maps`.

    All end at the same batch, so that what is young in one of them is young in the union; the oldest come first.
    """
    n_batches = max(graph.n_batches for graph in graphs)
    n_records = max(graph.n_records for graph in graphs)
    components = Components.none(graphs[0].components.points.shape[1])
    for graph, numbers in zip(graphs, class_maps, strict=True):
        c = graph.components
        moved = replace(
            c,
            label=numbers[c.label],
            born=c.born + (n_batches - graph.n_batches),
            last_used=c.last_used + (n_records - graph.n_records),
        )
        components = components.joined(moved)
    metric, errors = graphs[0].metric, graphs[0].choice.errors
    for graph in graphs[1:]:
        metric, errors = metric.merged(graph.metric), errors + graph.choice.errors
    return PrincipalGraph(
        _bounded(_by_age(components), settings.max_vertices),
        metric,
        Choice(settings.views, errors),
        n_batches=n_batches,
        n_records=n_records,
    )


def _by_age(components: Components) -> Components:
    """The same components and vertices, the oldest first."""
    order = np.argsort(components.born, kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    owner = place[components.owner]
    vertices = np.argsort(components.born[components.owner], kind="stable")
    names = ("k", "purity", "label", "born", "last_used", "transferred")
    return Components(
        components.points[vertices], owner[vertices], *(getattr(components, name)[order] for name in names)
    )
