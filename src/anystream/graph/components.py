"""Components of K-associated optimal graphs, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.graph.array_types import Counts, Floats, Mask, Numbers
from anystream.graph.recipe import ComponentRecipe


@dataclass(frozen=True, slots=True)
class Components:
    """Labelled vertices in components, the oldest first. The arrays are never changed in place.

    Parameters
    ----------
    points : array of shape (n_vertices, n_features)
        The vertices: the records as they were learned, without scaling.
    owner : array of shape (n_vertices,)
        The component of each vertex. Vertices of one batch are contiguous.
    k : array of shape (n_components,)
        K_a, the K of the graph in which the component was purest.
    purity : array of shape (n_components,)
        Phi_a, above 0 and at most 1.
    label : array of shape (n_components,)
        The class number of all its vertices.
    batch_number : array of shape (n_components,)
        The number of the batch that the component was built from.
    last_used : array of shape (n_components,)
        The number of the last record whose classification used the component.
    transferred : array of shape (n_components,)
        Whether the component was kept through a change, with the label that the batch of the change suggested.
    """

    points: Floats
    owner: Numbers
    k: Numbers
    purity: Floats
    label: Numbers
    batch_number: Counts
    last_used: Counts
    transferred: Mask

    def class_numbers(self) -> Numbers:
        """Return the class number of each vertex."""
        return self.label[self.owner]

    @classmethod
    def empty(cls, n_features: int) -> Components:
        """Return no components, of records with `n_features` features."""
        return cls(
            np.empty((0, n_features)),
            np.empty(0, np.int32),
            np.empty(0, np.int32),
            np.empty(0),
            np.empty(0, np.int32),
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty(0, np.bool_),
        )

    def __len__(self) -> int:
        return len(self.k)

    @property
    def n_vertices(self) -> int:
        """Number of vertices of all components."""
        return len(self.owner)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of vertices of each component."""
        return np.bincount(self.owner, minlength=len(self))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(getattr(self, name).nbytes for name in self.__slots__)

    # -- other sets of components ------------------------------------------------------------------------------------

    def select(self, mask: Mask) -> Components:
        """Return the components where `mask` is true."""
        if mask.all():
            return self
        vertices = mask[self.owner]
        number = (np.cumsum(mask) - 1).astype(np.int32)
        return Components(
            self.points[vertices],
            number[self.owner[vertices]],
            *(getattr(self, name)[mask] for name in self.__slots__[2:]),
        )

    def concatenate(self, other: Components) -> Components:
        """Return these components followed by the other ones."""
        return Components(
            np.concatenate([self.points, other.points]),
            np.concatenate([self.owner, other.owner + np.int32(len(self))]),
            *(np.concatenate([getattr(self, name), getattr(other, name)]) for name in self.__slots__[2:]),
        )

    def sort_by_batch(self) -> Components:
        """Return the same components and vertices with the oldest first."""
        order = np.argsort(self.batch_number, kind="stable")
        position = np.empty(len(order), np.int32)
        position[order] = np.arange(len(order), dtype=np.int32)
        vertices = np.argsort(self.batch_number[self.owner], kind="stable")
        return Components(
            self.points[vertices],
            position[self.owner][vertices],
            *(getattr(self, name)[order] for name in self.__slots__[2:]),
        )

    def limit_vertices(self, max_vertices: int) -> Components:
        """Return the components without the oldest ones, so that at most `max_vertices` vertices remain."""
        surplus = self.n_vertices - max_vertices
        if surplus <= 0:
            return self
        sizes = self.sizes
        return self.select(np.cumsum(sizes) - sizes >= surplus)

    def with_features(self, n_features: int) -> Components:
        """Return the components with `n_features` features; the new ones are missing in all vertices."""
        missing = np.full((self.n_vertices, n_features - self.points.shape[1]), np.nan)
        return replace(self, points=np.hstack([self.points, missing]))

    # -- neighbourhoods ----------------------------------------------------------------------------------------------

    def max_k(self, min_k: int) -> int:
        """Return the size of the largest neighbourhood, max(K_a, min_k) over all components."""
        return max(int(self.k.max(initial=1)), min_k)

    def scaled_points(self, scale: Floats) -> _native.Points:
        """Return the vertices, features multiplied by `scale`, for searches."""
        return _native.Points(self.points * scale)

    def class_scores(self, nearest: Counts, min_k: int, n_classes: int) -> Floats:
        """Return the numerators of Eq. 1 summed by class (Eq. 3), given the nearest vertices of each query."""
        owner = self.owner[nearest]
        k = np.maximum(self.k, min_k)[owner]
        inside = np.arange(1, nearest.shape[1] + 1) <= k
        share = np.where(inside, self.purity[owner] / k, 0.0)
        cell = np.arange(len(nearest))[:, np.newaxis] * n_classes + self.label[owner]
        total = np.bincount(cell.ravel(), share.ravel(), minlength=len(nearest) * n_classes)
        return np.asarray(total.reshape(len(nearest), n_classes), dtype=np.float64)

    def count_contacts(self, nearest: Counts, labels: Numbers, min_k: int, n_classes: int) -> Floats:
        """Return T[a, c]: how often vertices of component a are among the max(K_a, min_k) nearest of class c records.

        Parameters
        ----------
        nearest : array of shape (n_records, k)
            The nearest vertices of each record, nearest first.
        labels : array of shape (n_records,)
            The class numbers of the records.
        min_k : int
            Minimum size of a neighbourhood.
        n_classes : int
            Number of classes.
        """
        owner = self.owner[nearest]
        inside = np.arange(1, nearest.shape[1] + 1) <= np.maximum(self.k, min_k)[owner]
        cell = owner.astype(np.int64) * n_classes + labels[:, np.newaxis]
        total = np.bincount(cell[inside], minlength=len(self) * n_classes)
        return total.reshape(len(self), n_classes).astype(np.float64)


def build_components(
    points: Floats,
    labels: Numbers,
    scale: Floats,
    recipe: ComponentRecipe,
    *,
    batch_number: int = 0,
    record_number: int = 0,
    done: _native.Counter | None = None,
    stop: _native.StopToken | None = None,
) -> Components:
    """Return the K-associated optimal graph of labelled records.

    Parameters
    ----------
    points, labels : arrays
        The records and their class numbers.
    scale : array of shape (n_features,)
        Features are multiplied by it before distances are computed.
    recipe : ComponentRecipe
        Maximum K, the treatment of vertices without an edge, and threads.
    batch_number, record_number : int
        The number of the batch, and of the last record learned before it.
    done, stop
        Progress counter and stop token of the native search for neighbours.
    """
    owner, k, edges, vertices = _native.optimal_graph(points * scale, labels, recipe.max_k, recipe.threads, done, stop)
    label = np.empty(len(k), np.int32)
    label[owner] = labels
    possible = vertices * k.astype(np.int64)
    smooth = (edges + 1) / (possible + 2)
    connected = vertices > 1
    keep = recipe.isolated == "keep"
    built = Components(
        np.ascontiguousarray(points),
        owner,
        k,
        smooth if keep else np.where(connected, edges / possible, smooth),
        label,
        np.full(len(k), batch_number, np.int64),
        np.full(len(k), record_number, np.int64),
        np.zeros(len(k), np.bool_),
    )
    if keep:
        return built
    classes_with_edges = np.unique(label[connected])
    return built.select(connected | ~np.isin(label, classes_with_edges))
