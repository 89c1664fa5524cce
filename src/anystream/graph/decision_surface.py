"""Decision surfaces: the class that a classifier gives to every point of a plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anystream.estimators.parameters import check_int
from anystream.plotting import new_figure, require_matplotlib

MARGIN = 0.08
"""Width of the margin around the records, as a share of their spread."""


def decision_surface(
    classifier: Any, X: ArrayLike, *, resolution: int = 200
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]:
    """Return the labels of a fitted classifier on a grid around two-dimensional records.

    Parameters
    ----------
    classifier : fitted classifier
        Any object with `predict`.
    X : array-like of shape (n_records, 2)
        Records that the grid encloses.
    resolution : int, default=200
        Points of the grid along each axis.

    Returns
    -------
    x, y : arrays of shape (resolution,)
        The coordinates of the grid.
    labels : array of shape (resolution, resolution)
        ``labels[i, j]`` is the label at ``(x[j], y[i])``.
    """
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"records have the shape {points.shape}; a surface needs two features, (n_records, 2)")
    if len(points) == 0 or not np.isfinite(points).all():
        raise ValueError("a surface needs at least one record, and no missing values")
    size = check_int("resolution", resolution, 2)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = MARGIN * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(low[j] - margin[j], high[j] + margin[j], size) for j in (0, 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return x, y, np.asarray(classifier.predict(grid)).reshape(size, size)


def plot_decision_surfaces(classifiers: Mapping[str, Any], X: ArrayLike, y: ArrayLike, *, resolution: int = 200) -> Any:
    """Plot the records, and beside them the decision surface of each classifier.

    Figure 2 of [1]_ shows 1-NN, 15-NN and KAOG on three classes in this way.

    Parameters
    ----------
    classifiers : mapping of str to fitted classifier
        The title of each surface, and its classifier.
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
    require_matplotlib()
    if not classifiers:
        raise ValueError("there is no classifier to plot; pass at least one")
    points, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    surfaces = {name: decision_surface(model, points, resolution=resolution) for name, model in classifiers.items()}
    if labels.shape != (len(points),):
        raise ValueError(
            f"there are {len(points)} records and labels of shape {labels.shape}; pass one label per record"
        )
    classes = np.unique(np.concatenate([labels, *(surface[2].ravel() for surface in surfaces.values())]))

    figure = new_figure(3.2 * (1 + len(surfaces)), 3.4)
    axes = figure.subplots(1, 1 + len(surfaces), sharex=True, sharey=True, squeeze=False)[0]
    colors: dict[str, Any] = {"cmap": "tab10", "vmin": 0, "vmax": 9}
    for axis, (name, surface) in zip(axes, [("records", None), *surfaces.items()], strict=True):
        axis.set_title(name)
        if surface is not None:
            grid_x, grid_y, found = surface
            axis.pcolormesh(grid_x, grid_y, np.searchsorted(classes, found), alpha=0.35, rasterized=True, **colors)
        axis.scatter(*points.T, c=np.searchsorted(classes, labels), s=9, linewidths=0, **colors)
        axis.set_aspect("auto")
    return figure
