"""Block covariances (BN) in plain NumPy, after section 3.2 of BT*; symbols as in the paper."""

import itertools

import numpy as np


def shrunk(T, variance):
    """Return the covariance of the records T: off the diagonal shrunk by max(1e-3, d / (d + n)), on it `variance`."""
    n, d = T.shape
    gamma = max(1e-3, d / (d + n))
    C = (1 - gamma) * np.cov(T.T, bias=True).reshape(d, d)
    C[np.diag_indices(d)] = variance
    return C


def block_matrix(C, edges):
    """Return Sigma: the covariances inside the connected components of the graph, the rest 0 (Fig. 3)."""
    connected = np.eye(len(C), dtype=bool)
    for i, j in edges:
        connected[i, j] = connected[j, i] = True
    for _ in C:
        connected = connected @ connected
    return np.where(connected, C, 0.0), connected


def log_likelihood(Sigma):
    """Return Eq. 10 for one record, up to terms without Sigma: the diagonal stays, so the traces are equal."""
    return -0.5 * np.linalg.slogdet(Sigma)[1]


def hill_climbing(C, s):
    """Add the edge that raises the likelihood most, one after another, as long as no block exceeds s; return Sigma."""
    d, edges = len(C), []
    while True:
        Sigma, connected = block_matrix(C, edges)
        best, found = log_likelihood(Sigma) + 1e-12, None
        for edge in itertools.combinations(range(d), 2):
            if connected[edge]:
                continue
            candidate, blocks = block_matrix(C, [*edges, edge])
            if blocks.sum(axis=1).max() <= s and log_likelihood(candidate) > best:
                best, found = log_likelihood(candidate), edge
        if found is None:
            return Sigma
        edges.append(found)
