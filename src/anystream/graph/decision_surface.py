"""Decision surfaces: which class a classifier gives to every point of a plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MARGIN = 0.08
"""How far beyond the records a surface reaches, as a share of their spread."""


def decision_surface(
    classifier: Any, X: ArrayLike, *, resolution: int = 200
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]:
    """The labels of a fitted classifier on a grid around two-dimensional records.

    Parameters
    ----------
    classifier : fitted classifier
        Anything with `predict`.
    X : array-like of shape (n_records, 2)
        Records that the grid encloses.
    resolution : int, default=200
        Points of the grid along each axis.

    Returns
    -------
    across, up : arrays of shape (resolution,)
        The coordinates of the grid.
    labels : array of shape (resolution, resolution)
        ``labels[i, j]`` is the label at ``(across[j], up[i])``.
    """
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"records have the shape {points.shape}; a surface needs two features, (n_records, 2)")
    if len(points) == 0 or not np.isfinite(points).all():
        raise ValueError("a surface needs at least one record, and no missing values")
    if isinstance(resolution, bool) or not isinstance(resolution, int) or resolution < 2:
        raise ValueError(f"resolution is {resolution!r}; use a whole number from 2 on")
    low, high = points.min(axis=0), points.max(axis=0)
    reach = MARGIN * np.where(high > low, high - low, 1.0)
    across, up = (np.linspace(low[j] - reach[j], high[j] + reach[j], resolution) for j in (0, 1))
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    return across, up, np.asarray(classifier.predict(grid)).reshape(resolution, resolution)


def plot_decision_surfaces(classifiers: Mapping[str, Any], X: ArrayLike, y: ArrayLike, *, resolution: int = 200) -> Any:
    """Draw the records, and beside them the surface of each classifier.

    Figure 2 of [1]_ shows 1-NN, 15-NN and KAOG on three classes in this way.

    Parameters
    ----------
    classifiers : mapping of str to fitted classifier
        What stands above each surface, and whose it is.
    X : array-like of shape (n_records, 2)
        The records.
    y : array-like of shape (n_records,)
        Their classes.
    resolution : int, default=200
        Points of the grid along each axis.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig(path)``.

    References
    ----------
    .. [1] Bertini, Lopes, Zhao, "Streaming data classification with the K-associated graph", 2011.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib; install anystream[report]") from None
    if not classifiers:
        raise ValueError("there is no classifier to draw; pass at least one")
    points, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    surfaces = {name: decision_surface(model, points, resolution=resolution) for name, model in classifiers.items()}
    if labels.shape != (len(points),):
        raise ValueError(f"there are {len(points)} records and labels of the shape {labels.shape}; give one to each")
    classes = np.unique(np.concatenate([labels, *(surface[2].ravel() for surface in surfaces.values())]))

    figure = Figure(figsize=(3.2 * (1 + len(surfaces)), 3.4), layout="constrained")
    axes = figure.subplots(1, 1 + len(surfaces), sharex=True, sharey=True, squeeze=False)[0]
    for axis, (name, surface) in zip(axes, [("records", None), *surfaces.items()], strict=True):
        axis.set_title(name)
        if surface is not None:
            across, up, found = surface
            axis.pcolormesh(
                across, up, np.searchsorted(classes, found), cmap="tab10", vmin=0, vmax=9, alpha=0.35, rasterized=True
            )
        axis.scatter(*points.T, c=np.searchsorted(classes, labels), cmap="tab10", vmin=0, vmax=9, s=9, linewidths=0)
        axis.set_aspect("auto")
    return figure
