"""A look inside Bayes trees: what their levels are like, and what a query sees of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anystream.anytime.axes import new_axes

if TYPE_CHECKING:
    from anystream.bayes_tree.classifier import BayesTreeClassifier
    from anystream.bayes_tree.query import BayesTreeQuery

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """The entries of all classes on one level.

    Attributes
    ----------
    level : int
        How far above the objects: 0 is the objects, 1 the entries whose nodes hold objects alone, and so on up to the
        roots; the longest way down counts.
    entries : int
        How many entries there are.
    fanout : float
        How many entries their nodes have on average; 0 for objects.
    variance : float
        The average variance of an entry, in units of the variance of its class; for objects that of the kernel.
    """

    level: int
    entries: int
    fanout: float
    variance: float


@dataclass(frozen=True)
class TreeDescription:
    """What the trees look like, level by level; printed as a table.

    Attributes
    ----------
    classes, objects, nodes : int
        How many there are in all trees.
    levels : tuple of Level
        From the objects up.
    """

    classes: int
    objects: int
    nodes: int
    levels: tuple[Level, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.classes:,} trees, {self.objects:,} objects, {self.nodes:,} nodes",
            f"{'level':>5} {'entries':>10} {'fanout':>7} {'variance':>9}",
        ]
        lines += [
            f"{row.level:>5} {row.entries:>10,} {row.fanout:>7.2f} {row.variance:>9.4f}"
            for row in reversed(self.levels)
        ]
        return "\n".join(lines)

    def plot(self, ax: Any = None, *, label: str | None = None) -> Any:
        """Draw the average variance over the levels (Figure 3 of Kranen et al., 2010); return the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on, also those of another description; new ones by default.
        label : str, optional
            What the legend calls this model.
        """
        ax = new_axes(ax)
        ax.plot([row.level for row in self.levels], [row.variance for row in self.levels], marker="o", label=label)
        ax.set_xlabel("level above the objects")
        ax.set_ylabel("average variance / variance of the class")
        ax.xaxis.get_major_locator().set_params(integer=True)
        if label is not None:
            ax.legend(frameon=False)
        return ax


class BayesTrees:
    """The trees of a fitted classifier, to look at; `BayesTreeClassifier.tree_` makes it."""

    def __init__(self, model: BayesTreeClassifier) -> None:
        self._model = model
        self._arrays: dict[str, Any] = model.forest_.arrays()
        self._d = len(self._arrays["shift"])
        entries = model.forest_.entries()
        self._entry_node: Ints = entries["node"]
        self._entry_child: Ints = entries["child"]
        self._first_entry: Ints = entries["first"]

    def describe(self) -> TreeDescription:
        """Count entries, fanout and variance on every level."""
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
        """Draw what stands for each class in the eyes of a query: entries as ellipses, objects as dots.

        Parameters
        ----------
        query : BayesTreeQuery
            A query of this model, as far refined as it is.
        features : pair of int, default=(0, 1)
            The features to the right and upwards. With a learned `metric` they are those of the learned space.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        for feature in features:
            if not 0 <= feature < self._d:
                raise ValueError(f"feature {feature} is not one of the {self._d}; use 0 to {self._d - 1}")
        from matplotlib.patches import Ellipse

        ax = new_axes(ax)
        columns = list(features)
        shift, scale = self._arrays["shift"][columns], self._arrays["scale"][columns]
        open_nodes = {node for _, node, _ in query.frontier if node >= 0}
        points = self._arrays["points"].reshape(-1, self._d)
        for number, label in enumerate(self._model.classes_):
            colour = f"C{number % 10}"
            nodes, objects = self._frontier_of(number, open_nodes)
            for node in nodes:
                centre = self._arrays["node_mean"].reshape(-1, self._d)[node, columns] * scale + shift
                spread = self._arrays["node_scatter"].reshape(-1, self._d)[node, columns]
                axes = 4.0 * np.sqrt(spread / self._arrays["node_count"][node]) * scale  # two deviations either way
                ax.add_patch(Ellipse(centre, *axes, facecolor=colour, edgecolor=colour, alpha=0.25))
            at = points[objects][:, columns]
            ax.scatter(at[:, 0], at[:, 1], s=8, color=colour, label=str(label))
        ax.scatter(*(query.record[columns] * scale + shift), marker="*", s=160, color="black", zorder=3, label="query")
        ax.autoscale_view()
        ax.set_xlabel(self._name(features[0]))
        ax.set_ylabel(self._name(features[1]))
        ax.set_title(f"after {query.steps} steps: {query.label}")
        ax.legend(frameon=False)
        return ax

    def _name(self, feature: int) -> str:
        names = getattr(self._model, "feature_names_in_", None)
        name = f"feature {feature}" if names is None else str(names[feature])
        return name if self._model.plan_.metric is None else f"{name}, {self._model.plan_.metric}"

    def _heights(self) -> Ints:
        """How far each node is above its farthest object."""
        inner = self._entry_child >= 0
        parent = np.full(len(self._arrays["head"]), -1)
        parent[self._entry_child[inner]] = self._entry_node[inner]
        height = np.ones(len(parent), dtype=np.int64)
        rising = np.arange(len(parent))
        while rising.size:  # every node tells the one above it, until nothing changes
            rising = rising[parent[rising] >= 0]
            above = parent[rising]
            higher = height[rising] + 1 > height[above]
            np.maximum.at(height, above, height[rising] + 1)
            rising = np.unique(above[higher])
        return height

    def _kernel_variance(self, class_variance: Floats) -> float:
        precision = self._arrays["kernel_precision"].reshape(-1, self._d).astype(np.float64)
        weight = self._arrays["class_count"]
        variance = _relative(precision**-2, class_variance)
        seen = (weight > 0) & ~np.isnan(variance)
        return float(np.average(variance[seen], weights=weight[seen])) if seen.any() else float("nan")

    def _frontier_of(self, number: int, open_nodes: set[int]) -> tuple[list[int], list[int]]:
        """Nodes and objects that stand for a class when the entries of `open_nodes` are not refined."""
        nodes: list[int] = []
        objects: list[int] = []
        for entry in self._below(int(self._arrays["class_root"][number]), open_nodes):
            (nodes if entry >= 0 else objects).append(entry if entry >= 0 else ~entry)
        return nodes, objects

    def _below(self, root: int, open_nodes: set[int]) -> Iterator[int]:
        waiting = [root] if root != _NOTHING else []
        while waiting:
            entry = waiting.pop()
            if entry < 0 or entry in open_nodes:
                yield entry
            else:
                waiting.extend(self._entry_child[self._first_entry[entry] : self._first_entry[entry + 1]].tolist())


_NOTHING = -(2**31)  # the root of a class without objects


def _relative(variance: Floats, unit: Floats) -> Floats:
    """The mean over the features of variance / unit; features without variance are left out."""
    ratio = np.divide(variance, unit, out=np.full(variance.shape, np.nan), where=unit > 0)
    known = ~np.isnan(ratio)
    mean: Floats = np.full(len(ratio), np.nan)
    np.divide(np.where(known, ratio, 0.0).sum(axis=1), known.sum(axis=1), out=mean, where=known.any(axis=1))
    return mean
