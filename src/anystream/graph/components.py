"""Components of K-associated optimal graphs, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anystream import _native

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Components:
    """Labelled vertices in components, the oldest first. No array is changed once it is in here.

    Parameters
    ----------
    points : array of shape (n_vertices, n_features)
        The vertices, as the records came.
    owner : array of shape (n_vertices,)
        The component of each vertex. Vertices of one batch lie together.
    k : array of shape (n_components,)
        K_a, the K of the graph in which the component was purest.
    purity : array of shape (n_components,)
        Phi_a, between 0 and 1, above 0.
    label : array of shape (n_components,)
        The number of the class of all its vertices.
    born : array of shape (n_components,)
        The number of the batch that it came from.
    last_used : array of shape (n_components,)
        The number of the record whose classification used it last.
    transferred : array of shape (n_components,)
        Whether it is from before a change and stayed with what then seemed its label.
    """

    points: Floats
    owner: Numbers
    k: Numbers
    purity: Floats
    label: Numbers
    born: Counts
    last_used: Counts
    transferred: Mask

    @classmethod
    def none(cls, n_features: int) -> Components:
        """No components of records with `n_features` features."""
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
        """Vertices of all components."""
        return len(self.owner)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Vertices of each component."""
        return np.bincount(self.owner, minlength=len(self))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(getattr(self, name).nbytes for name in self.__slots__)

    def kept(self, mask: Mask) -> Components:
        """Those components where `mask` is true."""
        if mask.all():
            return self
        vertices = mask[self.owner]
        number = (np.cumsum(mask) - 1).astype(np.int32)
        return Components(
            self.points[vertices],
            number[self.owner[vertices]],
            *(getattr(self, name)[mask] for name in self.__slots__[2:]),
        )

    def joined(self, other: Components) -> Components:
        """These components and then the other ones."""
        return Components(
            np.concatenate([self.points, other.points]),
            np.concatenate([self.owner, other.owner + np.int32(len(self))]),
            *(np.concatenate([getattr(self, name), getattr(other, name)]) for name in self.__slots__[2:]),
        )

    def widened(self, n_features: int) -> Components:
        """The same with further features that all vertices lack."""
        lacking = np.full((self.n_vertices, n_features - self.points.shape[1]), np.nan)
        return replace(self, points=np.hstack([self.points, lacking]))

    def largest_k(self, least_k: int) -> int:
        """The size of the largest neighbourhood, max(K_a, K0) over all components."""
        return max(int(self.k.max(initial=1)), least_k)

    def nearest(self, queries: Floats, scale: Floats, k: int, threads: int) -> Counts:
        """The `k` nearest vertices (all, if there are fewer) of each query, nearest first."""
        found = np.empty((len(queries), min(k, self.n_vertices)), np.int64)
        _native.nearest_points(self.points * scale, queries * scale, found.shape[1], threads, found)
        return found

    def scores(self, nearest: Counts, least_k: int, n_classes: int) -> Floats:
        """The numerators of Eq. 1 summed by class (Eq. 3), for the nearest vertices of each query."""
        owner = self.owner[nearest]
        k = np.maximum(self.k, least_k)[owner]
        inside = np.arange(1, nearest.shape[1] + 1) <= k
        share = np.where(inside, self.purity[owner] / k, 0.0)
        cell = np.arange(len(nearest))[:, np.newaxis] * n_classes + self.label[owner]
        total = np.bincount(cell.ravel(), share.ravel(), minlength=len(nearest) * n_classes)
        return np.asarray(total.reshape(len(nearest), n_classes), dtype=np.float64)

    def meetings(self, nearest: Counts, labels: Numbers, least_k: int, n_classes: int) -> Floats:
        """T[a, c]: how often a vertex of component a is among the max(K_a, least_k) nearest of a record of class c."""
        owner = self.owner[nearest]
        inside = np.arange(1, nearest.shape[1] + 1) <= np.maximum(self.k, least_k)[owner]
        cell = owner.astype(np.int64) * n_classes + labels[:, np.newaxis]
        total = np.bincount(cell[inside], minlength=len(self) * n_classes)
        return total.reshape(len(self), n_classes).astype(np.float64)


def optimal_components(
    points: Floats,
    labels: Numbers,
    scale: Floats,
    *,
    max_k: int,
    isolated: str,
    born: int = 0,
    at: int = 0,
    threads: int = 1,
    done: _native.Counter | None = None,
    stop: _native.StopToken | None = None,
) -> Components:
    """The K-associated optimal graph of labelled records.

    Parameters
    ----------
    points, labels : arrays
        The records and the numbers of their classes.
    scale : array of shape (n_features,)
        Features are multiplied by it before distances are taken.
    max_k : int
        Largest K.
    isolated : {"keep", "drop"}
        ``"drop"``: vertices without any edge leave as noise, but the last of their class stay, and purity is
        edges / (vertices K). ``"keep"``: they stay, and purity is (edges + 1) / (vertices K + 2), which trusts small
        components less.
    born, at : int
        The number of the batch, and of the record, at which the components are made.
    threads, done, stop
        For the native search of neighbours.
    """
    owner, k, edges, vertices = _native.optimal_graph(points * scale, labels, max_k, threads, done, stop)
    label = np.empty(len(k), np.int32)
    label[owner] = labels
    smooth = (edges + 1) / (vertices * k.astype(np.int64) + 2)
    connected = vertices > 1
    made = Components(
        np.ascontiguousarray(points),
        owner,
        k,
        smooth if isolated == "keep" else np.where(connected, edges / (vertices * k.astype(np.int64)), smooth),
        label,
        np.full(len(k), born, np.int64),
        np.full(len(k), at, np.int64),
        np.zeros(len(k), np.bool_),
    )
    if isolated == "keep":
        return made
    with_edges = np.unique(label[connected])
    return made.kept(connected | ~np.isin(label, with_edges))
