"""Mahalanobis distance: Euclidean after whitening."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.model_file import ArraySpec
from anystream.neighbors.distances.base import Distance


class MahalanobisDistance(Distance):
    """sqrt((x - e)^T VI (x - e)).

    Parameters
    ----------
    VI : array of shape (n_features, n_features), optional
        The inverse of a covariance matrix; default: that of the training data.
    """

    def __init__(self, VI: Any = None) -> None:
        super().__init__()
        self.inverse = VI

    @property
    def native_metric(self) -> _native.NeighborsMetric:
        """Euclidean."""
        return _native.NeighborsMetric("euclidean", int(self.learned["width"][0]))

    def learn(self, points: NDArray[np.float64]) -> None:
        """Factor VI = L L^T, so that the distance is the length of L^T (x - e)."""
        inverse = _inverse_covariance(points) if self.inverse is None else _check_inverse(self.inverse, points.shape[1])
        try:
            factor = np.linalg.cholesky((inverse + inverse.T) / 2)
        except np.linalg.LinAlgError:
            raise ValueError("VI is not positive definite; pass the inverse of a covariance matrix") from None
        self.learned["factor"] = np.ascontiguousarray(factor).reshape(-1)

    def encode(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return whitened records."""
        d = points.shape[1]
        whitened: NDArray[np.float64] = points @ self.learned["factor"].reshape(d, d)
        return whitened

    def decode(self, encoded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Undo the whitening."""
        d = encoded.shape[1]
        return np.asarray(np.linalg.solve(self.learned["factor"].reshape(d, d).T, encoded.T).T, dtype=np.float64)

    @property
    def needs_training_data(self) -> bool:
        """Whether the covariance, or the scale, comes from the training data."""
        return self.inverse is None or super().needs_training_data

    def array_specs(self) -> dict[str, ArraySpec]:
        """Return the specs of the base class and that of the factor."""
        return super().array_specs() | {"factor": ArraySpec("float64", ("products",), finite=True)}

    def check_learned(self, n_features: int) -> None:
        """Check that the factor is square."""
        super().check_learned(n_features)
        if len(self.learned["factor"]) != n_features**2:
            raise ValueError(
                f"the factor of VI has {len(self.learned['factor'])} values, {n_features} features need {n_features**2}"
            )


def _check_inverse(given: Any, d: int) -> NDArray[np.float64]:
    inverse = np.asarray(given, dtype=np.float64)
    if inverse.shape != (d, d) or not np.allclose(inverse, inverse.T):
        raise ValueError(f"VI has the shape {inverse.shape}; use a symmetric matrix of shape ({d}, {d})")
    return inverse


def _inverse_covariance(points: NDArray[np.float64]) -> NDArray[np.float64]:
    n, d = points.shape
    covariance = np.atleast_2d(np.cov(points, rowvar=False)) if n > 1 else np.zeros((d, d))
    if np.linalg.matrix_rank(covariance) < d:
        raise ValueError(
            f"the covariance of {n} records of {d} features has no inverse; fit on more records, "
            "leave out features that depend on others, or pass metric_params={'VI': …}"
        )
    return np.asarray(np.linalg.inv(covariance), dtype=np.float64)
