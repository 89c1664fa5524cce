"""K-associated graphs in plain NumPy: neighbours, components, purity, the optimal graph and Eq. 1-4.

Symbols as in Bertini, Lopes and Zhao, "Streaming data classification with the K-associated graph".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def squared_distances(queries, points):
    """Leave out a dimension that is missing (NaN) on either side and weight up the others; infinite without any."""
    difference = queries[:, np.newaxis] - points[np.newaxis]
    present = ~np.isnan(difference)
    total = (np.where(present, difference, 0.0) ** 2).sum(axis=2)
    count = present.sum(axis=2)
    return np.where(count > 0, total * queries.shape[1] / np.maximum(count, 1), np.inf)


def find_nearest(queries, points, k):
    """Return the k nearest points of each query, nearest first, the lower index first among equals."""
    return np.argsort(squared_distances(queries, points), axis=1, kind="stable")[:, :k]


def find_neighbours(points, k):
    """Return the k nearest other points of each point, nearest first."""
    order = find_nearest(points, points, len(points))
    others = [[j for j in row if j != i] for i, row in enumerate(order)]
    return np.array(others).reshape(len(points), -1)[:, :k]


@dataclass
class OptimalGraph:
    """One entry per vertex; components are numbered by their first vertex."""

    component: np.ndarray  # of each vertex
    k: np.ndarray  # K_a, one per component
    edges: np.ndarray  # directed edges inside, one per component
    purity: np.ndarray  # Phi_a = D_a / (2 K_a) = edges / (vertices * K_a)


def find_components(n, edges):
    """Return the component of each vertex, by flood fill."""
    adjacent = [[] for _ in range(n)]
    for i, j in edges:
        adjacent[i].append(j)
        adjacent[j].append(i)
    component = np.full(n, -1)
    for start in range(n):
        if component[start] >= 0:
            continue
        component[start] = start
        stack = [start]
        while stack:
            for j in adjacent[stack.pop()]:
                if component[j] < 0:
                    component[j] = start
                    stack.append(j)
    return component


def build_optimal_graph(neighbours, labels):
    """Return the K-associated optimal graph over lists of neighbours, nearest first; K is at most their length."""
    n, max_k = neighbours.shape
    best_component, best_k = np.arange(n), np.ones(n, int)
    best_purity, best_edges = np.zeros(n), np.zeros(n, int)
    edges, previous = [], 0
    for k in range(1, max_k + 1):
        edges += [(i, neighbours[i, k - 1]) for i in range(n) if labels[i] == labels[neighbours[i, k - 1]]]
        component = find_components(n, edges)
        for root in np.unique(component):
            members = np.flatnonzero(component == root)
            inside = sum(component[i] == root for i, _ in edges)
            purity = inside / (len(members) * k)
            if purity >= best_purity[members].max():
                best_component[members], best_k[members] = root, k
                best_purity[members], best_edges[members] = purity, inside
        if k > 1 and k * (len(edges) - previous) < len(edges):  # D(K) - D(K-1) < D(K) / K, for D = 2 |E| / n
            break
        previous = len(edges)
    first = np.array([np.flatnonzero(best_component == c)[0] for c in np.unique(best_component)])
    first.sort()
    number = {best_component[f]: i for i, f in enumerate(first)}
    return OptimalGraph(
        np.array([number[c] for c in best_component]), best_k[first], best_edges[first], best_purity[first]
    )


def class_scores(neighbour_components, k, purity, label, n_classes):
    """Return the numerators of Eq. 1, summed by class (Eq. 3), given the components of a query's nearest vertices."""
    scores = np.zeros(n_classes)
    for place, a in enumerate(neighbour_components, start=1):
        if place <= k[a]:
            scores[label[a]] += purity[a] / k[a]
    return scores
