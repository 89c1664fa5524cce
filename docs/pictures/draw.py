"""Draw the pictures of the explanations: ``python docs/pictures/draw.py [NAME …]``; a second or two each."""

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from anystream import (
    AnytimeForestClassifier,
    AnytimeNeighborsClassifier,
    BayesTreeClassifier,
    KAOGClassifier,
    KAOGINCClassifier,
    LocustClassifier,
    anytime_curve,
)
from anystream.drift import WCEA
from anystream.evaluate import run_prequential
from anystream.streams import JapaneseFlag, Sine, load_dataset

FOLDER = Path(__file__).parent
COLOURS = ["#3b6fb6", "#d9822b", "#4b9b5f", "#a05195"]
GREY = "#777777"


def draw_curves() -> Figure:
    """Accuracy after each number of steps on digits: what an anytime curve is, and how the classifiers differ."""
    digits = load_dataset("digits")
    X, y, Q, labels = digits.X[::2], digits.y[::2], digits.X[1::2], digits.y[1::2]
    models = {
        "Bayes tree": BayesTreeClassifier(),
        "forest": AnytimeForestClassifier(),
        "neighbours": AnytimeNeighborsClassifier(),
        "LOCUST": LocustClassifier(),
    }
    figure, ax = pyplot.subplots(figsize=(7, 3.6), layout="constrained")
    for colour, (name, model) in zip(COLOURS, models.items(), strict=True):
        model.fit(X, y)
        stages = [0, *np.unique(np.geomspace(1, min(model.budget, 1000), 24).astype(int))]
        curve = anytime_curve(model, Q, labels, stages=stages)
        ax.plot(np.asarray(stages) + 1, 100 * np.asarray(curve.accuracy), color=colour, lw=2, label=name)
    ax.set_xscale("log")
    ax.set_xticks([1, 2, 11, 101, 1001], ["0", "1", "10", "100", "1000"])
    ax.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    ax.set(xlabel="steps per record", ylabel="accuracy in %", ylim=(45, 100))
    ax.legend(frameon=False, loc="lower right")
    return figure


def draw_neighbors() -> Figure:
    """Decision regions of neighbours after few and many exemplars, in the order of SimpleRank."""
    X, y = JapaneseFlag(seed=1).take(600)
    new, truth = JapaneseFlag(seed=2).take(2000)
    model = AnytimeNeighborsClassifier().fit(X, y)
    plane = np.stack(np.meshgrid(np.linspace(0, 1, 160), np.linspace(0, 1, 160)), axis=-1)
    figure, panels = pyplot.subplots(1, 3, figsize=(9, 3.2), layout="constrained", sharey=True)
    for ax, steps in zip(panels, (0, 8, 600), strict=True):
        labels = model.predict(plane.reshape(-1, 2), budget=steps).reshape(160, 160)
        ax.imshow(labels, extent=(0, 1, 0, 1), origin="lower", cmap=_pale(), vmin=0, vmax=1)
        ax.scatter(*X.T, s=3, c=[COLOURS[label] for label in y], alpha=0.6)
        right = np.mean(model.predict(new, budget=steps) == truth)
        ax.set(title=f"{min(steps + 2, 600)} exemplars: {right:.0%} right", xticks=[], yticks=[])
    return figure


def draw_locust() -> Figure:
    """One sample of LOCUST: ranges of two features, the cell of the query, and the points left in it."""
    random = np.random.default_rng(4)
    X = np.vstack([random.normal(centre, 0.16, (70, 2)) for centre in ((0.3, 0.3), (0.72, 0.38), (0.45, 0.78))])
    y = np.repeat([0, 1, 2], 70)
    query = np.array([0.66, 0.42])
    edges = [np.quantile(X[:, j], np.linspace(0, 1, 7)) for j in (0, 1)]
    cell = [np.clip(np.searchsorted(edges[j], query[j]) - 1, 0, 5) for j in (0, 1)]
    figure, panels = pyplot.subplots(1, 3, figsize=(9, 3.2), layout="constrained", sharey=True)
    inside = np.ones(len(X), dtype=bool)
    titles = ("all points of a level", "same range of feature 1", "and of feature 2: these vote")
    for step, (ax, title) in enumerate(zip(panels, titles, strict=True)):
        if step:
            j = step - 1
            inside &= (X[:, j] >= edges[j][cell[j]]) & (X[:, j] <= edges[j][cell[j] + 1])
            ax.axvspan(*edges[0][cell[0] : cell[0] + 2], color="#dddddd", zorder=0)
        if step == 2:
            ax.axhspan(*edges[1][cell[1] : cell[1] + 2], color="#dddddd", alpha=0.6, zorder=0)
        for edge in edges[0]:
            ax.axvline(edge, color="#cccccc", lw=0.5, zorder=0)
        for edge in edges[1]:
            ax.axhline(edge, color="#cccccc", lw=0.5, zorder=0)
        ax.scatter(*X[~inside].T, s=8, color="#bbbbbb")
        ax.scatter(*X[inside].T, s=16, c=[COLOURS[label] for label in y[inside]])
        ax.plot(*query, "*", mfc="none", mec="black", ms=15, mew=1.4)
        ax.set(title=f"{title}: {inside.sum()}", xticks=[], yticks=[], xlabel="feature 1")
    panels[0].set_ylabel("feature 2")
    return figure


def draw_graph() -> Figure:
    """Components of the optimal graph: vertices of a component are joined to their nearest ones in it."""
    random = np.random.default_rng(2)
    X = np.vstack([random.normal(centre, 0.42, (30, 2)) for centre in ((0, 0), (1.9, 0.3), (0.9, 1.5))])
    y = np.repeat([0, 1, 2], 30)
    model = KAOGClassifier(isolated="keep").fit(X, y)
    graph = model.components_
    figure, ax = pyplot.subplots(figsize=(6.5, 4), layout="constrained")
    for a in range(len(graph.purity)):
        members = graph.points[graph.owner == a]
        label = int(graph.label[a])
        for point in members:
            near = np.argsort(np.linalg.norm(members - point, axis=1), kind="stable")[1 : int(graph.k[a]) + 1]
            for other in members[near]:
                ax.plot(*np.transpose([point, other]), color=COLOURS[label], lw=0.6, alpha=0.6, zorder=1)
        ax.scatter(*members.T, s=18, color=COLOURS[label], zorder=2)
        if len(members) > 6:
            ax.annotate(
                f"K {int(graph.k[a])}, purity {graph.purity[a]:.2f}",
                members[:, :2].max(axis=0) - (0, -0.03),
                ha="right",
            )
    ax.set(xticks=[], yticks=[])
    return figure


def draw_drift() -> Figure:
    """Error over time on Sine with two changes."""
    changes = (1600, 3200)
    quick = BayesTreeClassifier(metric=None, root_model=None)
    models = {
        "Bayes tree alone": quick,
        "WCEA over Bayes trees": WCEA(quick, chunk_size=80, train_within=0),
        "KAOGINC": KAOGINCClassifier(),
    }
    figure, ax = pyplot.subplots(figsize=(8, 3.2), layout="constrained")
    for colour, (name, model) in zip(COLOURS, models.items(), strict=False):
        stream = Sine(concepts=("sine1", "sine1_reversed", "sine2"), drifts=changes, seed=5, n_records=4800)
        run = run_prequential(model, stream, delay=80, batch_size=80)
        wrong = np.asarray(run.truth) != np.asarray(run.predicted)
        error = np.convolve(wrong, np.full(200, 1 / 200), mode="valid")
        ax.plot(np.arange(len(error)) + 199, 100 * error, color=colour, lw=1.8, label=name)
    for change in changes:
        ax.axvline(change, color=GREY, ls="--", lw=1)
    ax.set(xlabel="records", ylabel="error of the last 200, in %", ylim=(0, 100))
    ax.legend(frameon=False, loc="upper left")
    return figure


def draw_runtime() -> Figure:
    """Path of a record: source, queue, scheduler, classifier, sink; labels come back by key."""
    figure, ax = pyplot.subplots(figsize=(9, 2.9), layout="constrained")
    boxes = {
        "source": (0.2, "file, pipe,\nbroker, request"),
        "queue": (2.2, "bounded, by\ndeadline"),
        "scheduler": (4.2, "a batch and\nits budget"),
        "classifier": (6.2, "one native call,\nall cores"),
        "sink": (8.2, "answers in order\nof deadlines"),
    }
    for name, (x, text) in boxes.items():
        _box(ax, x, 1.5, name, text)
    for x in (1.8, 3.8, 5.8, 7.8):
        ax.annotate("", (x + 0.38, 2.05), (x, 2.05), arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 1.6})
    _box(ax, 4.2, 0, "labels", "matched by key")
    _box(ax, 6.2, 0, "learner", "beside the answers")
    arrow = {"arrowstyle": "-|>", "color": GREY, "lw": 1.4}
    ax.annotate("", (6.18, 0.55), (5.8, 0.55), arrowprops=arrow)
    ax.annotate("", (7.0, 1.48), (7.0, 1.12), arrowprops=arrow)
    ax.annotate("snapshot", (7.08, 1.22), color=GREY, fontsize=9)
    ax.annotate("", (1.0, 2.62), (9.0, 2.62), arrowprops=arrow | {"connectionstyle": "bar,fraction=0.06", "lw": 1.1})
    ax.annotate("acknowledged when it is safe", (5.0, 3.22), color=GREY, fontsize=9, ha="center")
    ax.set(xlim=(0, 10), ylim=(-0.1, 3.5))
    ax.axis("off")
    return figure


def _box(ax: Axes, x: float, y: float, name: str, text: str) -> None:
    ax.add_patch(
        FancyBboxPatch((x, y), 1.6, 1.1, boxstyle="round,pad=0,rounding_size=0.08", fc="#eef2f9", ec=COLOURS[0])
    )
    ax.text(x + 0.8, y + 0.8, name, ha="center", va="center", weight="bold")
    ax.text(x + 0.8, y + 0.36, text, ha="center", va="center", fontsize=8.5, color="#444444")


def _pale() -> mpl.colors.ListedColormap:
    return mpl.colors.ListedColormap([(*mpl.colors.to_rgb(colour), 0.22) for colour in COLOURS[:2]])


PICTURES: dict[str, Callable[[], Figure]] = {
    "curves": draw_curves,
    "neighbors": draw_neighbors,
    "locust": draw_locust,
    "graph": draw_graph,
    "drift": draw_drift,
    "runtime": draw_runtime,
}


def main() -> None:
    """Draw the pictures named on the command line, or all."""
    mpl.use("Agg")
    mpl.rcParams |= {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]().savefig(FOLDER / f"{name}.png", dpi=110, metadata={"Software": None})
        print(f"wrote {name}.png")


if __name__ == "__main__":
    main()
