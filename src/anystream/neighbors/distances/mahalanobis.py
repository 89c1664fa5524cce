"""Mahalanobis distance: Euclidean after whitening."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.model_file import ArraySpec
from anystream.neighbors.distances.base import Distance


class Mahalanobis(Distance):
    """sqrt((x - e)^T VI (x - e)).

    Parameters
    ----------
    VI : array of shape (n_features, n_features), optional
        The inverse of a covariance matrix; default: of the training data's.
    """

    def __init__(self, VI: Any = None) -> None:
        super().__init__()
        self.inverse = VI

    @property
    def native(self) -> _native.NeighborsMetric:
        """Euclidean."""
        return _native.NeighborsMetric("euclidean", int(self.learned["width"][0]))

    def learn(self, points: NDArray[np.float64]) -> None:
        """Factor VI = L L^T, so that the distance is the length of L^T (x - e)."""
        d = points.shape[1]
        if self.inverse is not None:
            inverse = np.asarray(self.inverse, dtype=np.float64)
            if inverse.shape != (d, d) or not np.allclose(inverse, inverse.T):
                raise ValueError(f"VI has the shape {inverse.shape}; use a symmetric matrix of shape ({d}, {d})")
        else:
            covariance = np.atleast_2d(np.cov(points, rowvar=False)) if len(points) > 1 else np.zeros((d, d))
            if np.linalg.matrix_rank(covariance) < d:
                raise ValueError(
                    f"the covariance of {len(points)} records of {d} features has no inverse; fit on more records, "
                    "leave out features that depend on others, or give metric_params={'VI': …}"
                )
            inverse = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        try:
            factor = np.linalg.cholesky((inverse + inverse.T) / 2)
        except np.linalg.LinAlgError:
            raise ValueError("VI is not positive definite; give the inverse of a covariance matrix") from None
        self.learned["factor"] = np.ascontiguousarray(factor).reshape(-1)

    def learned_arrays(self) -> dict[str, ArraySpec]:
        """The factor as well."""
        return super().learned_arrays() | {"factor": ArraySpec("float64", ("products",), finite=True)}

    def check_learned(self, n_features: int) -> None:
        """The factor is square."""
        super().check_learned(n_features)
        if len(self.learned["factor"]) != n_features**2:
            raise ValueError(f"the factor of VI is not one of {n_features} features")

    def rows(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Whitened records."""
        d = points.shape[1]
        whitened: NDArray[np.float64] = points @ self.learned["factor"].reshape(d, d)
        return whitened

    def points(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Whitening undone."""
        d = rows.shape[1]
        return np.asarray(np.linalg.solve(self.learned["factor"].reshape(d, d).T, rows.T).T, dtype=np.float64)

    @property
    def needs_data(self) -> bool:
        """A covariance takes many records."""
        return self.inverse is None or super().needs_data
