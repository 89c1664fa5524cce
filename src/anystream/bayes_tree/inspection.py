"""Inspection of Bayes trees: statistics of their levels, and plots of the frontier of a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream._native import BayesForest
from anystream.bayes_tree.query import BayesTreeQuery
from anystream.plotting import new_axes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """The entries of all classes on one level.

    Attributes
    ----------
    level : int
        Height above the records: 0 is the records, 1 the entries whose nodes hold records only, and so on up to the
        roots; the longest way down counts.
    entries : int
        Number of entries.
    fanout : float
        Mean number of entries in their nodes; 0 for records.
    variance : float
        Mean variance of an entry, in units of the variance of its class; for records that of the kernel.
    """

    level: int
    entries: int
    fanout: float
    variance: float


@dataclass(frozen=True)
class TreeDescription:
    """Statistics of the trees, level by level; printed as a table.

    Attributes
    ----------
    classes, records, nodes : int
        Their numbers in all trees.
    levels : tuple of Level
        From the records up.
    """

    classes: int
    records: int
    nodes: int
    levels: tuple[Level, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.classes:,} trees, {self.records:,} records, {self.nodes:,} nodes",
            f"{'level':>5} {'entries':>10} {'fanout':>7} {'variance':>9}",
        ]
        lines += [
            f"{row.level:>5} {row.entries:>10,} {row.fanout:>7.2f} {row.variance:>9.4f}"
            for row in reversed(self.levels)
        ]
        return "\n".join(lines)

    def plot(self, ax: Any = None, *, label: str | None = None) -> Any:
        """Plot the mean variance over the levels (Figure 3 of Kranen et al., 2010); return the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on, also those of another description; new ones by default.
        label : str, optional
            Name of this model in the legend.
        """
        ax = new_axes(ax)
        ax.plot([row.level for row in self.levels], [row.variance for row in self.levels], marker="o", label=label)
        ax.set_xlabel("level above the records")
        ax.set_ylabel("mean variance / variance of the class")
        ax.xaxis.get_major_locator().set_params(integer=True)
        if label is not None:
            ax.legend(frameon=False)
        return ax


class TreeInspector:
    """Statistics and plots of the trees of a fitted classifier, as they are now; `BayesTreeClassifier.tree_`.

    Parameters
    ----------
    forest : BayesForest
        The trees.
    classes : array of shape (n_classes,)
        The class labels.
    feature_names : sequence of str, optional
        Names of the features; by default ``feature 0`` and so on.
    metric : str, optional
        Name of the metric, for the labels of axes.
    """

    def __init__(
        self,
        forest: BayesForest,
        classes: NDArray[Any],
        *,
        feature_names: Sequence[str] | None = None,
        metric: str | None = None,
    ) -> None:
        self._classes, self._feature_names, self._metric = classes, feature_names, metric
        self._arrays: dict[str, Any] = forest.arrays()
        self._d = forest.dimensions
        entries = forest.entries()
        self._first_entry: Ints = entries["first"]  # of every node, and the end of the last one
        self._entry_node: NDArray[np.int32] = entries["node"]
        self._entry_child: NDArray[np.int32] = entries["child"]  # a node, or ~record

    def describe(self) -> TreeDescription:
        """Return the number of entries, the fanout and the variance of every level."""
        count, height = self._arrays["node_count"], self._heights()
        entries_of = np.diff(self._first_entry)
        observed = np.maximum(self._arrays["class_observed"].reshape(-1, self._d), 1.0)
        class_variance = self._arrays["class_scatter"].reshape(-1, self._d) / observed / self._arrays["scale"] ** 2
        levels = [Level(0, int(self._arrays["class_count"].sum()), 0.0, self._kernel_variance(class_variance))]
        own = self._arrays["node_scatter"].reshape(-1, self._d) / count[:, np.newaxis]
        variance = _relative(own, class_variance[self._arrays["node_class"]])
        for level in range(1, int(height.max(initial=0)) + 1):
            here = height == level
            levels.append(
                Level(level, int(here.sum()), float(entries_of[here].mean()), float(np.nanmean(variance[here])))
            )
        return TreeDescription(len(self._arrays["class_count"]), levels[0].entries, len(count), tuple(levels))

    def plot_frontier(self, query: BayesTreeQuery, *, features: tuple[int, int] = (0, 1), ax: Any = None) -> Any:
        """Plot the frontier of a query: what represents each class now, entries as ellipses and records as dots.

        Parameters
        ----------
        query : BayesTreeQuery
            A query of this model, after any number of steps.
        features : pair of int, default=(0, 1)
            The features on the x and the y axis. With a learned `metric` they are those of the learned space.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        for feature in features:
            if not 0 <= feature < self._d:
                raise ValueError(f"feature {feature} does not exist, there are {self._d}; use 0 to {self._d - 1}")
        ax = new_axes(ax)
        columns = list(features)
        shift, scale = self._arrays["shift"][columns], self._arrays["scale"][columns]
        unrefined = {node for _, node, _ in query.frontier if node >= 0}
        for number, label in enumerate(self._classes):
            self._plot_class(ax, number, label, unrefined, columns)
        ax.scatter(*(query.record[columns] * scale + shift), marker="*", s=160, color="black", zorder=3, label="query")
        ax.autoscale_view()
        ax.set_xlabel(self._axis_label(features[0]))
        ax.set_ylabel(self._axis_label(features[1]))
        ax.set_title(f"after {query.steps} steps: {query.label}")
        ax.legend(frameon=False)
        return ax

    def _plot_class(self, ax: Any, number: int, label: Any, unrefined: set[int], columns: list[int]) -> None:
        """Plot what represents one class when the entries of the nodes `unrefined` are not refined."""
        from matplotlib.patches import Ellipse

        colour = f"C{number % 10}"
        shift, scale = self._arrays["shift"][columns], self._arrays["scale"][columns]
        entries = list(self._frontier_below(int(self._arrays["class_root"][number]), unrefined))
        for node in (entry for entry in entries if entry >= 0):
            centre = self._arrays["node_mean"].reshape(-1, self._d)[node, columns] * scale + shift
            scatter = self._arrays["node_scatter"].reshape(-1, self._d)[node, columns]
            axes = 4.0 * np.sqrt(scatter / self._arrays["node_count"][node]) * scale  # two deviations either way
            ax.add_patch(Ellipse(centre, *axes, facecolor=colour, edgecolor=colour, alpha=0.25))
        records = [~entry for entry in entries if entry < 0]
        dots = self._arrays["points"].reshape(-1, self._d)[records][:, columns]
        ax.scatter(dots[:, 0], dots[:, 1], s=8, color=colour, label=str(label))

    def _axis_label(self, feature: int) -> str:
        name = f"feature {feature}" if self._feature_names is None else str(self._feature_names[feature])
        return name if self._metric is None else f"{name}, {self._metric}"

    def _heights(self) -> Ints:
        """Return the height of each node above its farthest record."""
        inner = self._entry_child >= 0
        parent = np.full(len(self._first_entry) - 1, -1)
        parent[self._entry_child[inner]] = self._entry_node[inner]
        height = np.ones(len(parent), dtype=np.int64)
        changed = np.arange(len(parent))
        while changed.size:  # heights are passed on to the parents until nothing changes
            changed = changed[parent[changed] >= 0]
            above = parent[changed]
            higher = height[changed] + 1 > height[above]
            np.maximum.at(height, above, height[changed] + 1)
            changed = np.unique(above[higher])
        return height

    def _kernel_variance(self, class_variance: Floats) -> float:
        precision = self._arrays["kernel_precision"].reshape(-1, self._d).astype(np.float64)
        weight = self._arrays["class_count"]
        variance = _relative(np.broadcast_to(precision**-2, class_variance.shape), class_variance)  # one row: of all
        known = (weight > 0) & ~np.isnan(variance)
        return float(np.average(variance[known], weights=weight[known])) if known.any() else float("nan")

    def _frontier_below(self, root: int, unrefined: set[int]) -> Iterator[int]:
        """Yield the nodes and records (as ~record) below a root when the entries of `unrefined` are not refined."""
        pending = [root] if root != _NO_ROOT else []
        while pending:
            entry = pending.pop()
            if entry < 0 or entry in unrefined:
                yield entry
            else:
                pending.extend(self._entry_child[self._first_entry[entry] : self._first_entry[entry + 1]].tolist())


_NO_ROOT = -(2**31)  # the root of a class without records


def _relative(variance: Floats, unit: Floats) -> Floats:
    """Return the mean over the features of variance / unit; features without variance are left out."""
    ratio = np.divide(variance, unit, out=np.full(variance.shape, np.nan), where=unit > 0)
    known = ~np.isnan(ratio)
    mean: Floats = np.full(len(ratio), np.nan)
    np.divide(np.where(known, ratio, 0.0).sum(axis=1), known.sum(axis=1), out=mean, where=known.any(axis=1))
    return mean
