"""Learning a batch: test the principal graph on it, drop or relabel components that no longer hold, add its graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anystream.graph.array_types import Counts, Floats, Mask
from anystream.graph.batch import Batch
from anystream.graph.change import (
    MAX_RECENT_ERRORS,
    MIN_CONTACT_K,
    NO_BALANCE,
    estimate_labels,
    is_change,
    mostly_wrong,
    split_in_halves,
)
from anystream.graph.components import Components
from anystream.graph.principal import PrincipalGraph
from anystream.graph.recipe import StreamRecipe
from anystream.graph.steps import Steps, take_all
from anystream.graph.views import View

RECENT_BATCHES = 5
"""Number of batches whose components are compared with the whole graph to find missed changes."""
RECENT_DECAY = 0.8
"""Factor by which that comparison shrinks with every batch."""
RECENT_DEVIATIONS = 2.0
"""Standard deviations by which the recent components must be better for the older ones to be dropped."""
TRANSFERRED_DEVIATIONS = 1.0
"""The same for components that were transferred at a change."""
FALSE_ALARM_DEVIATIONS = 2.0
"""Standard deviations by which the unchanged components must be better for a change to be a false alarm."""
PORTIONS = 10
"""Steps of a search for the vertices nearest to the records of a batch."""
STEPS = 160
"""Weight of the steps of a batch at which a change was found, and that several searches tested, and of the index."""


def learn_batch(graph: PrincipalGraph, batch: Batch, recipe: StreamRecipe) -> PrincipalGraph:
    """Return the principal graph after one more batch.

    The batch first tests the graph, and components that do not hold are dropped or relabelled. Then the optimal graph
    of the batch is added, and the oldest components are dropped if there are too many vertices.
    """
    return take_all(learning_steps(graph, batch, recipe))


def learning_steps(graph: PrincipalGraph, batch: Batch, recipe: StreamRecipe) -> Steps[PrincipalGraph]:
    """Take the steps of `learn_batch`."""
    n_batches, n_records = graph.n_batches + 1, graph.n_records + len(batch)
    if len(graph.components):
        graph = yield from _revise(graph, batch, recipe)
        yield 1
    metric = yield from graph.metric.learning_steps(
        batch.points, batch.labels, weighted=recipe.metric == "weighted", threads=recipe.components.threads
    )
    graph = replace(graph, metric=metric)
    added = graph.batch_components(batch, graph.scale(recipe), recipe)
    yield 1
    components = graph.components.concatenate(added).limit_vertices(recipe.max_vertices)
    return replace(graph, components=components, n_batches=n_batches, n_records=n_records)


def _revise(graph: PrincipalGraph, batch: Batch, recipe: StreamRecipe) -> Steps[PrincipalGraph]:
    """Return the graph with the errors of the batch counted, and without the components that it shows to be wrong."""
    scores = yield from _scores_by_view(graph, batch, recipe)
    correct = np.array([found.argmax(axis=1) == batch.labels for found in scores])
    graph = yield from _test_probabilities(graph, scores, batch)
    error = 1.0 - float(correct[graph.selection.best_index].mean())
    recent_errors = graph.recent_errors
    graph = replace(graph, selection=graph.selection.observe(1.0 - correct.mean(axis=1)))
    if recipe.tau is not None and recipe.tau_counts == "learned":
        graph = yield from _forget_unused(graph, batch.points, recipe, recipe.tau)
    if recipe.on_change != "ignore" and is_change(error, recent_errors, len(batch)):
        changed: PrincipalGraph | None = _drop_all(graph)
        if recipe.on_change == "relabel":
            changed = yield from _relabel(graph, batch, recipe)
        if changed is not None:
            return replace(changed, recent_errors=(), transferred=NO_BALANCE, older=NO_BALANCE)
    graph = replace(graph, recent_errors=(*recent_errors, error)[-MAX_RECENT_ERRORS:])
    if recipe.pruning is not None:
        graph = yield from _prune(graph, batch, recipe, repeated=recipe.pruning == "repeated")
    transferred = graph.components.transferred
    if transferred.any() and not transferred.all():
        return (yield from _check_transferred(graph, batch, recipe))
    return (yield from _check_older(graph, batch, recipe)) if recipe.missed_changes else graph


# -- testing on a batch ----------------------------------------------------------------------------------------------


def _scores_by_view(graph: PrincipalGraph, batch: Batch, recipe: StreamRecipe) -> Steps[list[Floats]]:
    """Return the scores of the classes in each view: numerators of Eq. 1, and log probabilities by the moments."""
    components = graph.components
    n = components.n_vertices
    graph_views = [view for view in graph.selection.views if not view.moments]
    nearest = {}
    for weighted in {view.weighted for view in graph_views}:
        views = [view for view in graph_views if view.weighted == weighted]
        nearest[weighted] = yield from _find_nearest_for_views(graph, batch, recipe, views)
    scores = []
    for view in graph_views:
        scores.append(components.class_scores(nearest[view.weighted], view.min_k(n), batch.n_classes))
        yield 1
    if len(graph_views) < len(graph.selection.views):
        moments = graph.moments(batch.n_classes)
        yield 1
        scores.append(moments.log_joint(batch.points))
        yield 1
    return scores


def _test_probabilities(graph: PrincipalGraph, scores: list[Floats], batch: Batch) -> Steps[PrincipalGraph]:
    """Return the graph with the losses of the batch counted, by its best view and by the moments."""
    views = graph.selection.views
    with np.errstate(divide="ignore"):
        by_graph = np.log(scores[views.index(graph.selection.best_graph_view)])
    by_moments = scores[-1] if views[-1].moments else None
    n_classes = len(np.union1d(graph.components.label, batch.labels))  # however many later records of a call have
    probabilities = graph.probabilities.observe(
        by_graph, by_moments, batch.labels, n_classes=n_classes, n_learned=graph.n_records
    )
    yield 2
    return replace(graph, probabilities=probabilities)


def _find_nearest_for_views(
    graph: PrincipalGraph, batch: Batch, recipe: StreamRecipe, views: list[View]
) -> Steps[Counts]:
    """Return the nearest vertices, as many as the widest of these views needs; all have the same metric."""
    components = graph.components
    min_k = max(view.min_k(components.n_vertices) for view in views)
    return (yield from _find_nearest(graph, components, batch, recipe, components.max_k(min_k), views[0]))


def _correct(graph: PrincipalGraph, components: Components, batch: Batch, recipe: StreamRecipe) -> Steps[Mask]:
    """Return which records some components classify correctly, in the best view of the graph."""
    view = graph.selection.best_graph_view
    min_k = view.min_k(components.n_vertices)
    nearest = yield from _find_nearest(graph, components, batch, recipe, components.max_k(min_k), view)
    return np.asarray(components.class_scores(nearest, min_k, batch.n_classes).argmax(axis=1) == batch.labels)


def _find_nearest(
    graph: PrincipalGraph, components: Components, batch: Batch, recipe: StreamRecipe, k: int, view: View | None = None
) -> Steps[Counts]:
    return _search(components, batch.points, graph.scale(recipe, view), k, recipe)


def _search(components: Components, queries: Floats, scale: Floats, k: int, recipe: StreamRecipe) -> Steps[Counts]:
    """Return the `k` nearest vertices of each query (all, if there are fewer), nearest first."""
    points = components.scaled_points(scale)
    yield 1
    found = np.empty((len(queries), min(k, components.n_vertices)), np.int64)
    scaled = queries * scale
    portion = max(-(-len(queries) // PORTIONS), 1)
    for begin in range(0, len(queries), portion):
        part = slice(begin, begin + portion)
        points.find_nearest(scaled[part], found.shape[1], recipe.components.threads, found[part])
        yield 1
    return found


def _mostly_wrong(graph: PrincipalGraph, batch: Batch, recipe: StreamRecipe, min_k: int) -> Steps[Mask]:
    components = graph.components
    nearest = yield from _find_nearest(graph, components, batch, recipe, components.max_k(min_k))
    return mostly_wrong(components, nearest, batch.labels, batch.n_classes, min_k)


# -- the rules of the paper ------------------------------------------------------------------------------------------


def count_classified(graph: PrincipalGraph, points: Floats, recipe: StreamRecipe) -> PrincipalGraph:
    """Return the graph after these records were classified, without the components that tau drops."""
    if recipe.tau is not None and len(graph.components):
        graph = take_all(_forget_unused(graph, points, recipe, recipe.tau))
    return replace(graph, n_classified=graph.n_classified + len(points))


def _forget_unused(graph: PrincipalGraph, points: Floats, recipe: StreamRecipe, tau: int) -> Steps[PrincipalGraph]:
    """Drop the components that none of the last `tau` records that count has used; `points` are the newest of them."""
    components, counted = graph.components, graph.n_counted(recipe)
    nearest = yield from _search(components, points, graph.scale(recipe), components.max_k(1), recipe)
    owner = components.owner[nearest]
    used = np.arange(1, nearest.shape[1] + 1) <= components.k[owner]
    last_used = components.last_used.copy()
    number = np.broadcast_to(counted + 1 + np.arange(len(nearest))[:, np.newaxis], owner.shape)
    np.maximum.at(last_used, owner[used], number[used])
    graph = replace(graph, components=replace(components, last_used=last_used))
    return graph.select(counted + len(nearest) - last_used <= tau)


def _prune(graph: PrincipalGraph, batch: Batch, recipe: StreamRecipe, *, repeated: bool) -> Steps[PrincipalGraph]:
    """Drop the components that are wrong on the batch more often than right, once or until there are none."""
    while len(graph.components):
        wrong = yield from _mostly_wrong(graph, batch, recipe, 1)
        if not wrong.any():
            break
        graph = graph.select(~wrong)
        if not repeated:
            break
    return graph


# -- changes ---------------------------------------------------------------------------------------------------------


def _drop_all(graph: PrincipalGraph) -> PrincipalGraph:
    return graph.select(np.zeros(len(graph.components), np.bool_))


def _relabel(graph: PrincipalGraph, batch: Batch, recipe: StreamRecipe) -> Steps[PrincipalGraph | None]:
    """Transfer the components to the new concept, or drop all of them if the batch alone classifies better.

    None if the unchanged components classify clearly better than either: a false alarm.
    """
    with_old = alone = 0
    over_transfer = over_drop = NO_BALANCE  # what the unchanged components have over each
    for learned, tested in split_in_halves(len(batch)):
        if len(learned) == 0 or len(tested) == 0:
            continue
        half, rest = batch.select(learned), batch.select(tested)
        new = graph.batch_components(half, graph.scale(recipe), recipe)
        yield 1
        old = yield from _transfer(graph, half, recipe)
        dropped = yield from _correct(graph, new, rest, recipe)
        transferred = yield from _correct(graph, old.concatenate(new), rest, recipe)
        unchanged = yield from _correct(graph, graph.components.concatenate(new), rest, recipe)
        alone += int(dropped.sum())
        with_old += int(transferred.sum())
        over_drop = over_drop.observe(dropped, unchanged, decay=1.0)
        over_transfer = over_transfer.observe(transferred, unchanged, decay=1.0)
    if (over_drop if with_old < alone else over_transfer).exceeds(FALSE_ALARM_DEVIATIONS):
        return None
    if with_old < alone:
        return _drop_all(graph)
    components = yield from _transfer(graph, batch, recipe)
    return replace(graph, components=components)


def _transfer(graph: PrincipalGraph, batch: Batch, recipe: StreamRecipe) -> Steps[Components]:
    """Return the components with the labels that the batch suggests, without those whose label is uncertain."""
    components = graph.components
    nearest = yield from _find_nearest(graph, components, batch, recipe, components.max_k(MIN_CONTACT_K))
    label, certain = estimate_labels(components, nearest, batch.labels, batch.n_classes)
    return replace(components, label=label, transferred=np.ones(len(label), np.bool_)).select(certain)


def _check_transferred(graph: PrincipalGraph, batch: Batch, recipe: StreamRecipe) -> Steps[PrincipalGraph]:
    """Drop all transferred components if the graph is better without them, else those that are mostly wrong."""
    components, recent = graph.components, ~graph.components.transferred
    balance = graph.transferred.observe(
        (yield from _correct(graph, components, batch, recipe)),
        (yield from _correct(graph, components.select(recent), batch, recipe)),
        decay=1.0,
    )
    if balance.exceeds(TRANSFERRED_DEVIATIONS):
        return replace(graph.select(recent), transferred=NO_BALANCE)
    wrong = yield from _mostly_wrong(graph, batch, recipe, MIN_CONTACT_K)
    return replace(graph.select(recent | ~wrong), transferred=balance)


def _check_older(graph: PrincipalGraph, batch: Batch, recipe: StreamRecipe) -> Steps[PrincipalGraph]:
    """Drop older components if those of the last batches are better alone: a change that no single batch has shown."""
    components = graph.components
    recent = components.batch_number >= graph.n_batches - RECENT_BATCHES
    if recent.all() or not recent.any():
        return graph
    balance = graph.older.observe(
        (yield from _correct(graph, components, batch, recipe)),
        (yield from _correct(graph, components.select(recent), batch, recipe)),
        decay=RECENT_DECAY,
    )
    if balance.exceeds(RECENT_DEVIATIONS):
        return replace(graph.select(recent), older=NO_BALANCE)
    return replace(graph, older=balance)
